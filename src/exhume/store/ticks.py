"""What a frame of the head log holds: the recorder encodes it, the assembler decodes it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct, field, to_builtins

from exhume.model.arrays import I32, I64, U16, U32, U64
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.perf.asof import Statement
from exhume.perf.records import COMM_BYTES, Comms, Forks, KernelSymbol, Mappings
from exhume.store.columns import Array, Columns

RowLayout = tuple[tuple[str, tuple[str, ...]], ...]
"""Fields, and the instances of each."""
NODE = ("",)
"""The instances of a field that has one value for the whole node."""
NODE_FIELDS = "node"
TIME_UNIT_NS = 10_000
"""Times within a frame are 32-bit, in these units from the frame's start."""


class FileEntry(Struct, frozen=True):
    """A file whose code was mapped."""

    hash: int
    key: str
    """Names its symbol table; empty for code without a file."""
    path: str


class TickSamples(Struct, frozen=True):
    time: I64
    core: U16
    pid: I32
    tid: I32
    stack: U32
    """Id within the epoch."""
    cgroup: U64
    """Kernel's cgroup id; 0 where not known."""


class Tick(Struct, frozen=True):
    """One second of a recording."""

    start_ns: int
    end_ns: int
    epoch: int
    """Stack ids count from 0 in each epoch."""
    samples: TickSamples
    stack_base: int
    """Id of the first of the stacks below."""
    words: U64
    word_count: U32
    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings
    files: Sequence[FileEntry] = ()
    cgroup_names: Mapping[int, str] = field(default_factory=dict)
    """Kernel's cgroup id → path."""
    pid_cgroups: Mapping[int, str] = field(default_factory=dict)
    """Process → path of its cgroup, where it became known in this second."""
    kernel_symbols: Sequence[KernelSymbol] = ()
    readings: Sequence[Reading] = ()
    events: Sequence[Event] = ()


class State(Struct, frozen=True):
    """What a scan of /proc found: the threads and mappings that were there before we looked."""

    comms: Comms
    parent_pid: Statement
    mappings: Mappings
    files: Sequence[FileEntry]
    pid_cgroups: Mapping[int, str]


_SAMPLE = (("core", "<u2"), ("pid", "<i4"), ("tid", "<i4"), ("stack", "<u4"), ("cgroup", "<u8"))
_COMM = (("pid", "<i4"), ("tid", "<i4"), ("is_exec", "|b1"))
_FORK = (("pid", "<i4"), ("parent_pid", "<i4"), ("tid", "<i4"), ("parent_tid", "<i4"))
_MAPPING = (
    ("pid", "<i4"),
    ("start", "<u8"),
    ("length", "<u8"),
    ("file_offset", "<u8"),
    ("file_hash", "<u8"),
)


