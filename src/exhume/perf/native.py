"""The C record walker (native.c) behind typed columns."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np

from exhume.errors import EXIT_INTERNAL, ExhumeError
from exhume.model.arrays import I32, U8, U16, U32, U64

ABI = 4
STACK_SLOTS_LOG2 = 12


class Layout(ctypes.Structure):
    """How one event's records are laid out: the parts of its perf_event_attr that decide it."""

    _fields_ = [
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("branch_type", ctypes.c_uint64),
        ("regs_user", ctypes.c_uint64),
        ("regs_intr", ctypes.c_uint64),
        ("sample_id_all", ctypes.c_uint64),
    ]


class _Counts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("samples", "others", "words", "new_stacks", "bad", "consumed")
    ]


_COLUMNS: tuple[tuple[str, str, type[np.generic]], ...] = (
    ("time", "samples", np.uint64),
    ("ip", "samples", np.uint64),
    ("period", "samples", np.uint64),
    ("cgroup", "samples", np.uint64),
    ("pid", "samples", np.int32),
    ("tid", "samples", np.int32),
    ("cpu", "samples", np.uint32),
    ("stack", "samples", np.uint32),
    ("event", "samples", np.uint16),
    ("misc", "samples", np.uint16),
    ("words", "words", np.uint64),
    ("word_count", "samples", np.uint32),
    ("offset", "others", np.uint64),
    ("type", "others", np.uint32),
    ("size", "others", np.uint32),
    ("other_misc", "others", np.uint16),
    ("other_time", "others", np.uint64),
    ("other_pid", "others", np.int32),
    ("other_tid", "others", np.int32),
    ("other_cpu", "others", np.uint32),
    ("file_hash", "others", np.uint64),
)
"""Name, what sizes it, type: in the order of xh_columns in native.c."""


class _Columns(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name, _, _ in _COLUMNS]


@dataclass(frozen=True, slots=True)
class SampleColumns:
    time: U64
    ip: U64
    period: U64
    cgroup: U64
    """Cgroup id, 0 where the kernel does not say."""
    pid: I32
    """-1 occurs: a task that was already reaped."""
    tid: I32
    cpu: U32
    stack: U32
    """Id in the walker's stack dictionary."""
    event: U16
    """Index of the layout."""
    misc: U16

    def __len__(self) -> int:
        return len(self.time)


