"""The C reader of perf-script text (script.c) behind typed columns."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from exhume.clibrary import C_INT, C_U32, C_U64, POINTER, Functions, load
from exhume.model.arrays import I32, I64, U32
from exhume.perf.records import Lost

ABI = 5
ROOM = 1 << 15
"""Samples of one call."""
LINE_ROOM = 1 << 18
"""Lines of their stacks, as far as those are new."""
_FRAME = re.compile(rb"\s*[0-9a-f]{1,16}(?: \S|\s*$)")
_LEAST_WITH_FRAMES = 0.5
_BEGIN_BYTES = 1 << 16
_MORE_WITHOUT = 1.1
"""So many times as many: lines that perf did not write are samples without ids, here and there."""
NO_NUMBER = np.iinfo(np.int64).min
"""A time or period that the line does not give."""
BEYOND = np.iinfo(np.int64).max
"""A time that no clock shows."""

_COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    ("time", np.int64),
    ("period", np.int64),
    ("pid", np.int32),
    ("tid", np.int32),
    ("cpu", np.int32),
    ("comm", np.uint32),
    ("event", np.uint32),
    ("stack", np.uint32),
    ("comm_at", np.uint64),
    ("event_at", np.uint64),
    ("stack_at", np.uint64),
    ("comm_length", np.uint32),
    ("event_length", np.uint32),
    ("stack_length", np.uint64),
    ("line_count", np.uint32),
)
_LINE_COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    ("line_at", np.uint64),
    ("line_length", np.uint64),
    ("stack_lines", np.uint32),
)
"""Both in the order of xs_columns in script.c."""


class _Columns(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name, _ in (*_COLUMNS, *_LINE_COLUMNS)]


class _Counts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "samples", "comms", "events", "stacks", "lines", "stack_lines", "odd", "first_odd",
            "consumed", "lost_records", "lost_samples", "headers",
        )
    ]  # fmt: skip


class Scanned(Struct, frozen=True):
    time: I64
    period: I64
    pid: I32
    """The same as `tid` where the line has one number only: that is the thread's. Both are -1
    where it has none."""
    tid: I32
    cpu: I32
    """-1 where the line does not say."""
    comm: U32
    event: U32
    stack: U32
    """Numbers of texts. The lists below hold those seen first in this call."""
    new_comms: list[bytes]
    new_events: list[bytes]
    new_stacks: list[bytes]
    new_lines: list[bytes]
    """Of stacks. Lines that say the same are one, wherever in its function the code was."""
    line_count: U32
    """Of each new stack, how many lines it has."""
    stack_lines: U32
    """Their numbers, leaf first, one stack after the other."""
    odd: int
    """Lines that belong to no sample."""
    first_odd: int
    """Where the first of them begins."""
    consumed: int
    lost: Lost
    """As lines of `--show-lost-events` say."""
    headers: int
    """Of `perf script --header`, each of one capture."""

    def __len__(self) -> int:
        return len(self.time)


@cache
def _library() -> ctypes.CDLL:
    functions: Functions = {
        "xs_texts_new": (POINTER, []),
        "xs_texts_free": (None, [POINTER]),
        "xs_texts_reset": (None, [POINTER]),
        "xs_texts_count": (C_U32, [POINTER]),
        "xs_read": (
            C_INT,
            [POINTER, C_U64, C_INT, C_INT, *[POINTER] * 4, C_U64, C_U64, POINTER, POINTER],
        ),
    }
    return load("perf/_script", ("xs_abi", ABI), functions)


def fitting(text: bytes | memoryview, at_end: bool) -> tuple[Scanner, Scanned]:
    """The reader for texts that begin like this, and what it finds in it.

    Text without ids (`-F comm,cpu,time,event,ip,sym`) shows by its frames: a name, a time and a
    word are in the lines of many a log.
    """
    scanner = Scanner()
    found = scanner.read(text, at_end)
    if not len(found) or _has_more_without_ids(text, at_end):
        other = Scanner(has_ids=False)
        without = other.read(text, at_end)
        has_frame = np.array([bool(_FRAME.match(one)) for one in without.new_stacks], np.bool_)
        if len(without) and has_frame[without.stack].mean() >= _LEAST_WITH_FRAMES:
            return other, without
    return scanner, found


def _has_more_without_ids(text: bytes | memoryview, at_end: bool) -> bool:
    """Are the ids of some samples the ends of names, as of `worker 1 [003] 9.5: cycles:`?

    Then others have none. Of a text that has them everywhere as many samples are seen without.
    """
    begin = text[:_BEGIN_BYTES]
    whole = at_end and len(begin) == len(text)
    count, without = (len(Scanner(has_ids).read(begin, whole)) for has_ids in (True, False))
    return without > _MORE_WITHOUT * count


class Scanner:
    """Reads text piece by piece; keeps the dictionaries of texts from one piece to the next."""

    def __init__(self, has_ids: bool = True) -> None:
        """`has_ids`: lines tell who ran by numbers, too. Else only such count that have a time."""
        self.has_ids = has_ids
        self._library = _library()
        self._texts = [self._library.xs_texts_new() for _ in range(4)]
        if not all(self._texts):
            raise MemoryError("no memory for the dictionaries of texts")
        # Kept from call to call: fresh memory would cost as much as what is written to it.
        self._arrays: dict[str, Any] = {name: np.empty(ROOM, dtype) for name, dtype in _COLUMNS}
        self._arrays |= {name: np.empty(LINE_ROOM, dtype) for name, dtype in _LINE_COLUMNS}
        self._pointers = _Columns(*(array.ctypes.data for array in self._arrays.values()))

    def __del__(self) -> None:
        for texts in getattr(self, "_texts", ()):
            self._library.xs_texts_free(texts)

    @property
    def remembered(self) -> int:
        """Stacks, or lines of them if there are more."""
        return max(int(self._library.xs_texts_count(texts)) for texts in self._texts[2:])

    def forget_stacks(self) -> None:
        """Start new dictionaries: numbers of stacks and of lines count from 0 again."""
        for texts in self._texts[2:]:
            self._library.xs_texts_reset(texts)

    def read(self, text: bytes | memoryview, at_end: bool) -> Scanned:
        """At most ROOM samples with LINE_ROOM new lines; `consumed` tells where to go on."""
        counts = _Counts()
        if not self._library.xs_read(
            np.frombuffer(text, np.uint8).ctypes.data, len(text), at_end, self.has_ids,
            *self._texts, ROOM, LINE_ROOM,
            ctypes.addressof(self._pointers), ctypes.addressof(counts),
        ):  # fmt: skip
            raise MemoryError("no memory for the dictionaries of texts")
        arrays, view = self._arrays, memoryview(text)

        def texts(name: str, count: int) -> list[bytes]:
            at, length = arrays[f"{name}_at"][:count], arrays[f"{name}_length"][:count]
            ends = at + length.astype(np.uint64)
            return [bytes(view[a:b]) for a, b in zip(at.tolist(), ends.tolist(), strict=True)]

        def column(name: str, count: int) -> Any:
            return arrays[name][:count].copy()

        n = counts.samples
        return Scanned(
            time=column("time", n),
            period=column("period", n),
            pid=column("pid", n),
            tid=column("tid", n),
            cpu=column("cpu", n),
            comm=column("comm", n),
            event=column("event", n),
            stack=column("stack", n),
            new_comms=texts("comm", counts.comms),
            new_events=texts("event", counts.events),
            new_stacks=texts("stack", counts.stacks),
            new_lines=texts("line", counts.lines),
            line_count=column("line_count", counts.stacks),
            stack_lines=column("stack_lines", counts.stack_lines),
            odd=int(counts.odd),
            first_odd=int(counts.first_odd),
            consumed=int(counts.consumed),
            lost=Lost(int(counts.lost_records), int(counts.lost_samples)),
            headers=int(counts.headers),
        )
