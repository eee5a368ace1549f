"""Faults on purpose, and made-up fleets with a known cause.

Real faults on the real kernel, to see whether `exhume why` finds them: `run` needs root and the
consent of whoever owns the machine. `replay` and `fleet` harm nobody.

Examples:
  exhume lab list
  exhume lab run zombies --yes-break-this-machine
  exhume lab replay incident
  exhume lab fleet --nodes 200 --cause single -o /tmp/fleet
"""

from __future__ import annotations

import argparse
import importlib

from exhume.cli import common
from exhume.cli.main import Command
from exhume.errors import ExhumeError

SUBCOMMANDS: tuple[tuple[str, str, str], ...] = (
    ("list", "lab.commands.list_faults", "The faults, and what their healthy twins do instead."),
    ("run", "lab.commands.run_fault", "One fault for real, recorded, and the answer weighed."),
    ("replay", "lab.commands.replay", "Ask again: of a kept run, or of the 96-core incident."),
    ("fleet", "lab.fleet", "A made-up fleet with a known cause, to try 'exhume compare' on."),
)
"""Name, module (with `add_arguments` and `run`; its docstring is its help), and a line of help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        title="what",
        dest="what",
        metavar="WHAT",
        help=", ".join(name for name, _, _ in SUBCOMMANDS),
    )
    for name, module, line in SUBCOMMANDS:
        command = commands.add_parser(
            name,
            help=line,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        try:
            found = lab_module(module)
        except ExhumeError:
            command.set_defaults(what=name)
            continue  # said when it is run
        command.description = found.__doc__
        found.add_arguments(command)


def run(args: argparse.Namespace) -> int:
    modules = {name: module for name, module, _ in SUBCOMMANDS}
    if args.what is None:
        raise common.usage("what of the lab?", f"one of: {', '.join(modules)}")
    return lab_module(modules[args.what]).run(args)


def lab_module(name: str) -> Command:
    try:
        module: Command = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "lab":
            raise
        raise ExhumeError(
            "the lab is not installed beside exhume", todo="install it from its sources: make setup"
        ) from None
    return module
