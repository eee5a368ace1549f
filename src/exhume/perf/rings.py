"""Every core's ring at once, walked where it lies: samples, and the side band.

What a walk gives is laid into columns that are used again by the next: a second of 96 cores makes
megabytes, which would come from the system and go back to it each time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import I32, U8, U32, U64
from exhume.perf.native import (
    COLUMNS,
    Columns,
    Counts,
    Layout,
    SampleColumns,
    Spec,
    Walker,
    allocate,
    library,
)
from exhume.perf.records import COMM_BYTES, Comms, Forks, Mappings

LONGEST_RECORD = 1 << 16
SPARE_RATIO = 8
"""Columns that were this much too large are made anew: after a stall they would stay so."""
LEAST_ROWS = 1024


class Place(ctypes.Structure):
    """A ring as the kernel maps it."""

    _fields_ = [
        ("control", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("data_bytes", ctypes.c_uint64),
    ]


class Rings:
    """Several of them, for one call of the C library."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        self.table = (Place * max(1, len(places)))(*places)
        self.heads: U64 = np.zeros(len(places), np.uint64)
        self.lost: U64 = np.zeros(len(places), np.uint64)
        """Records that the kernel dropped for want of room since the last walk, by ring."""

    def read(self, room: U8) -> Iterable[U8]:
        """What waits, copied, a room full at a time; good until the next is asked for.

        A ring that holds more than fits makes the room larger.
        """
        at, count = 0, len(self.places)
        size = ctypes.c_uint64()
        while at < count:
            following = library().xh_rings_read(
                ctypes.addressof(self.table), count, at, room.ctypes.data, len(room),
                ctypes.addressof(size),
            )  # fmt: skip
            if size.value:
                yield room[: size.value]
            elif following < count:
                room = np.empty(self.places[following].data_bytes, np.uint8)
            at = following


