"""A table with a column of times, as scripts write it (CSV, also with `;` or tabs) → readings."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from msgspec import Struct

from exhume.ingest.blocks import BlockTable
from exhume.ingest.context import Context
from exhume.ingest.csv_fields import Column, columns_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import Facts, Hints, Piece, clock_pieces, with_facts
from exhume.ingest.row_table import SLOT_NS
from exhume.ingest.snapshots_time import NS, Instant, instant
from exhume.ingest.streams import Source, problem_of
from exhume.ingest.uptime_ties import UptimeTies
from exhume.model.reading import Reading

_DELIMITERS = (",", ";", "\t", "|", " ")
_TIME_NAMES = re.compile(
    r"(?:.*[_ ])?(?:epoch|time|timestamp|ts|date|datetime|iso|unix|wall|when|at|utc)(?:[_ ].*)?"
)
_UTC = re.compile(r"(?:.*[^a-z])?(?:utc|gmt|zulu)(?:[^a-z].*)?")
_UPTIME = re.compile(r"uptime(?:_s|_seconds|_sec)?")
_MAX_COLUMNS = 512
_MOST_LISTED = 12
_MAX_VALUE = 1 << 62


class Shape(Struct, frozen=True):
    delimiter: str
    names: tuple[str, ...]
    time: tuple[int, ...]
    """Which column; two where the day and the time of day have one each."""
    times: tuple[int, ...]
    """All that hold one."""
    uptime: int | None
    columns: tuple[tuple[int, Column], ...]
    skip: int
    """Lines above the header."""
    is_utc: bool
    """The name of the column says so."""

    @property
    def unknown(self) -> tuple[str, ...]:
        known = {*self.times, self.uptime, *(index for index, _ in self.columns)}
        return tuple(name for index, name in enumerate(self.names) if index not in known)

    def at(self, row: Sequence[str]) -> Instant | None:
        if len(row) <= max(self.time):
            return None
        found = instant(" ".join(row[index].strip() for index in self.time))
        return found._replace(has_zone=True) if found is not None and self.is_utc else found


def is_table(head: bytes) -> bool:
    return shape_of(head) is not None


def shape_of(head: bytes) -> Shape | None:
    """None where it has no times, or no column that means anything here."""
    for delimiter, names, row, skip in _tables(head):
        found = _shape(delimiter, names, row, skip)
        if found is not None:
            return found
    return None


def strange_columns(head: bytes) -> tuple[str, ...]:
    """The names of a table that has times, but no column that means anything here."""
    for delimiter, names, row, _ in _tables(head):
        times = {i for i, cell in enumerate(row) if instant(cell.strip()) is not None}
        times.update(_day_and_clock(row))
        if times and delimiter != " " and instant(names[0].strip()) is None:
            return tuple(name.strip() for i, name in enumerate(names) if i not in times)
    return ()


def _tables(head: bytes) -> Iterator[tuple[str, list[str], list[str], int]]:
    """What it may be, by delimiter: names, the first row, and how many lines are above."""
    lines = head.decode("utf-8", "replace").splitlines()[:20]
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].startswith("# ")):
        skip += 1
    if len(lines) < skip + 2:
        return
    for delimiter in _DELIMITERS:
        names = _split(lines[skip], delimiter)
        rows = [row for line in lines[skip + 1 :] if (row := _split(line, delimiter))]
        if 2 <= len(names) <= _MAX_COLUMNS and len(rows[0] if rows else ()) == len(names):
            yield delimiter, names, rows[0], skip


def _shape(delimiter: str, names: Sequence[str], row: Sequence[str], skip: int) -> Shape | None:
    plain = [name.strip().strip("#\ufeff").strip().lower() for name in names]
    columns = columns_of(names)
    # A large number may look like a time: not in a column whose name says what it is.
    times = [
        i
        for i, cell in enumerate(row)
        if instant(cell.strip()) is not None
        and (i not in columns or _TIME_NAMES.fullmatch(plain[i]))
    ]
    # By name first; of two, seconds since 1970 say their zone.
    times.sort(
        key=lambda i: (
            _TIME_NAMES.fullmatch(plain[i]) is None,
            not row[i].strip()[4:5].isdigit(),
            i,
        )
    )
    chosen = tuple(times[:1]) or _day_and_clock(row)
    if not chosen:
        return None
    times += [index for index in chosen if index not in times]
    fields = tuple((index, column) for index, column in columns.items() if index not in times)
    uptime = next((i for i, name in enumerate(plain) if _UPTIME.fullmatch(name)), None)
    if not fields:
        return None
    is_utc = any(_UTC.fullmatch(plain[index]) for index in chosen)
    return Shape(delimiter, tuple(names), chosen, tuple(times), uptime, fields, skip, is_utc)


def _day_and_clock(row: Sequence[str]) -> tuple[int, ...]:
    """`2026-11-15,20:15:17`"""
    for index, (day, clock) in enumerate(pairwise(row)):
        if instant(f"{day.strip()} {clock.strip()}") is not None:
            return index, index + 1
    return ()


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.strip(" ")], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def read(source: Source, context: Context) -> Iterator[Piece]:
    shape = shape_of(source.head())
    if shape is None:
        return
    table = _Table(shape, LocalTimes(context.clock.zone))
    with source.open(context.progress) as stream:
        text = io.TextIOWrapper(
            io.BufferedReader(cast(io.RawIOBase, stream)), "utf-8", "replace", newline=""
        )
        for _ in range(shape.skip + 1):
            text.readline(1 << 20)
        rows = csv.reader(_lines(text), delimiter=shape.delimiter, skipinitialspace=True)
        while True:
            try:
                row = next(rows, None)
            except csv.Error:
                table.odd += 1
                continue
            if row is None:
                break
            yield from table.add(row)
        broken = problem_of(stream)
        text.detach().detach()
    yield from table.finish(source.path.name, broken)


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """None longer than 1 MiB, and the last one only if it has an end."""
    while line := text.readline(1 << 20):
        if line.endswith(("\n", "\r")):
            yield line.strip(" ")


class _Table:
    def __init__(self, shape: Shape, times: LocalTimes) -> None:
        self._shape = shape
        self._times = times
        self._table = BlockTable()
        self._ties = UptimeTies()
        self._last_ns: int | None = None
        self.odd = 0
        self.rows = 0

    def add(self, row: Sequence[str]) -> Iterator[Piece]:
        shape = self._shape
        if not row:
            return
        found = shape.at(row)
        if found is None:
            self.odd += 1
            return
        at = self._times.saw_time(found.ns, found.has_zone)
        last, self._last_ns = self._last_ns, at
        if last is not None and (at < last or at // SLOT_NS != last // SLOT_NS):
            yield from self._pieces()
        self.rows += 1
        readings: dict[str, Reading] = {}
        for index, column in shape.columns:
            value = _number(row[index]) if index < len(row) else None
            if value is not None and abs(value * column.factor) < _MAX_VALUE:
                reading = Reading.of_node(column.field, round(value * column.factor))
                readings.setdefault(column.field, reading)
        self._table.add(at, readings.values())
        uptime = (
            _number(row[shape.uptime])
            if shape.uptime is not None and len(row) > shape.uptime
            else None
        )
        if uptime is not None:
            self._ties.add(at, round(uptime * NS))

    def _pieces(self) -> Iterator[Piece]:
        if self._table:
            blocks, events = self._table.take()
            last = self._last_ns or 0
            yield Piece(
                Hints(), self._times.clock, self._times.claim(), blocks=blocks, events=events,
                guesses=self._times.guesses(last),
            )  # fmt: skip

    def finish(self, name: str, broken: str) -> Iterator[Piece]:
        yield from self._pieces()
        ties = clock_pieces(self._ties.claims(self._times, name))
        yield from with_facts(ties, self._facts(broken))

    def _facts(self, broken: str) -> Facts:
        shape = self._shape
        taken = [
            f"{shape.names[index].strip()} as {column.field}" for index, column in shape.columns
        ]
        notes = [f"columns: {_listed(taken)}"]
        notes += [column.note for _, column in shape.columns if column.note]
        if shape.unknown:
            notes.append(f"columns that mean nothing here: {_listed(shape.unknown)}")
        problems = [broken] if broken else []
        if self.odd:
            problems.append(f"{self.odd} rows have no time, and were left out")
        return Facts(notes=tuple(notes), problems=tuple(problems))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    return f"{shown} and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else shown


def _number(text: str) -> float | None:
    """With a decimal point or comma; None where there is none, or none that is finite."""
    plain = text.strip().replace(",", ".")
    if not plain.isascii() or not re.fullmatch(r"-?\d{1,18}(?:\.\d{1,18})?", plain):
        return None
    return float(plain)
