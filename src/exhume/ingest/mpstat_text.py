"""mpstat's tables as text → lines of percentages.

12 h of 96 cores are 4 million lines. All lines of a table are as long as its header, and numbers
stand under their names: so whole chunks are read as columns of bytes. Lines that are otherwise are
taken one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

import numpy as np
from msgspec import Struct

from exhume.ingest import mpstat_columns, mpstat_header
from exhume.ingest.mpstat_clock import DayClock, is_time
from exhume.ingest.mpstat_columns import Layout, layout_of
from exhume.ingest.mpstat_header import HEADER
from exhume.ingest.mpstat_table import Lines
from exhume.model.arrays import I64

_NAMES = (b"CPU", b"NODE")
_LONGEST = 4 << 20
"""Of the lines below one header that are kept back for the end of their instant."""


class _Table(Struct, frozen=True):
    layout: Layout
    start: str
    """The time in its header; empty where it goes on."""
    body: bytes
    days: tuple[date, ...]
    """Of the header of a run, where one stands above it."""


class TextScanner:
    def __init__(self, clock: DayClock) -> None:
        self.clock = clock
        self.odd_lines = 0
        self.first_odd = 0
        self.all_only = 0
        """Instants of which only the mean over all cores was told."""
        self.without_length = 0
        """Instants that are as late as the one before: averages since boot."""
        self._rest = b""
        self._line = 1
        self._known: tuple[int, bytes, Layout] | None = None
        self._goes_on: tuple[Layout, str] | None = None
        self._end: int | None = None
        self._days: tuple[date, ...] = ()

    def read(self, data: bytes, *, at_end: bool = False) -> Iterator[Lines]:
        text = self._rest + data
        if b"\r" in text:
            text = text.replace(b"\r", b"")
        whole = len(text) if at_end else self._whole(text)
        text, self._rest = text[:whole], text[whole:]
        if at_end and text and not text.endswith(b"\n"):
            text = text[: text.rfind(b"\n") + 1]  # the last line is not all there
        run: list[_Table] = []
        for table in self._tables(text):
            if run and (table.layout != run[-1].layout or table.days):
                yield from self._lines(run)
                run = []
            run.append(table)
        if run:
            yield from self._lines(run)
        self._line += text.count(b"\n")

    def _whole(self, text: bytes) -> int:
        """Up to where all lines of each instant are there."""
        last = max(text.rfind(name) for name in _NAMES)
        begin = text.rfind(b"\n", 0, max(last, 0)) + 1
        if begin > 0 or len(text) < _LONGEST:
            return begin
        # One header and very many lines: up to where the last time began.
        header = text[: text.find(b"\n")]
        found = layout_of(header)
        if found is None:
            return text.rfind(b"\n") + 1
        end = text.rfind(b"\n") + 1
        line = text.rfind(b"\n", 0, end - 1) + 1
        stamp = text[line : line + found[0].time_end]
        while line > 0 and text.startswith(stamp, line):
            line = text.rfind(b"\n", 0, line - 1) + 1
        return text.find(b"\n", line) + 1

    def _tables(self, text: bytes) -> Iterator[_Table]:
        heads = sorted(_head_lines(text))
        current, begin = self._goes_on, 0
        for start, end in [*heads, (len(text), len(text))]:
            if current is not None and start > begin:
                yield _Table(current[0], current[1], text[begin:start], self._days)
                self._days = ()
            if start == end:
                break
            line = text[start:end]
            current, begin = self._head(line), end + 1
            if current is None and (found := HEADER.match(line)) is not None:
                self._days = mpstat_header.parse(found).days
        # What comes next without a header goes on with this one, from where it stopped.
        self._goes_on = None if current is None else (current[0], "")

    def _head(self, line: bytes) -> tuple[Layout, str] | None:
        """Headers differ by their time only, and there is one a second."""
        at = line.find(b"CPU")
        known = self._known
        if known is not None and line[:1].isdigit() and at == known[0] and line[at:] == known[1]:
            layout = known[2]
            return layout, line[: layout.time_end].decode("utf-8", "replace")
        found = layout_of(line)
        self._known = (at, line[at:], found[0]) if found else None
        return found

    def _lines(self, run: Sequence[_Table]) -> Iterator[Lines]:
        layout = run[0].layout
        if run[0].days:
            self.clock.begin(run[0].days)
            self._end = None
        bodies = [table.body.strip(b"\n") + b"\n" for table in run]
        if all(_is_even(body, layout.length) for body in bodies if body != b"\n"):
            found = self._by_columns(run, bodies)
            if found is not None:
                yield from found
                return
        for table in run:
            yield from self._one_by_one(table)

    def _by_columns(self, run: Sequence[_Table], bodies: Sequence[bytes]) -> list[Lines] | None:
        """None where something in them is not as it should be."""
        layout = run[0].layout
        kept = [(t, body) for t, body in zip(run, bodies, strict=True) if body != b"\n"]
        if not kept:
            return []
        table = np.frombuffer(b"".join(body for _, body in kept), np.uint8)
        table = table.reshape(-1, layout.length)
        if not all(map(bytes.isdigit, {body[:1] for _, body in kept})):
            return None
        decoded = mpstat_columns.percent(table, layout)
        if decoded is None:
            return None
        percent, unit = decoded
        core = mpstat_columns.cores(table[:, layout.time_end : layout.core_end])
        begins = np.cumsum([0, *(len(body) // layout.length for _, body in kept)])
        stamps = table[:, : layout.time_end]
        is_new = np.ones(len(table), np.bool_)
        is_new[1:] = (stamps[1:] != stamps[:-1]).any(axis=1)
        is_new[begins[:-1]] = True
        first = np.flatnonzero(is_new)
        texts = [stamps[row].tobytes().decode("utf-8", "replace") for row in first.tolist()]
        starts = {int(row): t.start for row, (t, _) in zip(begins[:-1].tolist(), kept, strict=True)}
        spans = self._spans(texts, [starts.get(int(row)) for row in first])
        if spans is None:
            return None
        instant = np.cumsum(is_new) - 1
        return list(self._kept(spans, instant, core, percent, unit))

    def _spans(
        self, texts: Sequence[str], starts: Sequence[str | None]
    ) -> list[tuple[int, int]] | None:
        """From when to when each instant tells. `starts`: the header's time above the first."""
        if not all(map(is_time, texts)):
            return None  # before the clock goes on: they are read again without what is odd
        found = []
        for text, start in zip(texts, starts, strict=True):
            begin = self.clock.at(start) if start else self._end
            end = self.clock.at(text)
            if end is None:
                return None
            found.append((end if begin is None else begin, end))
            self._end = end
        return found

    def _kept(
        self, spans: Sequence[tuple[int, int]], instant: I64, core: I64, percent: I64, unit: int
    ) -> Iterator[Lines]:
        start = np.array([span[0] for span in spans], np.int64)
        end = np.array([span[1] for span in spans], np.int64)
        is_core = core >= 0
        by_core = np.bincount(instant[is_core], minlength=len(spans)) > 0
        has_length = end > start
        self.without_length += int((~has_length).sum())
        self.all_only += int((has_length & ~by_core).sum())
        chosen = has_length & by_core
        rows = is_core & chosen[instant]
        if rows.any():
            number = np.cumsum(chosen) - 1
            yield Lines(
                start[chosen], end[chosen], number[instant[rows]], core[rows], percent[rows], unit
            )

    def _one_by_one(self, table: _Table) -> Iterator[Lines]:
        """Lines of any width; `all` may lack the columns of -T."""
        layout = table.layout
        stamps: list[str] = []
        rows: list[tuple[int, int, list[int]]] = []
        unit = 1
        parsed = []
        for line in table.body.split(b"\n"):
            if not line.strip() or not line[:1].isdigit():
                continue  # `Average:`, in whatever language
            found = mpstat_columns.tokens_of(line, layout)
            if found is None:
                if _is_heading(line, layout):
                    break  # of another table of sar: what is below is not about cores
                self.odd_lines += 1
                self.first_odd = self.first_odd or self._line
                continue
            parsed.append(found)
            unit = max(unit, found[3])
        for stamp, core, values, own in parsed:
            if not stamps or stamps[-1] != stamp:
                stamps.append(stamp)
            rows.append(
                (len(stamps) - 1, core, [v * (unit // own) if v > 0 else v for v in values])
            )
        spans = self._spans(stamps, [table.start, *[None] * (len(stamps) - 1)] if stamps else [])
        if not rows or spans is None:
            self.odd_lines += len(rows)
            return
        yield from self._kept(
            spans,
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.int64),
            unit,
        )


def _is_heading(line: bytes, layout: Layout) -> bool:
    """`10:00:40   proc/s   cswch/s`, `10:00:40   INTR    intr/s`: behind its time only names."""
    names = line.split()[layout.time_words :]
    return len(names) > 1 and names[0] != b"all" and not any(name[:1].isdigit() for name in names)


def _head_lines(text: bytes) -> Iterator[tuple[int, int]]:
    seen = set()
    for name in _NAMES:
        at = text.find(name)
        while at >= 0:
            start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            end = len(text) if end < 0 else end
            if start not in seen:
                seen.add(start)
                yield start, end
            at = text.find(name, end)


def _is_even(body: bytes, length: int) -> bool:
    rows, odd = divmod(len(body), length)
    return not odd and body[length - 1 :: length] == b"\n" * rows and body.count(b"\n") == rows
