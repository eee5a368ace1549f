"""Lines that say when what is below them was copied, in the form that a file has.

    ### 1794773717.630 2026-11-15T20:15:17.629Z uptime=5.579     what the help asks for
    Sun Nov 15 20:15:17 UTC 2026                                 `date; cat /proc/stat`
    === 2026-11-15T20:15:17+00:00 ===                            and as others decorate it
    TIMESTAMP: 1794773717
    Every 2.0s: docker ps -a        gpu-7: Sun Nov 15 20:15:17 2026

A file has one form of them: a number or a date may stand in what was copied too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from exhume.ingest.snapshots_time import NS, Instant, instant

TODO = 'put one like `### 1794773717` (`echo "### $(date +%s)"`) above each'
"""For whoever has copies without."""
_HEAD_BYTES = 4096
_MOST = 10
"""All lines but one in so many."""
_FURTHEST_NS = 30 * 86_400 * NS
"""A number this far from the first mark's is none."""
_UPTIME = re.compile(rb"\buptime[=: ] ?(\d{1,9})(?:\.(\d{1,9}))?")
_CLOCK = rb"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = rb"(?: ?(?:Z|[A-Z]{3,5}|[+-]\d\d(?::?\d\d)?)(?!\w|:\d))?"
_WORD = rb"[A-Za-z\x80-\xff]{2,12}[.,]{0,2}"
TIMES = (
    rb"[12]\d{9}(?:[.,]\d{1,9}|\d{3}|\d{6}|\d{9})?(?![\w.])",
    rb"\d{4}[-/]\d\d[-/]\d\d[T _]" + _CLOCK + _ZONE,
    rb"\d{4}-\d\d-\d\d[-_]\d\d[-:.]\d\d[-:.]\d\dZ?(?!\w)",
    rb"(?:%b )?\d\d?\.\d\d?\.\d{4},? " % _WORD + _CLOCK + _ZONE,
    rb"20\d{6}[T_-]?\d{6}(?:[.,]\d{1,9})?Z?(?!\w)",
    rb"(?:%(w)b )? ?\d\d?\.? %(w)b (?:\d{4},? )?%(c)b(?: [AP]M)?%(z)b(?: \d{4})?"
    % {b"w": _WORD, b"c": _CLOCK, b"z": _ZONE},
    rb"(?:%(w)b )?%(w)b  ?\d\d? %(c)b(?: [AP]M)?%(z)b \d{4}"
    % {b"w": _WORD, b"c": _CLOCK, b"z": _ZONE},
)
_SIGNS = rb"[-=#*>+~@\[(\"' \t]{0,80}"
# What may stand before a time: `[`, `TIMESTAMP: `, `time=`, `EPOCH `. Not `timestamp ` in small
# letters, which /proc/schedstat has.
_WORDS = rb"(?:TIMESTAMP|EPOCH|TIME|DATE|TS|[Ee]poch|[Tt]ime|[Dd]ate|ts)\b"
_BEFORE = _SIGNS + rb"(?:[A-Za-z][\w .-]{0,30}[:=]|%b)?" % _WORDS + _SIGNS
# And behind it: an uptime, a second form of it, a path.
_AFTER = (
    rb"[ \t\])\"':,;=#*<~-]{0,80}(?:\(?[\d:.TZ+-]{8,40}\)?[ \t]{0,4})?(?:uptime[=: ][^\n]{0,60})?"
    rb"(?:/[\w./-]{1,80})?[ \t\])\"'=#*<~-]{0,80}"
)
# `===== gpu-7 `, `--- sample 3 at `, `zzz ***`. Only signs make words a mark: /proc/stat has
# `btime 1794773712`.
_SET_APART = (
    rb"(?=(?:[a-z]{1,12} )?[-=#*+~]{2}|[#@>] )(?:[a-z]{1,12} )?"
    + _SIGNS
    + rb"(?:(?!\d)[\w.#/-]{1,64}[ \t]{1,4}(?:\d{1,6}[ \t]{1,4})?){0,3}?"
    + _BEFORE
)
_WATCHED = rb"Every \d{1,6}[.,]\ds: [^\n]{0,300}?[ \t:]"
"""The first line of what `watch` shows."""
_STAMPED = re.compile(
    rb"^\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:|1\d{9}[. ])", re.MULTILINE
)
# What may stand on the line of its time, `echo "$(date +%s) $(cat /proc/loadavg)"`: as in
# `snapshots_sections`.
_ONE_LINE = (
    rb"\d+\.\d\d \d+\.\d\d \d+\.\d\d \d+/\d+ \d+|memory[ \t]+\d+[ \t]+\d+[ \t]+[01]"
    rb"|some avg10=\d[^\n]*|(?:[A-Za-z][\w /().-]{1,60}?[:=][ \t]*\d{1,15}(?: ?kB)?[ \t,;]*)+"
    rb"|\d{1,9}"
)
ASKED_FOR = re.compile(
    rb"^### ?(?P<at>\d{9,10}(?:\.\d{1,9})?|\d{13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)"
    rb"(?P<rest>[ \t][^\n]*)?\n",
    re.MULTILINE,
)


