"""The command line: chooses a command, runs it, and turns errors into messages and exit codes.

Exit codes: 64 usage, 65 bad data, 70 internal error, 74 no room to write, 77 no permission, 130
interrupted; 0, 1 and 2 are the commands' own answers. `exhume --help` must be quick, so a command's
module is imported only when it is the one that was asked for.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from exhume import __version__
from exhume.cli import streams
from exhume.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_IO,
    EXIT_PERMISSION,
    EXIT_USAGE,
    ExhumeError,
)

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS: tuple[tuple[str, str], ...] = (
    ("up", "Record this node, and say where to look."),
    ("record", "Record this node until stopped: every core, every second."),
    ("import", "Turn files you already have into a recording like any other."),
    ("serve", "Show a recording as a page, on loopback."),
    ("status", "What is recorded, since when, what is missing and why, and what it costs."),
    ("why", "Why it happened: from the worst symptom to its root cause, with the evidence."),
    ("check", "What may hurt this node later: loops, zombies, crowded cores, unknown agents."),
    ("cores", "Which cores were busy when: a map of core × time, by its worst seconds."),
    ("top", "Who was on the cores in a window, in which functions, against its own baseline."),
    ("flame", "Where the time of a window went: the call tree of its samples."),
    ("events", "What happened: kernel log, job failures, restarts, cores off and on, gaps."),
    ("units", "Who keeps dying: units, containers and programs that start again and again."),
    ("zombies", "Memory cgroups dead and not gone: how many, whose, and when walks become long."),
    ("irqs", "Which interrupt goes to which core, and how busy that core was."),
    ("series", "One recorded field over time: a line for each core, device or process."),
    ("export", "Samples and series of a window in the formats of other tools."),
    ("pin", "Keep a stretch longer than the rest: Friday's incident is read on Monday."),
    ("fingerprint", "What this node is and runs, in a form that can be compared."),
    ("diff", "What differs between two nodes, or between two times of one."),
    ("compare", "What separates ill nodes from well ones."),
    ("lab", "Faults on purpose, and made-up fleets with a known cause."),
    ("fields", "The catalogue of all that is recorded: what each field means, and its unit."),
)
"""Every command with the first line of its module's docstring; `cli/<name>.py` is the module."""

MODULES = {"import": "import_files"}
"""Where that name is none that Python lets one import."""

EXIT_BROKEN_PIPE = 141


class Command(Protocol):
    """What a command's module offers; its docstring is its help."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: argparse.Namespace) -> int: ...


class Parser(argparse.ArgumentParser):
    """argparse, but a usage error is an error like any other: one message, exit code 64."""

    def error(self, message: str) -> NoReturn:
        raise ExhumeError(message, todo=f"'{self.prog} --help' shows how", exit_code=EXIT_USAGE)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        print(message, end="", file=file)  # argparse would say nothing where it fails

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # while somebody is there to say that it failed
        super().exit(status, message)


def entry() -> NoReturn:
    streams.reopen_closed()
    code = main(sys.argv[1:])
    if threading.active_count() == 1:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """At once: to take every module apart first would take 30 ms, a tenth of a short command."""
    with suppress(OSError):  # a pipe that nobody reads: Python's own way out says so
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(argv: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character shows a ?; it is no reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except ExhumeError as error:
        return _fail(error.what, error.todo, error.exit_code)
    except BrokenPipeError:
        streams.silence_stdout()  # who read us has seen enough
        return EXIT_BROKEN_PIPE
    except PermissionError as error:
        what = f"no permission: {error.filename or error.strerror or error}"
        return _fail(what, "run it as root, or as the user who records", EXIT_PERMISSION)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and (what := streams.unwritable(error)):
            streams.silence_stdout()
            return _fail(what, "make room, or write to another place", EXIT_IO)
        if os.environ.get("EXHUME_DEBUG") == "1":
            raise
        what = f"internal error: {type(error).__name__}: {error}"
        return _fail(what, "EXHUME_DEBUG=1 shows where; please report it", EXIT_INTERNAL)


def command_module(name: str) -> Command:
    return cast(Command, importlib.import_module(f"exhume.cli.{MODULES.get(name, name)}"))


def build_parser(only: str | None) -> Parser:
    """The parser of all commands, with the arguments of one."""
    parser = Parser(
        prog="exhume",
        description="A flight recorder for Linux nodes that digs up why a job died.",
        epilog="'exhume COMMAND --help' explains a command, with examples.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"exhume {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    # Parsers are slow to make, and who asks for a command needs no other.
    known = [one for one in COMMANDS if one[0] == only] or COMMANDS
    for name, help_line in known:
        command = commands.add_parser(
            name,
            help=help_line,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == only:
            module = command_module(name)
            command.description = module.__doc__
            module.add_arguments(command)
    return parser


def with_negative_values(argv: Sequence[str]) -> list[str]:
    """`--from -5m` → `--from=-5m`: argparse would take the time for an option."""
    joined: list[str] = []
    for word in argv:
        if joined and re.match(r"-[0-9]", word) and re.fullmatch(r"--[a-z][a-z-]*", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _run(argv: Sequence[str]) -> int:
    chosen = argv[0] if argv and not argv[0].startswith("-") else None
    with _loading():
        parser = build_parser(chosen)
    args, unknown = parser.parse_known_args(with_negative_values(argv))
    if unknown:
        what = f"unrecognized arguments: {' '.join(unknown)}"
        name = f" {args.command}" if args.command else ""
        raise ExhumeError(what, todo=f"'exhume{name} --help' shows how", exit_code=EXIT_USAGE)
    if args.command is None:
        parser.print_help()
        return EXIT_USAGE
    return command_module(args.command).run(args)


@contextmanager
def _loading() -> Iterator[None]:
    """Modules stay: nobody need look through them for garbage, now or ever."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _fail(what: str, todo: str, exit_code: int) -> int:
    from exhume.cli.safe import printable

    lines = [printable(line) for line in f"exhume: {what}".splitlines()]
    lines += [f"  {printable(line)}" for line in todo.splitlines()]
    with suppress(OSError):  # there is nobody else to tell
        print("\n".join(lines), file=sys.stderr)
    return exit_code