class Scratch:
    """Columns that C fills, grown where they are too short."""

    def __init__(self, spec: Spec, pointers: ctypes.Structure) -> None:
        self.pointers = pointers
        self.columns: dict[str, NDArray[Any]] = {}
        self._spec = spec
        self._rows: dict[str, int] = {}

    def make_room(self, size: str, rows: int) -> None:
        have = self._rows.get(size, 0)
        if max(1, rows) <= have <= SPARE_RATIO * max(rows, LEAST_ROWS):
            return
        # A quarter more: seconds are seldom of one length.
        self._rows[size] = max(LEAST_ROWS, rows + rows // 4)
        self.columns |= allocate(self._spec, size, self._rows[size], self.pointers)


class SampleWalk(Struct, frozen=True):
    """Good until the next walk of the same walker."""

    samples: SampleColumns
    words: U64
    word_count: U32
    bad: int


class SampleWalker:
    """Decodes samples; keeps the dictionary of stacks from one walk to the next."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._walker = Walker([layout])
        self._spare = np.empty(LONGEST_RECORD, np.uint8)
        self._scratch = Scratch(COLUMNS, Columns())

    @property
    def stack_count(self) -> int:
        return self._walker.stack_count

    def forget_stacks(self) -> None:
        """Start a new dictionary: stack ids count from 0 again."""
        self._walker.forget_stacks()

    def walk(self, rings: Rings) -> SampleWalk:
        count, table, heads = len(rings.places), ctypes.addressof(rings.table), rings.heads
        bounds, counts = Counts(), Counts()
        library().xh_rings_count(table, count, heads.ctypes.data, ctypes.addressof(bounds))
        self._scratch.make_room("samples", bounds.samples)
        self._scratch.make_room("words", bounds.words)
        library().xh_rings_walk(
            table, count, heads.ctypes.data, ctypes.addressof(self._layout), self._walker.stacks,
            ctypes.addressof(self._scratch.pointers), ctypes.addressof(counts),
            rings.lost.ctypes.data, self._spare.ctypes.data,
        )  # fmt: skip
        n, columns = counts.samples, self._scratch.columns
        return SampleWalk(
            samples=SampleColumns(*(columns[name][:n] for name in SampleColumns.__struct_fields__)),
            words=columns["words"][: counts.words],
            word_count=columns["word_count"][: counts.new_stacks],
            bad=int(counts.bad),
        )


_TOLD: Spec = (
    ("comm_time", "comms", np.int64),
    ("comm_pid", "comms", np.int32),
    ("comm_tid", "comms", np.int32),
    ("comm_exec", "comms", np.bool_),
    ("comm_name", "names", np.uint8),
    ("fork_time", "forks", np.int64),
    ("fork_pid", "forks", np.int32),
    ("fork_parent_pid", "forks", np.int32),
    ("fork_tid", "forks", np.int32),
    ("fork_parent_tid", "forks", np.int32),
    ("exit_time", "exits", np.int64),
    ("exit_pid", "exits", np.int32),
    ("exit_parent_pid", "exits", np.int32),
    ("exit_tid", "exits", np.int32),
    ("exit_parent_tid", "exits", np.int32),
    ("map_time", "maps", np.int64),
    ("map_pid", "maps", np.int32),
    ("map_start", "maps", np.uint64),
    ("map_length", "maps", np.uint64),
    ("map_offset", "maps", np.uint64),
    ("map_hash", "maps", np.uint64),
    ("rest", "rest", np.uint8),
)
"""In the order of xh_told in rings.c."""


class _ToldColumns(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name, _, _ in _TOLD]


class _ToldCounts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("comms", "forks", "exits", "maps", "rest")]


class Told(Struct, frozen=True):
    """Good until the next walk of the same walker."""

    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings
    rest: U8
    """All other records but losses, and the first mapping of each file not told of before."""


class _Processes(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
        ("mask", ctypes.c_uint64),
    ]


def needed_mappings(
    mappings: Mappings, forks: Forks, exits: Forks, sampled: I32, until_ns: int
) -> Mappings:
    """All but those of processes that came and went, before `until_ns`, without a sample.

    Where 2,000 programs a second start, most of what the kernel tells is where their files were
    mapped. That serves to name the functions of samples; `sampled` are the processes of all that
    were taken until then. A child that began as a copy of its parent needs its parent's.
    """
    slots = 1 << (2 * len(forks.pid) + 1).bit_length()
    pids, states = np.empty(slots, np.int32), np.zeros(slots, np.uint8)
    rows = np.empty(len(mappings.pid), np.int64)
    sampled = np.ascontiguousarray(sampled)
    columns = _ToldColumns(
        fork_pid=forks.pid.ctypes.data,
        fork_parent_pid=forks.parent_pid.ctypes.data,
        fork_tid=forks.tid.ctypes.data,
        exit_time=exits.time.ctypes.data,
        exit_pid=exits.pid.ctypes.data,
        exit_tid=exits.tid.ctypes.data,
        map_pid=mappings.pid.ctypes.data,
    )
    counts = _ToldCounts(forks=len(forks.pid), exits=len(exits.pid), maps=len(mappings.pid))
    processes = _Processes(pids.ctypes.data, states.ctypes.data, slots - 1)
    kept = library().xh_needed_maps(
        ctypes.addressof(columns), ctypes.addressof(counts), until_ns, sampled.ctypes.data,
        len(sampled), ctypes.addressof(processes), rows.ctypes.data,
    )  # fmt: skip
    return Mappings(*(getattr(mappings, name)[rows[:kept]] for name in mappings.__struct_fields__))


class SideBandWalker:
    """Decodes what the kernel tells about processes; remembers which files it told of."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known = Walker([layout])  # for its dictionary: a hash is a stack of one word
        self._spare = np.empty(LONGEST_RECORD, np.uint8)
        self._scratch = Scratch(_TOLD, _ToldColumns())

    def forget_files(self) -> None:
        self._known.forget_stacks()

    def walk(self, rings: Rings) -> Told:
        count, table, heads = len(rings.places), ctypes.addressof(rings.table), rings.heads
        bounds, n = _ToldCounts(), _ToldCounts()
        library().xh_told_count(table, count, heads.ctypes.data, ctypes.addressof(bounds))
        for size in ("comms", "forks", "exits", "maps", "rest"):
            self._scratch.make_room(size, getattr(bounds, size))
        self._scratch.make_room("names", COMM_BYTES * bounds.comms)
        library().xh_told_walk(
            table, count, heads.ctypes.data, ctypes.addressof(self._layout), self._known.stacks,
            ctypes.addressof(self._scratch.pointers), ctypes.addressof(n),
            rings.lost.ctypes.data, self._spare.ctypes.data,
        )  # fmt: skip
        return Told(
            Comms(
                time=self._part("comm_time", n.comms),
                pid=self._part("comm_pid", n.comms),
                tid=self._part("comm_tid", n.comms),
                comm=self._part("comm_name", COMM_BYTES * n.comms).reshape(-1, COMM_BYTES),
                is_exec=self._part("comm_exec", n.comms),
            ),
            self._forks("fork", n.forks),
            self._forks("exit", n.exits),
            Mappings(
                time=self._part("map_time", n.maps),
                pid=self._part("map_pid", n.maps),
                start=self._part("map_start", n.maps),
                length=self._part("map_length", n.maps),
                file_offset=self._part("map_offset", n.maps),
                file_hash=self._part("map_hash", n.maps),
            ),
            self._part("rest", n.rest),
        )

    def _forks(self, kind: str, rows: int) -> Forks:
        names = ("time", "pid", "parent_pid", "tid", "parent_tid")
        return Forks(*(self._part(f"{kind}_{name}", rows) for name in names))

    def _part(self, name: str, rows: int) -> NDArray[Any]:
        return self._scratch.columns[name][:rows]
