"""Copies of /proc files with a time before every line, as logs of containers and `ts` have them.

2026-11-15T20:15:17.123456789Z cpu  16 0 325 316 0 0 1 0 0 0     kubectl logs --timestamps
2026-11-15T20:15:17.123456789Z stdout F cpu  16 0 325 316 …      /var/log/pods
Nov 15 20:15:17 cpu  16 0 325 316 0 0 1 0 0 0                    ts
Nov 15 20:15:17 gpu-7 copies[812]: cpu  16 0 325 316 0 0 1 …     a journal
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from exhume.ingest.line_prefix import LinePrefix
from exhume.ingest.snapshots_marks import TIMES, form_of
from exhume.ingest.snapshots_sections import first_kind
from exhume.ingest.snapshots_time import NS, Instant, instant

_LEAST_LINES = 3
_MOST = 10
"""All lines but one in so many."""
# Which begin with a line that no other of theirs is like.
_KINDS = frozenset({"stat", "softirqs", "interrupts", "schedstat", "meminfo", "vmstat", "pressure"})
# What follows the time is taken off but for the blanks that are the copy's own.
_LINE = (
    rb"^(?:\[pod/\S{1,300}\] )?\[?(?P<at>%b)\]?:?"
    rb"(?: std(?:out|err) [FP]| [\w.-]{1,64} [^\s:\[\]]{1,64}(?:\[\d{1,7}\])?:)?(?:[ \t]|$)"
)
_NO_YEAR = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_DAY_NS = 86_400 * NS
_FIRST_WORD = re.compile(rb"[ \t]*[^\s\d]+(?:\d+(?!\S))?")


class StampedLines(LinePrefix):
    """Takes them off, and puts one as a mark above each copy."""

    def __init__(self, pattern: re.Pattern[bytes], first: bytes, newest_ns: int) -> None:
        """`first`: how each copy begins; empty where marks stand among the lines already.

        `newest_ns`: when they were written at the latest, which gives the year that they may lack.
        """
        super().__init__(pattern)
        self._begin = re.compile(pattern.pattern + rb"(?=%b)" % first, re.MULTILINE)
        self._is_marked = not first
        self._newest_ns = newest_ns
        self.without_year = False

    def stripped(self, text: bytes) -> bytes:
        if not self._is_marked:
            text = self._begin.sub(self._with_mark, text)
        return super().stripped(text)

    def _with_mark(self, line: re.Match[bytes]) -> bytes:
        at = instant(line["at"].decode("utf-8", "replace"))
        if at is None:
            at, self.without_year = self._in_year(line["at"].decode("utf-8", "replace")), True
        if at is None:
            return line[0]
        if at.has_zone:
            return b"### %d.%09d\n%b" % (at.ns // NS, at.ns % NS, line[0])
        local = datetime.fromtimestamp(at.ns // NS, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return b"### %b.%09d\n%b" % (local.encode(), at.ns % NS, line[0])

    def _in_year(self, text: str) -> Instant | None:
        """The last one that is not after they were written."""
        year = datetime.fromtimestamp(self._newest_ns // NS, UTC).year
        found = (instant(f"{text} {one}") for one in (year + 1, year, year - 1))
        return next((at for at in found if at and at.ns <= self._newest_ns + _DAY_NS), None)


def stamps_of(head: bytes, newest_ns: int) -> StampedLines | None:
    """None where not nearly all lines have one, or what they have is no copy of a /proc file."""
    lines = [line for line in head[: head.rfind(b"\n") + 1].split(b"\n") if line.strip()]
    if len(lines) < _LEAST_LINES:
        return None
    for time in (*TIMES, _NO_YEAR):
        pattern = re.compile(_LINE % time, re.MULTILINE)
        if pattern.match(lines[0]) is None:
            continue
        stamped = sum(1 for line in lines if pattern.match(line))
        if _MOST * stamped < (_MOST - 1) * len(lines):
            continue
        text = b"\n".join(pattern.sub(b"", line) for line in lines) + b"\n"
        if form_of(text, lambda block, _: first_kind(block) in _KINDS) is not None:
            return StampedLines(pattern, b"", newest_ns)
        word = _FIRST_WORD.match(text)
        if word is not None and first_kind(text) in _KINDS:
            return StampedLines(pattern, _alone(word[0]), newest_ns)
    return None


def _alone(word: bytes) -> bytes:
    return re.escape(word) + (rb"(?!\S)" if word[-1:].isalnum() else b"")
