"""The columns of every file of a segment, and how they are laid out. See docs/format.md."""

from __future__ import annotations

from exhume.model.modes import MAP_MODES
from exhume.store.column_types import ColumnType

SAMPLES = (
    ColumnType("core", "uint16", "dictionary"),
    ColumnType("time", "int32", "delta"),
    ColumnType("thread", "int32", "dictionary"),
    ColumnType("stack", "int32", "split"),
)
STACKS = (
    ColumnType("parent", "int32", "delta"),
    ColumnType("frame", "int32", "split"),
    ColumnType("mode", "uint8", "dictionary"),
    ColumnType("samples", "int32", "split"),
)
FRAMES = (
    ColumnType("name", "string", "text"),
    ColumnType("module", "string", "dictionary"),
    ColumnType("kind", "uint8", "dictionary"),
)
THREADS = (
    ColumnType("pid", "int32", "delta"),
    ColumnType("tid", "int32", "delta"),
    ColumnType("parent_pid", "int32", "delta"),
    ColumnType("comm", "string", "dictionary"),
    ColumnType("cgroup", "string", "dictionary"),
)
COUNTERS = (
    ColumnType("field", "string", "dictionary"),
    ColumnType("instance", "string", "dictionary"),
    ColumnType("time", "int64", "dictionary"),
    ColumnType("value", "int64", "delta", nullable=True),
)
EVENTS = (
    ColumnType("time", "int64", "delta"),
    ColumnType("kind", "string", "dictionary"),
    ColumnType("subject", "string", "dictionary"),
    ColumnType("text", "string", "dictionary"),
    ColumnType("core", "int64", "dictionary", nullable=True),
    ColumnType("pid", "int64", "delta", nullable=True),
    ColumnType("count", "int32", "dictionary"),
    ColumnType("fields", "string", "dictionary"),
)
CORES = (
    ColumnType("core", "uint16", "dictionary"),
    ColumnType("start_ms", "int32", "dictionary"),
    ColumnType("end_ms", "int32", "dictionary"),
    *(ColumnType(mode, "int16", "dictionary") for mode in MAP_MODES),
    ColumnType("gap_ms", "uint16", "dictionary"),
)
PROCESSES = (
    ColumnType("second", "int32", "delta"),
    ColumnType("core", "uint16", "dictionary"),
    ColumnType("process", "int32", "dictionary"),
    ColumnType("user", "uint16", "dictionary"),
    ColumnType("system", "uint16", "dictionary"),
    ColumnType("weight_us", "uint32", "dictionary"),
)
FRAMES_MINUTE = (
    ColumnType("minute", "int32", "dictionary"),
    ColumnType("process", "int32", "dictionary"),
    ColumnType("frame", "int32", "delta"),
    ColumnType("inclusive_ms", "uint32", "split"),
    ColumnType("self_ms", "uint32", "split"),
)