def _put(
    arrays: dict[str, Array],
    prefix: str,
    rows: Any,
    names: tuple[tuple[str, str], ...],
    start_ns: int,
) -> None:
    if not len(rows.time):
        return
    arrays[f"{prefix}.time"] = ((rows.time - start_ns) // TIME_UNIT_NS).astype("<i4")
    for name, dtype in names:
        arrays[f"{prefix}.{name}"] = getattr(rows, name).astype(dtype, copy=False)


def _take(
    columns: Columns, prefix: str, names: tuple[tuple[str, str], ...], start_ns: int
) -> list[Array]:
    time = columns.get(f"{prefix}.time", "<i4").astype(np.int64) * TIME_UNIT_NS + start_ns
    return [time, *(columns.get(f"{prefix}.{name}", dtype) for name, dtype in names)]


def _put_comms(arrays: dict[str, Array], comms: Comms, start_ns: int) -> None:
    _put(arrays, "comm", comms, _COMM, start_ns)
    if len(comms.time):
        arrays["comm.name"] = comms.comm


def _take_comms(columns: Columns, start_ns: int) -> Comms:
    time, pid, tid, is_exec = _take(columns, "comm", _COMM, start_ns)
    name = columns.get("comm.name", "|u1").reshape(-1, COMM_BYTES)
    return Comms(time, pid, tid, name, is_exec.astype(np.bool_))


def encode_tick(tick: Tick, known_instances: dict[str, tuple[str, ...]]) -> Columns:
    """`known_instances` remembers each field's instances: they are written once an epoch."""
    arrays: dict[str, Array] = {}
    _put(arrays, "sample", tick.samples, _SAMPLE, tick.start_ns)
    if len(tick.word_count):
        arrays["stack.words"] = tick.words
        arrays["stack.count"] = tick.word_count
    _put_comms(arrays, tick.comms, tick.start_ns)
    _put(arrays, "fork", tick.forks, _FORK, tick.start_ns)
    _put(arrays, "exit", tick.exits, _FORK, tick.start_ns)
    _put(arrays, "map", tick.mappings, _MAPPING, tick.start_ns)
    instances: dict[str, tuple[str, ...]] = {}
    node_crc = 0
    # Most fields have one value for the whole node: those share one array.
    node = [reading for reading in tick.readings if reading.instances == NODE]
    if node:
        arrays["node"] = np.concatenate([reading.values for reading in node]).astype(
            "<i8", copy=False
        )
        fields = tuple(reading.field for reading in node)
        if known_instances.get(NODE_FIELDS) != fields:
            known_instances[NODE_FIELDS] = instances[NODE_FIELDS] = fields
        node_crc = _crc(fields)
    for reading in tick.readings:
        if reading.instances == NODE:
            continue
        arrays[f"read.{reading.field}"] = reading.values.astype("<i8", copy=False)
        if known_instances.get(reading.field) != reading.instances:
            known_instances[reading.field] = instances[reading.field] = reading.instances
    values: dict[str, Any] = {"epoch": tick.epoch, "stack_base": tick.stack_base, "node": node_crc}
    if tick.files:
        values["files"] = [[file.hash, file.key, file.path] for file in tick.files]
    if tick.cgroup_names:
        values["cgroups"] = list(tick.cgroup_names.items())
    if tick.pid_cgroups:
        values["pid_cgroups"] = list(tick.pid_cgroups.items())
    if tick.kernel_symbols:
        values["kernel_symbols"] = [to_builtins(symbol) for symbol in tick.kernel_symbols]
    if instances:
        values["instances"] = instances
    if tick.events:
        values["events"] = [to_builtins(event) for event in tick.events]
    return Columns(arrays, values)


@lru_cache(maxsize=64)
def _crc(fields: tuple[str, ...]) -> int:
    return zlib.crc32("\n".join(fields).encode())


def decode_row(
    columns: Columns, known_instances: dict[str, tuple[str, ...]]
) -> tuple[RowLayout, I64]:
    """All readings of a second one after the other, and what they are of."""
    values = columns.values
    for name, instances in values.get("instances", {}).items():
        known_instances[name] = tuple(instances)
    layout: RowLayout = ()
    node = columns.get("node", "<i8")
    fields = known_instances.get(NODE_FIELDS, ())
    # Where the frame that named them was damaged, the numbers cannot be told apart.
    if len(fields) == len(node) and _crc(fields) == values.get("node"):
        layout = _of_node(fields)
    else:
        node = node[:0]
    present, row = columns.run_of("read.", "<i8")
    known_all = all(
        name in known_instances and len(known_instances[name]) == count for name, count in present
    )
    if known_all:
        own = tuple((name, known_instances[name]) for name, _ in present)
        return layout + own, np.concatenate([node, row])
    parts, own, at = [node], (), 0
    for name, count in present:
        known = known_instances.get(name)
        if known is not None and len(known) == count:
            own += ((name, known),)
            parts.append(row[at : at + count])
        at += count
    return layout + own, np.concatenate(parts)


@lru_cache(maxsize=64)
def _of_node(fields: tuple[str, ...]) -> RowLayout:
    return tuple((one, NODE) for one in fields)


def readings_of(layout: RowLayout, row: I64) -> list[Reading]:
    found, at = [], 0
    for field_id, instances in layout:
        found.append(Reading(field_id, instances, row[at : at + len(instances)]))
        at += len(instances)
    return found


def decode_tick(
    columns: Columns,
    start_ns: int,
    end_ns: int,
    known_instances: dict[str, tuple[str, ...]] | None,
) -> Tick:
    """Without its readings where the instances are not given: `decode_row` has them in bulk."""
    values = columns.values
    readings = []
    if known_instances is not None:
        readings = readings_of(*decode_row(columns, known_instances))
    return Tick(
        start_ns=start_ns,
        end_ns=end_ns,
        epoch=int(values["epoch"]),
        samples=TickSamples(*_take(columns, "sample", _SAMPLE, start_ns)),
        stack_base=int(values["stack_base"]),
        words=columns.get("stack.words", "<u8"),
        word_count=columns.get("stack.count", "<u4"),
        comms=_take_comms(columns, start_ns),
        forks=Forks(*_take(columns, "fork", _FORK, start_ns)),
        exits=Forks(*_take(columns, "exit", _FORK, start_ns)),
        mappings=Mappings(*_take(columns, "map", _MAPPING, start_ns)),
        files=[FileEntry(*entry) for entry in values.get("files", ())],
        cgroup_names=dict(values.get("cgroups", ())),
        pid_cgroups=dict(values.get("pid_cgroups", ())),
        kernel_symbols=[KernelSymbol(**symbol) for symbol in values.get("kernel_symbols", ())],
        readings=readings,
        events=[Event(**event) for event in values.get("events", ())],
    )


def encode_state(state: State, start_ns: int) -> Columns:
    arrays: dict[str, Array] = {}
    _put_comms(arrays, state.comms, start_ns)
    _put(arrays, "map", state.mappings, _MAPPING, start_ns)
    arrays["parent.time"] = ((state.parent_pid.time - start_ns) // TIME_UNIT_NS).astype("<i4")
    arrays["parent.pid"] = state.parent_pid.key.astype("<i4")
    arrays["parent.parent_pid"] = state.parent_pid.value.astype("<i4")
    values = {
        "files": [[file.hash, file.key, file.path] for file in state.files],
        "pid_cgroups": list(state.pid_cgroups.items()),
    }
    return Columns(arrays, values)


def decode_state(columns: Columns, start_ns: int) -> State:
    time, pid, parent = _take(columns, "parent", (("pid", "<i4"), ("parent_pid", "<i4")), start_ns)
    return State(
        comms=_take_comms(columns, start_ns),
        parent_pid=Statement(time, pid.astype(np.int64), parent.astype(np.int64)),
        mappings=Mappings(*_take(columns, "map", _MAPPING, start_ns)),
        files=[FileEntry(*entry) for entry in columns.values.get("files", ())],
        pid_cgroups=dict(columns.values.get("pid_cgroups", ())),
    )