class Mark(Struct, frozen=True):
    start: int
    """Where its line begins in the text, and where what was copied does."""
    end: int
    at: Instant
    uptime_ns: int | None
    rest: str
    """What else its line says."""
    is_asked_for: bool
    """In the form that can't be anything else."""


class MarkForm(Struct, frozen=True):
    pattern: re.Pattern[bytes]
    near_ns: int | None = None
    """The first mark's time, where others must be near it."""
    is_inline: bool = False
    """What is told stands on its line: then nearly all lines must be such, as in no log."""
    is_below: bool = False
    """`cat /proc/stat; date`: what is told stands above its line."""

    def marks(self, text: bytes) -> Iterator[Mark]:
        for found in self.pattern.finditer(text):
            at = instant(found["at"].decode("utf-8", "replace"))
            if at is None or (
                self.near_ns is not None and abs(at.ns - self.near_ns) > _FURTHEST_NS
            ):
                continue
            line = text[found.start() : found.end()]
            rest = line.replace(found["at"], b" ", 1).decode("utf-8", "replace").strip()
            is_asked_for = self.pattern is ASKED_FOR
            yield Mark(found.start(), found.end(), at, _uptime_ns(line), rest, is_asked_for)


def form_of(head: bytes, is_sound: Callable[[bytes, Mark], bool]) -> MarkForm | None:
    """`is_sound`: told what is below a mark, up to the next, and the mark."""
    forms = [MarkForm(ASKED_FOR), *_forms_in(head[:_HEAD_BYTES])]
    return next((form for form in forms if _holds(form, head, is_sound)), None)


def _forms_in(head: bytes) -> Iterator[MarkForm]:
    found = []
    for time, before, after, is_inline in _PLACES:
        pattern = re.compile(rb"^(?P<before>%b)(?P<at>%b)%b" % (before, time, after), re.MULTILINE)
        for first in pattern.finditer(head):
            if (at := instant(first["at"].decode("utf-8", "replace"))) is not None:
                # All begin alike, but for a number that counts them.
                same = re.sub(rb"\d+", rb"\\d+", re.escape(first["before"]))
                own = re.compile(rb"^%b(?P<at>%b)%b" % (same, time, after), re.MULTILINE)
                found.append((first.start(), MarkForm(own, at.ns, is_inline)))
                break
    # The first line that is one: above the copies, not among them.
    yield from (form for _, form in sorted(found, key=lambda one: one[0]))


def _holds(form: MarkForm, head: bytes, is_sound: Callable[[bytes, Mark], bool]) -> bool:
    marks = list(form.marks(head))
    if not marks:
        return False
    ends = [*(mark.start for mark in marks[1:]), len(head)]
    sound = [is_sound(head[mark.end : end], mark) for mark, end in zip(marks, ends, strict=True)]
    if form.is_inline:
        lines = sum(1 for line in head.split(b"\n") if line.strip())
        return _MOST * sum(sound) >= (_MOST - 1) * lines
    is_log = form.pattern is not ASKED_FOR and _is_log(head, {mark.start for mark in marks})
    return any(sound) and not is_log


def _is_log(head: bytes, marks: set[int]) -> bool:
    """Most lines of a log have a time of their own; a listing among them makes it no copy."""
    stamped = sum(1 for found in _STAMPED.finditer(head) if found.start() not in marks)
    return 2 * stamped > head.count(b"\n")


def _uptime_ns(line: bytes) -> int | None:
    found = _UPTIME.search(line)
    if found is None:
        return None
    return int(found[1]) * NS + int((found[2] or b"0").ljust(9, b"0"))


# Which times, what may stand before them, what behind them, and whether that is what is told.
_PLACES = tuple(
    (time, before, after, is_inline)
    for time in TIMES
    for before, after, is_inline in (
        (_BEFORE, _AFTER + rb"\n", False),
        (_SET_APART, rb"(?![\w:.])[^\n]{0,300}\n", False),
        (_WATCHED, rb"[ \t]*\n", False),
        (rb"\[?", rb"[\]:,;|]?[ \t]+(?=(?:%b)[ \t]*$)" % _ONE_LINE, True),
    )
)
