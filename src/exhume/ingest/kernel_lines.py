"""The forms that lines of the kernel log have: those of dmesg, of /dev/kmsg and of consoles."""

from __future__ import annotations

import re
from pathlib import Path

from exhume.derive.signatures import match
from exhume.derive.stamp_words import MONTH, month
from exhume.derive.stamps import StampFinder, some_years
from exhume.ingest import dmesg_json
from exhume.ingest.lines import head_lines, unpasted

_FACILITIES = (
    "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\\d|res\\d|\\d+"
)
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_USER = 1
# `<12>` of dmesg -r, `kern  :warn  : ` of dmesg -x
_PREFIX = rf"(?:<(?P<priority>\d{{1,4}})>|(?P<facility>{_FACILITIES}) *:(?P<level>\w{{3,6}}) *: ?)?"
PREFIXED = re.compile(rf"{_PREFIX}\[")
# Who spoke, with CONFIG_PRINTK_CALLER: `[  T172]`, `[  C3]`, `[ T172@C3]`
CALLER = r"(?: ?\[ {0,10}[TC]\d{1,10}(?:@C\d{1,5})?\])?"
# `[  298.261679] `, with the caller `[  298.261679][  T172] `, of dmesg -d `[  298.26 <    0.01>] `
RAW = re.compile(
    _PREFIX + r"\[ {0,8}(?P<seconds>\d{1,9})\.(?P<fraction>\d{1,9})(?: ?<[ +\d.,]{1,20}>)?\]"
    rf"{CALLER} ?(?P<text>.*)",
    re.DOTALL,
)
# `[Sun Nov 15 20:20:10 2026] `, of dmesg -dT `[Sun Nov 15 20:20:10 2026 <    0.01>] `. The names
# are of the language of whoever ran it.
DATED = re.compile(
    _PREFIX
    + r"\[(?P<stamp>[^\W\d_]{1,4}\.? [^\W_]{1,6}\.? {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})"
    + rf"(?: ?<[ +\d.,]{{1,20}}>)?\]{CALLER} ?(?P<text>.*)",
    re.DOTALL,
)
# `2026-11-15T20:20:10,123456+00:00 `
ISO_LINE = re.compile(
    _PREFIX + r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:?\d\d)"
    rf"{CALLER} ?(?P<text>.*)",
    re.DOTALL,
)
# dmesg -e and -H: `[Nov15 20:20] `, and then `[  +0.000012] ` after the line before. What dmesg
# reckons has the comma of whoever ran it, the kernel's own time never.
MINUTE = re.compile(
    rf"{_PREFIX}\[(?P<month>{MONTH}) ?(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d)\] ?(?P<text>.*)",
    re.DOTALL,
)
SINCE = re.compile(
    _PREFIX + r"\[ {0,8}\+(?P<seconds>\d{1,6})[.,](?P<fraction>\d{1,9})\] ?(?P<text>.*)", re.DOTALL
)
# dmesg --time-format=delta: `[<    0.000012>] `
DELTA = re.compile(
    _PREFIX + r"\[< {0,8}(?P<seconds>\d{1,9})[.,](?P<fraction>\d{1,9})>\] ?(?P<text>.*)", re.DOTALL
)
# `6,339,5140900,-;text`; netconsole may put the kernel's release before it
KMSG = re.compile(r"(?:\d[\w.+~-]{1,63},)?(?P<record>\d{1,4},\d{1,19},\d{1,19},[^;]{0,64};.*)")
_TIMED = re.compile(r"\[ {0,8}\d{1,9}\.\d{6}\] ")
# `host login: [  298.261679] text`: what a console showed when the kernel spoke
SPOKEN_OVER = re.compile(r".{1,120}?[\s:#$>](?:<\d{1,3}>)?(?=\[ {0,7}\d{1,8}\.\d{6}\] )", re.DOTALL)
# `systemd[1]: text` in the kernel's log was written by a process. Of processes the kernel itself
# says `python3[812]: segfault at`.
USER_SPACE = re.compile(
    r"(?P<program>[A-Za-z][\w.@-]{0,63})\[(?P<pid>\d{1,10})\]: "
    r"(?!segfault at|unhandled|undefined|bad frame)(?P<text>.*)",
    re.DOTALL,
)
# An error log of Apache before 2.4 looks like dmesg -T, one of Xorg like raw dmesg.
_APACHE = re.compile(r"\[\w+:?\w*\] ")
_XORG = re.compile(r"\((?:II|WW|EE|NI|--|\*\*|==|\+\+|!!|\?\?)\) |\s*$")
_STYLES = (RAW, DATED, ISO_LINE, MINUTE, SINCE, DELTA, KMSG)
_SURE = re.compile(rf"{_PREFIX}\[ {{0,7}}\d{{1,8}}\.\d{{6}}\]")
# `[    5.123] host kernel: text` is journalctl -o short-monotonic; of -o short-delta
# `[    5.123 <    0.1 >] host kernel: text`
MONOTONIC = re.compile(
    r"\[ {0,8}(?P<seconds>\d{1,9})\.(?P<fraction>\d{1,9})(?: {1,20}|(?: ?<[ +\d.]{1,20}>))?\] "
    r"(?P<host>[\w.-]{1,64}) (?P<program>[^\s\[\]:]{1,64})(?:\[(?P<pid>\d{1,10})\])?: "
    r"(?P<text>.*)",
    re.DOTALL,
)


