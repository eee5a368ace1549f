"""mpstat's JSON (`mpstat -o JSON`) → lines of percentages, object by object.

12 h of 96 cores are half a gigabyte, so it is never read as one value; a log that was cut off has
no end anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from exhume.ingest.mpstat_clock import DayClock
from exhume.ingest.mpstat_header import Header, days_of
from exhume.ingest.mpstat_table import COLUMNS, MAX_CORE, Lines
from exhume.ingest.piece import Hints

# sadf's has an object for each time.
_IS_JSON = re.compile(rb'\s*\{\s*"sysstat"\s*:(?![\s\S]{0,2000}"timestamp"\s*:\s*\{)')
_PART = re.compile(
    rb'"timestamp"\s*:\s*"(?P<time>[^"]{1,40})"|\{(?P<cpu>[^{}]*"cpu"\s*:[^{}]*"idle"\s*:[^{}]*)\}'
)
_TEXT = re.compile(rb'"(nodename|release|machine|date)"\s*:\s*"([^"]{0,200})"')
_CORES = re.compile(rb'"number-of-cpus"\s*:\s*(\d{1,6})')
_KEYS = tuple(name[1:] for name in COLUMNS)
_UNIT = 100
_USUAL_S = 1


def is_json(head: bytes) -> bool:
    return _IS_JSON.match(head) is not None


def host_of(head: bytes) -> str:
    return header_of(head).hints.node if is_json(head) else ""


def header_of(head: bytes) -> Header:
    found = {m[1].decode(): m[2].decode("utf-8", "replace") for m in _TEXT.finditer(head)}
    cores = _CORES.search(head)
    hints = Hints(
        node=found.get("nodename", ""),
        kernel=found.get("release", ""),
        architecture=found.get("machine", ""),
        cores=int(cores[1]) if cores else None,
    )
    text = found.get("date", "")
    return Header(hints, tuple(dict.fromkeys(days_of(text))), text)


class JsonScanner:
    def __init__(self, clock: DayClock) -> None:
        self.clock = clock
        self.odd_lines = 0
        self.first_odd = 0
        self.all_only = 0
        self.without_length = 0
        self.is_alone = False
        """There was one instant only: it may be of a second, or of all time since boot."""
        self._rest = b""
        self._time: int | None = None
        self._before: int | None = None
        self._rows: list[tuple[int, list[int]]] = []
        self._first: tuple[int, list[tuple[int, list[int]]]] | None = None
        """The first instant: how long it was shows only when the next one is there."""

    def read(self, data: bytes, *, at_end: bool = False) -> Iterator[Lines]:
        text = self._rest + data
        done = 0
        for found in _PART.finditer(text):
            done = found.end()
            if found["time"] is not None:
                yield from self._instant()
                now = self.clock.at(found["time"].decode("utf-8", "replace"))
                if now is None:
                    self.odd_lines += 1
                self._time = now
            elif self._time is not None:
                self._add(found["cpu"])
        # Objects are short: what is long and holds none never will.
        self._rest = text[max(done, len(text) - (1 << 20)) :]
        if at_end:
            yield from self._instant()
            if self._first is not None:
                end, rows = self._first
                self._first, self.is_alone = None, True
                yield _lines(end - _USUAL_S, end, rows)

    def _add(self, text: bytes) -> None:
        try:
            row: dict[str, Any] = json.loads(b"{" + text + b"}")
            name = str(row["cpu"])
            values = [round(float(row[k]) * _UNIT) if k in row else -1 for k in _KEYS]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            self.odd_lines += 1
            return
        if not all(-1 <= value <= 1000 * _UNIT for value in values):
            self.odd_lines += 1
        elif name == "all":
            self._rows.append((-1, values))
        elif name.isascii() and name.isdigit() and len(name) < 6 and int(name) < MAX_CORE:
            self._rows.append((int(name), values))

    def _instant(self) -> Iterator[Lines]:
        rows = [row for row in self._rows if row[0] >= 0]
        has_all, self._rows = bool(self._rows), []
        end = self._time
        if end is None or not has_all:
            return
        begin, self._before = self._before, end
        if begin is not None and end <= begin:
            self.without_length += 1
            return
        if self._first is not None:
            first, early = self._first
            self._first = None
            yield _lines(first - (end - first), first, early)
        if not rows:
            self.all_only += 1
        elif begin is None:
            self._first = end, rows
        else:
            yield _lines(begin, end, rows)


def _lines(start: int, end: int, rows: list[tuple[int, list[int]]]) -> Lines:
    return Lines(
        np.array([start], np.int64),
        np.array([end], np.int64),
        np.zeros(len(rows), np.int64),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        _UNIT,
    )
