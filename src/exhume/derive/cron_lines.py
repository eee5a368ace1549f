"""What cron logs → starts of programs. Pure.

A command may hold passwords: of it nothing is kept but the name of the program that it runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from msgspec import Struct

from exhume.model.event import Event

CRON = "cron"
BY = "by"
"""The field of an event that says who started it."""
_FOLD_NS = 1_000_000_000

# Debian, cronie, older ones and FreeBSD: `CRON[1234]: (root) CMD (/usr/local/bin/agent --once)`.
# Names of programs: CRON, CROND, crond, cron, /usr/sbin/cron, /USR/SBIN/CRON.
_NAME = re.compile(r"(?i)(?:/usr/sbin/)?crond?")
_CMD = re.compile(
    r"^(?:.{0,200}?\b(?i:crond?)(?:\[\d{1,10}\])?: )?"
    r"\([^\s()]{1,64}\) CMD \((?P<command>.{1,4000})\)\s*$",
    re.DOTALL,
)
# busybox: `crond[12]: USER root pid 456 cmd /usr/local/bin/agent --once`
_BUSYBOX = re.compile(
    r"^(?:.{0,200}?\bcrond(?:\[\d{1,10}\])?: )?"
    r"USER [^\s]{1,64} pid +\d{1,10} cmd (?P<command>.{1,4000})$",
    re.DOTALL,
)
# systemd-cron: `systemd[1]: Starting [Cron] "*/5 * * * * root /usr/local/bin/agent --once"...`
_UNIT = re.compile(
    r'Starting (?:\S{1,255}\.service - )?\[Cron\] "(?:@\w{1,16}|(?:[\w*/,~-]{1,64}\s+){4}'
    r'[\w*/,~-]{1,64})\s+(?P<command>.{1,4000})"\.{3}$',
    re.DOTALL,
)
_USER_FIRST = re.compile(r"[a-z_][\w-]{0,31}\s+(?=/)")

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{"}
)
_NOT_IT = frozenset(
    {
        *("cd", "test", "[", "[[", "command", "type", "which", "export", "umask", "ulimit", "set"),
        *("source", ".", "true", "false", ":", "sleep", "echo", "for", "case", "mkdir"),
    }
)
"""What a command does before it runs what it is for."""
_RUNNERS: dict[str, tuple[str, ...]] = {
    "env": ("-u",), "nice": ("-n",), "ionice": ("-c", "-n"), "nohup": (), "setsid": (), "exec": (),
    "time": (), "sudo": ("-u", "-g"), "doas": ("-u",), "chronic": (), "cronic": (), "run-one": (),
    "stdbuf": (), "timeout": ("-k", "-s"), "flock": ("-w", "-E"), "chrt": (),
    "systemd-cat": ("-t", "-p"), "sh": (), "bash": (), "dash": (), "ash": (),
    "python": (), "python2": (), "python3": (), "perl": (), "ruby": (), "php": (), "node": (),
}  # fmt: skip
"""Programs that run another one, and their options that take a word."""
_CODE = ("-e", "-r", "-E")
"""Options of interpreters that take what to run itself."""
_NUMBER = re.compile(r"[\d.]+[smhd]?")
_PROGRAM = re.compile(r"[\w.+@-]{1,64}")
_MOST_NESTED = 3


class CronStart(Struct, frozen=True):
    time_ns: int
    program: str


def cron_start(text: str, program: str) -> str | None:
    """The program that a line says cron has started. `program`: who wrote it; empty where the line
    is whole, and says so itself."""
    if " CMD (" in text:
        found = _CMD.match(text)
        is_own = _NAME.fullmatch(program) is not None or (found and not text.startswith("("))
        return program_of(found["command"]) if found and is_own else None
    if " cmd " in text and "USER " in text:
        found = _BUSYBOX.match(text)
        is_own = program == "crond" or (found and not text.startswith("USER "))
        return program_of(found["command"]) if found and is_own else None
    if '[Cron] "' in text and program in ("", "systemd"):
        found = _UNIT.search(text)
        return program_of(_USER_FIRST.sub("", found["command"], count=1)) if found else None
    return None


def program_of(command: str, nested: int = 0) -> str | None:
    """The name of the first program that a shell's command is for; None where that is not plain."""
    try:
        words = shlex.shlex(command, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, ""
        tokens = list(words)
    except ValueError:  # a quote is open: the line was cut
        return None
    part: list[str] = []
    for token in [*tokens, ";"]:
        if set(token) <= set("();|&"):
            name = _program(part, nested)
            if name is not None:
                return name if _PROGRAM.fullmatch(name) else None
            part = []
        else:
            part.append(token)
    return None


def _program(words: list[str], nested: int) -> str | None:
    """Of one command without `&&` and the like."""
    runner, is_value, has_lock = "", False, False
    for word in words:
        if is_value or (_ASSIGNMENT.match(word) and runner in ("", "env", "sudo")):
            is_value = False
        elif runner and word.startswith("-"):
            if word in _CODE and runner not in ("flock", "sudo"):
                return runner
            is_value = word in _RUNNERS[runner]
        elif (runner and _NUMBER.fullmatch(word)) or word in _KEYWORDS:
            continue
        elif runner == "flock" and not has_lock:
            has_lock = True
        elif runner and " " in word and nested < _MOST_NESTED:  # sh -c '…'
            return program_of(word, nested + 1)
        elif (name := word.rpartition("/")[2]) in _RUNNERS:
            runner = name
        else:
            return None if name in _NOT_IT else name
    return runner or None


def is_by_cron(event: Event) -> bool:
    return event.kind == "unit-start" and event.fields.get(BY) == CRON


def cron_events(starts: Iterable[CronStart]) -> Iterator[Event]:
    """Starts of one program within a second as one event with a count."""
    folded: dict[tuple[int, str], list[int]] = {}
    for one in starts:
        folded.setdefault((one.time_ns // _FOLD_NS, one.program), []).append(one.time_ns)
    for (_, program), times in folded.items():
        yield Event(
            min(times), "unit-start", program, "started by cron", count=len(times),
            fields={BY: CRON},
        )  # fmt: skip