def is_kernel_log(head: bytes, _: Path) -> bool:
    if dmesg_json.is_json(head):
        return True
    lines = head_lines(head)
    known = [line for line in lines if _is_line(line)]
    if not known or is_monotonic(lines):
        return False
    return 3 * len(known) >= len(lines) or _is_report(lines)


def _is_report(lines: list[str]) -> bool:
    """A console, or a text that quotes the kernel: with no more lines of another log in it."""
    sure = sum(_SURE.match(unpasted(line)) is not None for line in lines)
    finder = StampFinder(some_years())
    others = sum((stamp := finder.find(line)) is not None and stamp.start < 4 for line in lines)
    return sure >= 2 and 20 * sure >= len(lines) and sure > others


def unsaid(lines: list[str]) -> str:
    """What to do about lines like the kernel's, in a text that does not say that they are its."""
    found = [line for line in lines if match(line) is not None]
    if not found:
        return ""
    if any(_TIMED.search(line) for line in found):
        return (
            "it has lines of a kernel log with something before their times: "
            r"`grep -o '\[ *[0-9]*\.[0-9]*\] .*' FILE` writes them without it"
        )
    return (
        "it has lines of a kernel log without their times, or without who said them: `dmesg`, "
        "without --notime, or `journalctl -k -o short-iso-precise` writes both"
    )


def is_monotonic(lines: list[str]) -> bool:
    found = [one for line in lines if (one := MONOTONIC.match(line)) is not None]
    hosts = {one["host"] for one in found}
    speaks = any(one["program"] == "kernel" or one["pid"] for one in found)
    return 2 * len(found) > len(lines) and speaks and len(hosts) <= 1 + len(found) // 50


def _is_line(line: str) -> bool:
    line = unpasted(line)
    for style in _STYLES:
        found = style.match(line)
        if found is not None:
            if style is RAW and len(found["fraction"]) == 3:
                return _XORG.match(found["text"]) is None
            if style is MINUTE:  # not `[step 12 10:30]`
                return month(found["month"]) is not None
            return style is not DATED or not _APACHE.match(found["text"])
    return False


def priority(found: re.Match[str]) -> tuple[int, int | None]:
    """Level and facility, which is 0 where the kernel speaks, and None where the line has none."""
    groups = found.groupdict()
    if groups["priority"] is not None:
        number = int(groups["priority"])
        return number & 7, number >> 3
    if groups["facility"] is not None:
        return level_number(groups["level"]), 0 if groups["facility"] == "kern" else _USER
    return 6, None


def level_number(name: str) -> int:
    """Of `err`, `warning`, `panic` …: as syslog, 6 where it is none."""
    named = {"panic": 0, "error": 3}.get(name)
    known = (n for n, known in enumerate(_LEVELS) if name.startswith(known[:3]))
    return next(known, 6) if named is None else named
