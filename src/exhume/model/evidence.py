"""What `exhume events`, `series`, `fields` and `irqs` answer.

NaN (null in JSON) means not recorded, never zero.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.model.answers import EventAnswer
from exhume.model.arrays import F64, I64
from exhume.model.fields import EventKind, Field
from exhume.model.window import Window


class EventTally(Struct, frozen=True):
    """Events of one kind and name that are counted and not listed."""

    kind: str
    name: str
    count: int


class EventGroup(Struct, frozen=True):
    """Events that say the same of the same thing, as one line."""

    first_wall_ns: int
    last_wall_ns: int
    kind: str
    subject: str
    text: str
    """Of the first of them."""
    signature: str
    """Which known log line it is; empty where it is none."""
    core: int | None
    """None where they differ."""
    pid: int | None
    count: int
    fields: dict[str, str | int | float]
    """Of the first of them."""


class EventsAnswer(Struct, frozen=True):
    """`exhume events`: what happened in a window, in order of time."""

    window: Window
    events: tuple[EventAnswer, ...]
    counted: tuple[EventTally, ...]
    """Kinds that come by the thousand (exec, exit), by name, unless they were asked for."""
    notes: tuple[str, ...] = ()
    """What weakens the answer: damaged stretches."""


class InstanceSeries(Struct, frozen=True):
    """One instance of a field over the window."""

    instance: str
    readings: int
    """How many there are: readings of a gauge, intervals between two readings of a counter."""
    resets: int
    """How often a counter fell and started anew."""
    least: float
    mean: float
    """Weighted by time."""
    most: float
    last: float
    wall_ns: I64
    """Of each reading; of a counter's rate, where its interval ends."""
    values: F64


class SeriesReport(Struct, frozen=True):
    """`exhume series`: a field of the catalogue; counters as their rate, unless raw."""

    window: Window
    field: Field
    is_rate: bool
    unit: str
    """Of the values: `interrupts per second` where they are rates."""
    series: tuple[InstanceSeries, ...]
    """The most active first."""
    left_out: int
    """Instances that are not listed."""
    notes: tuple[str, ...] = ()


class Catalogue(Struct, frozen=True):
    """`exhume fields`: everything that can be recorded."""

    fields: tuple[Field, ...]
    events: tuple[EventKind, ...]


class IrqLine(Struct, frozen=True):
    """One line of /proc/interrupts over the window."""

    irq: str
    """Its number, or the name of a line that is no device's: `LOC`."""
    name: str
    """What its driver called it."""
    device: str
    """What it serves, read from the name: an interface, `virtio2`, `nvme0`; empty if unknown."""
    queue: int | None
    direction: str
    """`tx`, `rx`, `tx+rx`, `io`, `management`; empty where the name tells no queue."""
    core: int | None
    """Where it goes to; None where it goes to several, or that was not recorded."""
    per_second: float
    most_per_second: float
    """In one interval between two readings."""


class NetCore(Struct, frozen=True):
    """What one core did for the network, and how busy it was. Percentages are of that core."""

    core: int
    mean_percent_of_core: float
    worst_percent_of_core: float
    """Its busiest second."""
    worst_mode: str
    """What that second was spent on."""
    device_interrupts_per_second: float
    net_rx_per_second: float
    """Receive softirqs run."""
    packets_per_second: float
    squeezed: int | None
    """Times in the window that the receive softirq ran out of budget with work left."""
    dropped: int | None
    """Packets in the window that found the backlog full."""
    queues: int
    """Queues of network devices whose interrupt goes here."""


class NetThread(Struct, frozen=True):
    """A kernel thread that serves the network: ksoftirqd, NAPI, threaded interrupts."""

    name: str
    core: int | None
    """Which core it belongs to, where its name tells."""
    run_ns: int | None
    wait_ns: int | None
    """Ready and not run, in the whole window; None where not recorded."""
    worst_wait_ns: int | None
    """The most that was added by one reading; it is added when the thread gets its core."""
    worst_wait_wall_ns: int | None


class Crowd(Struct, frozen=True):
    """A network device whose queues meet on one core."""

    device: str
    core: int
    queues: int
    """How many of its queues go there."""
    of_queues: int
    percent_of_its_interrupts: float


class IrqsAnswer(Struct, frozen=True):
    """`exhume irqs`: which queue interrupts which core, and what else that core had to do."""

    window: Window
    lines: tuple[IrqLine, ...]
    """The most frequent first; lines that never fired are left out."""
    silent_lines: int
    cores: tuple[NetCore, ...]
    threads: tuple[NetThread, ...]
    """Those that waited most first."""
    crowded: tuple[Crowd, ...]
    notes: tuple[str, ...] = ()
