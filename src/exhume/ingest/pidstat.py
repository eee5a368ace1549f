"""`pidstat -u` → the time of processes as counters.

It shows who used any, so who is not there used none: a process has a reading at the start and at
the end of every interval in which it is shown, and none in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from msgspec import Struct, field

from exhume.ingest import mpstat_header
from exhume.ingest.blocks import BlockTable
from exhume.ingest.context import Context
from exhume.ingest.line_prefix import chunks, plain, prefix_of
from exhume.ingest.mpstat import dated, not_dated, undated
from exhume.ingest.mpstat_clock import DayClock, day_clock
from exhume.ingest.mpstat_header import HEADER, LocalClaim, local_claim, told_zone
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece
from exhume.ingest.row_table import SLOT_NS
from exhume.ingest.streams import Source, problem_of
from exhume.model.reading import Reading

NS = 1_000_000_000
_MAX_LINE = 1 << 16
_ALIASES = {"%user": "%usr"}
_NEEDED = frozenset({"%usr", "%system", "Command"})
_WHO = ("UID", "USER", "PID", "TGID")
"""The first column behind the time; the name of a user may be anything."""
_HEADING = re.compile(
    rb"^[^\n]*\b(?:PID|TGID)\b[^\n]* %use?r[^\n]* %system[^\n]* Command[ \t\r]*$", re.M
)
_TIMED = re.compile(rb"\d{1,2}(?::|[\x80-\xff]{3})\d\d")
_ABOVE = 3
_NUMBER = re.compile(r"\d|-$")
MAX_PROCESSES = 200_000
"""Whose totals are kept: those of processes long gone are of no use."""


def is_text(head: bytes) -> bool:
    head = plain(head)
    heading = _HEADING.search(head)
    if heading is None:
        return False
    return HEADER.search(head[:4096]) is not None or (
        # What was pasted may begin with its table.
        _TIMED.match(heading[0]) is not None and head.count(b"\n", 0, heading.start()) < _ABOVE
    )


def host_of(head: bytes) -> str:
    found = HEADER.search(plain(head)[:4096])
    return mpstat_header.parse(found).hints.node if found else ""


def read(source: Source, context: Context) -> Iterator[Piece]:
    head = HEADER.search(plain(source.head())[:4096])
    header = dated(mpstat_header.parse(head), source.path) if head else undated(source.path)
    zone, by = told_zone(source.head(), context.clock.zone)
    said = local_claim(header, source.path.name, zone, by)
    intervals = _Intervals(day_clock(header, zone))
    rest = b""
    with source.open(context.progress) as stream:
        for data in chunks(stream, prefix_of(source.head())):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_MAX_LINE:]
            for line in lines:
                intervals.line(line)
                if intervals.is_full:
                    yield from _pieces(header.hints, said, intervals)
        broken = problem_of(stream)
    intervals.finish()
    yield from _pieces(header.hints, said, intervals)
    notes = [*said.notes]
    if not header.date_text and not intervals.clock.is_epoch:
        notes.append(not_dated(header))
    if intervals.no_start:
        notes.append("when its first interval began is not told: it is left out")
    problems = [broken] if broken else []
    if intervals.odd:
        problems.append(f"{intervals.odd} lines are not as they should be; left out")
    yield Piece(
        header.hints, ClockKind.OWN, None, facts=Facts(notes=tuple(notes), problems=tuple(problems))
    )


def _pieces(hints: Hints, said: LocalClaim, intervals: _Intervals) -> Iterator[Piece]:
    blocks, _ = intervals.table.take()
    intervals.is_full = False
    if not blocks:
        return
    if intervals.clock.is_epoch:
        yield Piece(hints, ClockKind.WALL, None, blocks=blocks)
    else:
        yield Piece(hints, ClockKind.OWN, said.claim, blocks=blocks, guesses=said.guesses)


class _Total(Struct):
    """In hundredths of a jiffy."""

    user: int = 0
    system: int = 0
    core: int | None = None


class _Intervals(Struct):
    clock: DayClock
    table: BlockTable = field(default_factory=BlockTable)
    is_full: bool = False
    odd: int = 0
    no_start: bool = False
    """Its first interval has an end only: a table without the time in its header (`-h`)."""
    _columns: tuple[str, ...] = ()
    _behind_time: int = 0
    """Which column the table begins with; 0 where its header has no time."""
    _start: int | None = None
    _end: int | None = None
    _rows: dict[str, tuple[int, int, int | None]] = field(default_factory=dict)
    """Of the interval that is being read: percent of user and system in hundredths, core."""
    _totals: dict[str, _Total] = field(default_factory=dict)
    _last: tuple[int, tuple[str, ...]] | None = None
    """The end of the interval before, and who was shown in it."""

    def line(self, data: bytes) -> None:
        plain = data.strip()
        if (found := HEADER.match(data)) is not None:
            self._run(mpstat_header.parse(found).days)
            return
        if len(data) > _MAX_LINE or not (plain[:1].isdigit() or plain[:1] == b"#"):
            return  # `Average:`, blank lines, the header of the file
        tokens = plain.decode("utf-8", "replace").split()
        if tokens[-1] == "Command" and not {"PID", "TGID"}.isdisjoint(tokens):
            self._heading(tokens)
            return
        if not _NEEDED.issubset(self._columns) or tokens[0].startswith("#"):
            return  # a table of something else, or nobody knows of what
        is_late = ":" in tokens[0] and len(tokens) > 1 and not _NUMBER.match(tokens[1])
        at = self._behind_time or (2 if is_late else 1)
        stamp = self.clock.at(" ".join(tokens[:at]))
        if stamp is None:
            self.odd += 1
            return
        if self._end is not None and stamp != self._end:
            last = self._end
            self._close()
            self._start = last
        self._end = stamp
        self._row(tokens[at:])

    def _run(self, days: tuple[date, ...]) -> None:
        """Another one begins in the same file; it may be of an earlier day."""
        self._close()
        self._flush()
        self._start, self.is_full = None, True
        self.clock.begin(days)

    def _heading(self, tokens: list[str]) -> None:
        """With -r, -d and -w tables of something else follow, with the same times again."""
        at = next(i for i, token in enumerate(tokens) if token in _WHO)
        columns = tuple(_ALIASES.get(token, token) for token in tokens[at:])
        if not _NEEDED.issubset(columns):
            self._columns = ()
            return
        self._close()
        self._columns = columns
        if tokens[0].startswith("#"):
            self._behind_time = 0
            self.no_start |= self._start is None
            return
        start = self.clock.at(" ".join(tokens[:at]))
        self._behind_time = at
        self._start = self._start if start is None else start

    def _row(self, cells: list[str]) -> None:
        names = self._columns
        if len(cells) < len(names):
            self.odd += 1
            return
        row = dict(zip(names, cells, strict=False))
        pid = row["TGID"] if "TGID" in names else row["PID"]
        if row.get("TID", "-") != "-" or not pid.isdigit():
            return  # threads are in their process
        command = " ".join(cells[names.index("Command") :])
        user, system = _hundredths(row["%usr"]), _hundredths(row["%system"])
        if user is None or system is None:
            self.odd += 1
            return
        core = row.get("CPU", "")
        name = f"{pid} {command}"
        self._rows[name] = user, system, int(core) if core.isdigit() and len(core) < 6 else None

    def _close(self) -> None:
        """An interval is over."""
        start, end, rows = self._start, self._end, self._rows
        self._start, self._end, self._rows = end, None, {}
        if start is None or end is None or end <= start:
            return
        for name in rows:
            self._totals.setdefault(name, _Total())
        if self._last is not None and self._last[0] == start:
            self._note(start, (*self._last[1], *(n for n in rows if n not in self._last[1])))
        else:
            self._flush()
            self._note(start, tuple(rows))
        for name, (user, system, core) in rows.items():
            total = self._totals[name]
            total.user += user * (end - start)
            total.system += system * (end - start)
            total.core = core
        self._last = end, tuple(rows)
        self.is_full = start * NS // SLOT_NS != end * NS // SLOT_NS
        if len(self._totals) > MAX_PROCESSES:
            self._totals = {name: self._totals[name] for name in rows}

    def _flush(self) -> None:
        if self._last is not None:
            self._note(*self._last)
            self._last = None

    def finish(self) -> None:
        self._close()
        self._flush()

    def _note(self, at: int, names: tuple[str, ...]) -> None:
        if not names:
            return
        totals = [self._totals.get(name, _Total()) for name in names]
        self.table.add(
            at * NS,
            (
                Reading.of_each("process.user", names, [(t.user + 50) // 100 for t in totals]),
                Reading.of_each("process.system", names, [(t.system + 50) // 100 for t in totals]),
                Reading.of_each("process.core", names, [t.core for t in totals]),
            ),
        )


def _hundredths(text: str) -> int | None:
    whole, _, part = text.replace(",", ".").partition(".")
    if not whole or not (whole + part).isascii() or not (whole + part).isdigit() or len(part) > 2:
        return None
    return int(whole) * 100 + int(part.ljust(2, "0")) if len(whole) < 9 else None
