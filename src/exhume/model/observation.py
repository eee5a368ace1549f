"""All that a diagnosis sees of a window: values read once, on wall time. Absent stays absent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field

from exhume.model.answers import MAP_MODES, EventAnswer, LateSample, SeriesAnswer
from exhume.model.arrays import F32, I16, I64
from exhume.model.evidence import Crowd, IrqLine
from exhume.model.lifecycles import Boot, Lifecycle, ProcessEvents, ProcessTime
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.occupancy import Hold, Occupancy
from exhume.model.window import Window


class CoreLoad(Struct, frozen=True):
    """What each core did from reading to reading of its times, in permille."""

    cores: tuple[int, ...]
    start_ns: I64
    end_ns: I64
    permille: I16
    """Shape (len(MAP_MODES), intervals, cores); -1 where not known."""

    def within(self, window: Window) -> CoreLoad:
        here = (self.end_ns > window.start_ns) & (self.start_ns < window.end_ns)
        return CoreLoad(self.cores, self.start_ns[here], self.end_ns[here], self.permille[:, here])

    def mode(self, name: str) -> F32:
        """Percent of each core, intervals × cores; NaN where not known."""
        return _percent(self.permille[MAP_MODES.index(name)])

    def busy(self) -> F32:
        """All but idle and waiting for I/O."""
        # Where one mode is not known none is. Twelve hours of 96 cores are 4 million cells.
        return _percent(self.permille[: MAP_MODES.index("iowait")].sum(axis=0, dtype=np.int16))


def _percent(permille: I16) -> F32:
    found = permille * np.float32(0.1)
    found[permille < 0] = np.nan
    return found


class Observation(Struct, frozen=True):
    window: Window
    node: str
    kernel: str
    boots: tuple[Boot, ...]
    recorded_seconds: float
    sampled_seconds: float
    """How much of the window has stack samples that measure time on a core."""
    load: CoreLoad | None
    """None where no times of cores were recorded."""
    series: Mapping[str, tuple[SeriesAnswer, ...]]
    """By field, one for each instance."""
    events: tuple[EventAnswer, ...]
    """All but execs, exits and containers that are merely there."""
    lives: ProcessEvents
    lifecycles: tuple[Lifecycle, ...]
    zombies: ZombiesAnswer | None
    holds: tuple[Hold, ...]
    lines: tuple[IrqLine, ...]
    crowds: tuple[Crowd, ...]
    late: tuple[LateSample, ...] = ()
    unbroken: tuple[tuple[int, Window], ...] = ()
    """Cores, and stretches in which one thread had them without a break: looked for where somebody
    waited so long that it may be no sharing."""
    processes: tuple[ProcessTime, ...] = ()
    """Core time of every process that was sampled."""
    process_cores: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By process name: the cores it was sampled on, most first."""
    seldom_cores: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of names that were met in a few seconds alone: a hint, since they may run elsewhere too."""
    frame_ms: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By process name: functions in its stacks, with the core time in and below each."""
    unnamed_kernel_ratio: float | None = None
    """Of samples in the kernel, those whose function has no name; None where none are of it."""
    notes: tuple[str, ...] = ()
    sampled: tuple[Window, ...] = ()
    """Where the window has stack samples, and with them starts of processes; empty where that is
    not known."""
    timed: tuple[Window, ...] = ()
    """Of these, where samples measure time on a core: switches and faults come when they like."""

    def node_series(self, name: str) -> SeriesAnswer | None:
        return next(iter(self.series.get(name, ())), None)

    def instance(self, name: str, instance: str) -> SeriesAnswer | None:
        return next((one for one in self.series.get(name, ()) if one.instance == instance), None)


class CloseUp(Struct, frozen=True):
    """A symptom's own seconds on its own core."""

    during: Occupancy