NO_SAMPLES = SampleColumns(*(np.empty(0, dtype) for name, size, dtype in _COLUMNS[:10]))


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records that are not samples, still in the buffer at `offset`."""

    buffer: U8
    offset: U64
    type: U32
    size: U32
    misc: U16
    time: U64
    """From the sample_id trailer; 0 where there is none."""
    pid: I32
    tid: I32
    cpu: U32
    file_hash: U64
    """Of an MMAP2 record: equal for equal files."""

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class Walked:
    samples: SampleColumns
    records: RecordColumns
    words: U64
    """The stacks first seen in this walk, one after the other, context markers included."""
    word_count: U32
    bad: int
    """Samples whose lengths did not add up; skipped."""
    consumed: int
    """Bytes of whole records; the rest is the start of one that has not fully arrived."""


@cache
def library() -> ctypes.CDLL:
    folder = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_native{suffix}"
        if path.exists():
            library = ctypes.CDLL(str(path))
            if library.xh_abi() == ABI:
                break
    else:
        raise ExhumeError(
            "the native record walker is missing or of another version",
            todo="run `make setup` (it compiles src/exhume/perf/native.c)",
            exit_code=EXIT_INTERNAL,
        )
    pointer, u64, u32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    signatures: Mapping[str, tuple[object, list[object]]] = {
        "xh_stacks_new": (pointer, [u32]),
        "xh_stacks_free": (None, [pointer]),
        "xh_stacks_reset": (None, [pointer]),
        "xh_stacks_count": (u32, [pointer]),
        "xh_count": (None, [pointer, u64, pointer]),
        "xh_span": (u64, [pointer, u64, u64]),
        "xh_distinct": (u32, [pointer, u32, u32, pointer, pointer]),
        "xh_walk": (
            None,
            [pointer, u64, pointer, pointer, pointer, u64, pointer, pointer, pointer],
        ),
        "xh_tree_new": (pointer, []),
        "xh_tree_free": (None, [pointer]),
        "xh_tree_count": (u32, [pointer]),
        "xh_tree_add": (ctypes.c_int, [pointer, pointer, pointer, pointer, pointer, u64, pointer]),
        "xh_tree_children": (ctypes.c_int, [pointer, pointer, pointer, u64, pointer]),
        "xh_tree_copy": (None, [pointer] * 6),
        "xh_ring_read": (u64, [pointer, pointer, u64, pointer, u64]),
        "xh_ring_pending": (u64, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


class Walker:
    """Decodes buffers of records; keeps the dictionary of stacks from one buffer to the next."""

    def __init__(self, layouts: Sequence[Layout], ids: Mapping[int, int] | None = None) -> None:
        """`ids` maps an event's id to the index of its layout, where there are several."""
        self._library = library()
        self._layouts = (Layout * max(1, len(layouts)))(*layouts)
        ordered = sorted((ids or {}).items())
        self._ids = np.array([id_ for id_, _ in ordered], np.uint64)
        self._id_layout = np.array([layout for _, layout in ordered], np.uint16)
        self._stacks = self._library.xh_stacks_new(STACK_SLOTS_LOG2)
        if not self._stacks:
            raise MemoryError("no memory for the stack dictionary")

    def __del__(self) -> None:
        if getattr(self, "_stacks", None):
            self._library.xh_stacks_free(self._stacks)

    @property
    def stack_count(self) -> int:
        return int(self._library.xh_stacks_count(self._stacks))

    def forget_stacks(self) -> None:
        """Start a new dictionary: stack ids count from 0 again."""
        self._library.xh_stacks_reset(self._stacks)

    def walk(self, buffer: U8) -> Walked:
        buffer = np.ascontiguousarray(buffer)
        bounds = _Counts()
        self._library.xh_count(buffer.ctypes.data, len(buffer), ctypes.addressof(bounds))
        arrays = {name: np.empty(getattr(bounds, size), dtype) for name, size, dtype in _COLUMNS}
        pointers = _Columns(*(array.ctypes.data for array in arrays.values()))
        counts = _Counts()
        self._library.xh_walk(
            buffer.ctypes.data, len(buffer), ctypes.addressof(self._layouts),
            self._ids.ctypes.data, self._id_layout.ctypes.data, len(self._ids),
            self._stacks, ctypes.addressof(pointers), ctypes.addressof(counts),
        )  # fmt: skip
        n = counts.samples
        return Walked(
            samples=SampleColumns(*(arrays[name][:n] for name in SampleColumns.__slots__)),
            records=RecordColumns(
                buffer=buffer,
                offset=arrays["offset"],
                type=arrays["type"],
                size=arrays["size"],
                misc=arrays["other_misc"],
                time=arrays["other_time"],
                pid=arrays["other_pid"],
                tid=arrays["other_tid"],
                cpu=arrays["other_cpu"],
                file_hash=arrays["file_hash"],
            ),
            words=arrays["words"][: counts.words],
            word_count=arrays["word_count"][: counts.new_stacks],
            bad=int(counts.bad),
            consumed=int(counts.consumed),
        )


def span(buffer: U8, stops: Iterable[int]) -> int:
    """Bytes of whole records before the first of these types, which are perf's own (64 to 127)."""
    mask = sum(1 << (type_ - 64) for type_ in stops)
    return int(library().xh_span(buffer.ctypes.data, len(buffer), mask))


def ring_read(control: int, data: int, data_bytes: int, out: U8) -> int:
    """Move what waits in a ring at these addresses to the start of `out`; how many bytes."""
    return int(library().xh_ring_read(control, data, data_bytes, out.ctypes.data, len(out)))


def ring_pending(control: int) -> int:
    return int(library().xh_ring_pending(control))
