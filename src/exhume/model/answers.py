"""What the store answers: the values behind every view, in the terminal, as JSON and on the page.

Every percentage names its denominator. NaN (null in JSON) means not recorded, never zero.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from exhume.model.arrays import F32, I8, I32, I64, U8
from exhume.model.modes import MAP_MODES as MAP_MODES
from exhume.model.stack import Frame
from exhume.model.window import Window


class Filter(Struct, frozen=True):
    """Which samples take part. Empty means all."""

    cores: tuple[int, ...] = ()
    comms: tuple[str, ...] = ()
    """Names of threads; that of a process's first thread stands for all of them."""
    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    cgroups: tuple[str, ...] = ()
    """A cgroup stands for all below it."""
    modes: tuple[str, ...] = ()
    """Names of `model.stack.Mode` in lower case."""
    units: tuple[str, ...] = ()
    """systemd units, by cgroup: `kubelet.service`."""
    containers: tuple[str, ...] = ()
    """By name, or by the first 6 or more digits of the id."""
    pods: tuple[str, ...] = ()
    """namespace/name, or the uid."""


class CoreMap(Struct, frozen=True):
    """Core × time, from the per-core times of /proc/stat or, where there are none, from samples."""

    window: Window
    column_seconds: float
    cores: tuple[int, ...]
    worst_percent_of_core: F32
    """Shape (cores, columns): the busiest second of the cell."""
    worst_mode: I8
    """Shape (cores, columns): index into MAP_MODES of what that second was spent on; -1 unknown."""
    mean_percent_of_core: F32
    """Shape (cores, columns)."""
    mode_percent_of_core: F32
    """Shape (len(MAP_MODES), cores, columns): the worst second of each mode."""
    node_mean_percent_of_machine: F32
    """Shape (columns,): all cores, all seconds of the column: the average that lies."""
    by_samples: bool = False
    """Some of it is counted from samples, which see only what the profiler was told to see."""

    def only(self, cores: Collection[int]) -> CoreMap:
        """The rows of these cores; the node's mean stays the mean of all."""
        rows = [row for row, core in enumerate(self.cores) if core in cores]
        return replace(
            self,
            cores=tuple(self.cores[row] for row in rows),
            worst_percent_of_core=self.worst_percent_of_core[rows],
            worst_mode=self.worst_mode[rows],
            mean_percent_of_core=self.mean_percent_of_core[rows],
            mode_percent_of_core=self.mode_percent_of_core[:, rows],
        )


class SubSecondMap(Struct, frozen=True):
    """FlameScope's heat map: a column is a second, a row a slice of it, a cell counts samples."""

    window: Window
    rows: int
    start_ns: int
    """Wall time of the first column; whole seconds."""
    counts: I32
    """Shape (rows, columns)."""
    core_ns: I64
    """Shape (rows, columns): the core time those samples stand for."""


class FlameTree(Struct, frozen=True):
    """Breadth-first, parent[i] < i, node 0 is the root: everything in the window."""

    window: Window
    parent: I32
    frames: tuple[Frame, ...]
    """The frame of each node."""
    total_ns: I64
    self_ns: I64
    samples: int
    pruned_ns: int
    """Core time in branches too thin to keep; it still counts in its ancestors' total."""


class TopProcess(Struct, frozen=True):
    comm: str
    pid: int | None
    """None where nobody told it: a capture without ids, or a task that was gone already."""
    tid: int | None
    """None where the row stands for all threads of a process, or nobody told it."""
    cgroup: str
    cores: tuple[int, ...]
    """Where it ran, most time first."""
    samples: int
    percent_of_one_core: float
    percent_of_selection: float
    """Of all non-idle core time in the window and filter."""
    user_percent_of_one_core: float
    system_percent_of_one_core: float
    """Kernel, softirq and irq together."""
    baseline_percent_of_one_core: float | None
    """Its own mean over the hour before the window; None where nothing was recorded then."""
    times_baseline: float | None
    unit: str = ""
    """The systemd unit, container and pod that its cgroup says it belongs to; empty where none."""
    container: str = ""
    pod: str = ""


class TopFrame(Struct, frozen=True):
    frame: Frame
    inclusive_percent_of_selection: float
    self_percent_of_selection: float
    inclusive_percent_of_one_core: float
    baseline_percent_of_one_core: float | None
    """Its own inclusive mean over the hour before the window."""
    times_baseline: float | None
    interrupts_were_off: bool
    """As a leaf it only marks where interrupts came back on: the time belongs to its caller."""


