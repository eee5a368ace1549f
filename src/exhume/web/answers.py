"""What only the page asks for: compact forms of the store's answers, made to be drawn."""

from __future__ import annotations

from msgspec import Struct

from exhume.derive.event_marks import EventMark
from exhume.model.arrays import F32, F64, I32, I64, U8
from exhume.model.evidence import EventGroup, EventTally
from exhume.model.fields import Field
from exhume.model.window import Window


class RecordedStretch(Struct, frozen=True):
    window: Window
    state: str
    """`head` (still being written), `segment`, `minutes` (only roll-ups are left) or `damaged`."""
    pinned: bool
    problem: str


class RecordingInfo(Struct, frozen=True):
    """What there is to look at."""

    version: str
    node: str
    kernel: str
    window: Window
    measured: Window
    """What to show first: of imported files where something was counted or sampled, while a log
    among them may reach back for weeks."""
    now_wall_ns: int
    """By the server's clock."""
    is_live: bool
    """A recorder writes to it right now."""
    cores: tuple[int, ...]
    modes: tuple[str, ...]
    """What `worst_mode` of the core map counts in."""
    stretches: tuple[RecordedStretch, ...]
    gaps: tuple[Window, ...]
    """Where nothing was recorded between the first instant and the last."""
    samples: int
    export_formats: tuple[str, ...]
    report_formats: tuple[str, ...]
    """Of a case."""


class CoreCells(Struct, frozen=True):
    """Core × time, packed: one byte a cell."""

    window: Window
    column_seconds: float
    mode: str
    """`busy`: all modes together; otherwise only this one."""
    source: str
    """`counters`: the worst second of a cell; `samples` where columns are narrower than that, or
    no times of cores were recorded."""
    columns: int
    cores: tuple[int, ...]
    worst: str
    """Base64 of bytes, row by row of a core: steps of half a percent, 255 for not recorded."""
    worst_mode: str
    """Base64 of bytes: index into the recording's `modes`; 255 for none."""
    node_mean_percent_of_machine: F32
    """Shape (columns,): the average that lies."""
    node_worst_percent_of_core: F32
    """Shape (columns,): the worst core in this mode, in its worst second."""
    node_worst_core: I32
    """Shape (columns,): which one that is; -1 where not recorded."""


class Marks(Struct, frozen=True):
    window: Window
    marks: tuple[EventMark, ...]


class EventGroups(Struct, frozen=True):
    """Events of a window, like ones as one."""

    window: Window
    groups: tuple[EventGroup, ...]
    severities: tuple[int, ...]
    """Of each group: 0 of no account by itself, up to 3, harm to somebody."""
    counted: tuple[EventTally, ...]
    """Kinds that come by the thousand (exec, exit), by name."""
    left_out: int
    """Groups that are not listed."""
    notes: tuple[str, ...]


class GaugeLine(Struct, frozen=True):
    instance: str
    most: float
    last: float
    values: F64
    """Shape (columns,): the highest of each column."""


class Gauge(Struct, frozen=True):
    """One field over the axis; counters as their rate."""

    window: Window
    column_seconds: float
    field: Field
    unit: str
    lines: tuple[GaugeLine, ...]
    """The highest first."""
    left_out: int
    """Instances that are not listed."""


class FieldEntry(Struct, frozen=True):
    field: Field
    is_recorded: bool


class FieldEntries(Struct, frozen=True):
    fields: tuple[FieldEntry, ...]


class SubSecondCells(Struct, frozen=True):
    """FlameScope's heat map, packed: a column is a second, a row a slice of it."""

    window: Window
    start_ns: int
    """Of the first column; whole seconds."""
    rows: int
    columns: int
    most: int
    """Samples in the fullest cell."""
    counts: str
    """Base64 of 16-bit little-endian numbers, row by row: samples in each cell."""


class FlameColumns(Struct, frozen=True):
    """A call tree as columns, breadth first: parent[i] < i, node 0 is everything."""

    window: Window
    seconds_recorded: float
    """How much of the window has samples behind it."""
    samples: int
    counted: tuple[str, ...]
    """Events of the window that are no measure of time on a core (faults, switches): then samples
    are only counted."""
    names: tuple[str, ...]
    modules: tuple[str, ...]
    """Of each distinct frame."""
    paints: tuple[str, ...]
    """What `paint` counts in."""
    parent: I32
    frame: I32
    """Index into `names` and `modules`."""
    paint: U8
    total_ns: I64
    self_ns: I64
    pruned_ns: int
    """Core time in branches too thin to keep; it still counts in what calls them."""


class FlameDiff(Struct, frozen=True):
    """Two call trees as one. Times of the baseline are scaled to as long as the selection was."""

    tree: FlameColumns
    base_window: Window
    base_seconds_recorded: float
    base_samples: int
    base_total_ns: I64
    base_self_ns: I64