class CoreTimes(Struct, frozen=True):
    """One core over the window, by mpstat's arithmetic."""

    core: int
    user_percent: float
    system_percent: float
    irq_percent: float
    softirq_percent: float
    steal_percent: float
    iowait_percent: float
    idle_percent: float
    worst_second_percent: float


class Top(Struct, frozen=True):
    window: Window
    filter: Filter
    seconds_recorded: float
    """How much of the window has samples behind it."""
    samples: int
    processes: tuple[TopProcess, ...]
    frames: tuple[TopFrame, ...]
    core_times: tuple[CoreTimes, ...]
    notes: tuple[str, ...]
    """What weakens the answer: lost samples, gaps, a lowered rate."""


class CoreMoment(Struct, frozen=True):
    """Who was on the core at that instant: the sample nearest to it."""

    core: int
    wall_ns: int
    distance_ns: int
    """How far that sample lies from the instant asked for."""
    comm: str
    pid: int | None
    """None where nobody told it."""
    tid: int | None
    cgroup: str
    stack: tuple[Frame, ...]
    """From the process down to the leaf."""
    mode: str


class ProcessOnCores(Struct, frozen=True):
    """One row of `CoreProcesses`."""

    comm: str
    pid: int | None
    """None where nobody told it."""
    unit: str
    container: str
    pod: str
    total_ns: int
    core_ns: tuple[int, ...]
    """Of each of the answer's cores, in their order."""


class CoreProcesses(Struct, frozen=True):
    """Who took how much of which core, most time first."""

    window: Window
    seconds_recorded: float
    """How much of the window has samples behind it."""
    samples: int
    cores: tuple[int, ...]
    """Those with samples of the selection."""
    processes: tuple[ProcessOnCores, ...]
    others_ns: tuple[int, ...]
    """Of each core, what the processes that are not listed took."""
    others: int
    """How many those are."""


class SampleAnswer(Struct, frozen=True):
    wall_ns: int
    core: int
    comm: str
    pid: int | None
    """None where nobody told it."""
    tid: int | None
    mode: str
    weight_ns: int
    """The core time it stands for."""
    stack: tuple[str, ...]
    """From the process down to the leaf."""


class SamplesAnswer(Struct, frozen=True):
    """Samples as they were taken, the earliest first."""

    window: Window
    total: int
    """How many there are; only some are listed."""
    samples: tuple[SampleAnswer, ...]


class CoreQueues(Struct, frozen=True):
    """Queues of one network device whose interrupts go to one core."""

    core: int
    device: str
    queues: tuple[int, ...]


class CoreNode(Struct, frozen=True):
    core: int
    numa_node: int


class LateSample(Struct, frozen=True):
    """A sample that came late on a core that was not idle: interrupts were off before it."""

    core: int
    wall_ns: int
    """Of the sample, which is when interrupts came back."""
    gap_seconds: float
    """How long the core had gone without one."""
    periods: float
    """The same in sampling periods; 1 is on time."""
    comm: str
    pid: int | None
    """None where nobody told it."""
    tid: int | None
    leaf: Frame
    caller: Frame | None
    """Who called the leaf: a leaf that only switches interrupts on again says nothing itself."""


class SeriesAnswer(Struct, frozen=True):
    """One field over a window, on wall time: raw readings, and the rate where it is a counter."""

    field: str
    instance: str
    wall_ns: I64
    values: I64
    """The readings as the kernel gave them; MISSING of model.series where there was none."""
    segment: U8
    """Changes where a counter may have started anew (a reboot, a gap): never subtract across."""


class EventAnswer(Struct, frozen=True):
    wall_ns: int
    kind: str
    subject: str
    text: str
    core: int | None
    pid: int | None
    count: int
    fields: dict[str, str | int | float]


class Span(Struct, frozen=True):
    """A stretch that can be asked about, or could not be read."""

    window: Window
    state: str
    """`head` (still being written), `segment`, `minutes` (only roll-ups are left) or `damaged`."""
    size_bytes: int
    samples: int
    pinned: bool
    problem: str
    """What is wrong with it, and what it cost; empty when nothing is."""
