"""What processes and frames took in the hour before: the measure for what they take now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.model.answers import Filter
from exhume.model.arrays import I64, Bool
from exhume.model.stack import Frame
from exhume.model.window import Window
from exhume.store.queries.select import named
from exhume.store.recording import Recording
from exhume.store.rollups import MINUTE_NS, SECOND_NS, weights_ns
from exhume.store.view import SegmentView

HOUR_NS = 3600 * SECOND_NS
MIN_SECONDS = 60.0
"""With less recorded than this there is nothing to compare with."""


class Baseline(Struct):
    """Means over the recorded seconds of the hour before a window, on the whole node.

    A core filter does not narrow it: threads wander, and what a process takes on core 39 now is to
    be measured against what it took anywhere before.
    """

    seconds: float = 0.0
    frame_seconds: float = 0.0
    process_us: dict[tuple[str, int, str], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    name_us: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    name_seconds: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Seconds in which a process of that name ran, each of them counted."""
    name_moments: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Seconds in which any did."""
    frame_ms: dict[Frame, float] = field(default_factory=lambda: defaultdict(float))
    processes_apply: bool = True
    frames_apply: bool = True

    def process(self, boot_id: str, pid: int, tid: int | None, comm: str) -> float | None:
        """Percent of one core. None for a thread: roll-ups know processes only.

        A pid that was not there before is measured by its name: what one process of that name took
        on average, so a daemon that was restarted inherits its own past.
        """
        if tid is not None or not self.processes_apply or self.seconds < MIN_SECONDS:
            return None
        if (took := self.process_us.get((boot_id, pid, comm))) is not None:
            return took / 1e4 / self.seconds
        at_once = self.name_seconds.get(comm, 0) / max(1, self.name_moments.get(comm, 0))
        return self.name_us.get(comm, 0.0) / max(1.0, at_once) / 1e4 / self.seconds

    def frame(self, frame: Frame) -> float | None:
        """Percent of one core, inclusive."""
        if not self.frames_apply or self.frame_seconds < MIN_SECONDS:
            return None
        return self.frame_ms.get(frame, 0.0) / 10 / self.frame_seconds


def hour_before(
    recording: Recording, window: Window, wanted: Filter, frames: Collection[Frame]
) -> Baseline | None:
    """Of all processes and of these frames. None where less than a minute was recorded."""
    before = Window(window.start_ns - HOUR_NS, window.start_ns)
    baseline = Baseline()
    # Roll-ups hold neither modes nor frames by thread: no baseline then, rather than a wrong one.
    baseline.processes_apply = not wanted.modes
    baseline.frames_apply = replace(wanted, cores=(), comms=()) == Filter()
    for view in recording.views(before):
        with recording.sparing(view):
            _add_processes(baseline, view, before)
        if baseline.frames_apply:
            with recording.sparing(view):
                _add_frames(baseline, view, before, wanted.comms, set(frames))
    enough = max(baseline.seconds, baseline.frame_seconds) >= MIN_SECONDS
    return baseline if enough else None


def _whole(view: SegmentView, before: Window, step_ns: int) -> tuple[Bool, I64]:
    """Which seconds or minutes of the view lie wholly before the window, and how long they are."""
    edges = np.arange(view.start_ns, view.end_ns, step_ns, dtype=np.int64)
    ends = np.minimum(edges + step_ns, view.end_ns)
    wall = view.clock.to_wall(edges)
    sampled = weights_ns(view.stretches, edges) > 0
    inside = (wall >= before.start_ns) & (wall + (ends - edges) <= before.end_ns)
    return inside & sampled, ends - edges


def _add_processes(baseline: Baseline, view: SegmentView, before: Window) -> None:
    inside, length = _whole(view, before, SECOND_NS)
    if not inside.any():
        return
    rows, threads = view.process_seconds(), view.threads()
    keep = inside[np.minimum(rows.second, len(inside) - 1)]
    second, process = rows.second[keep], rows.process[keep]
    count = len(threads.processes)
    took = np.bincount(process, rows.weight_us[keep], count)
    # Which process, and which name, ran in which second: how many of a name run at once.
    ran = np.zeros((count, len(inside)), np.bool_)
    ran[process, second] = True
    lived = ran.sum(axis=1)
    names = [threads.threads.comm[row] for row in threads.processes.first_thread]
    number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    name_of = np.array([number[name] for name in names], np.int64)
    any_ran = np.zeros((len(number), len(inside)), np.bool_)
    any_ran[name_of[process], second] = True
    for name, many in zip(number, any_ran.sum(axis=1), strict=True):
        baseline.name_moments[name] += int(many)
    for index in np.flatnonzero(took):
        row = int(threads.processes.first_thread[index])
        key = view.origin.boot_id, int(threads.threads.pid[row]), names[index]
        baseline.process_us[key] += float(took[index])
        baseline.name_us[names[index]] += float(took[index])
        baseline.name_seconds[names[index]] += int(lived[index])
    baseline.seconds += float(length[inside].sum()) / 1e9


def _add_frames(
    baseline: Baseline,
    view: SegmentView,
    before: Window,
    comms: tuple[str, ...],
    asked: set[Frame],
) -> None:
    inside, length = _whole(view, before, MINUTE_NS)
    if not inside.any():
        return
    rows, frames = view.frame_minutes(), view.tree().tree.frames
    keep = inside[np.minimum(rows.minute, len(inside) - 1)]
    if comms:
        # The roll-up tells threads apart by their own names alone.
        threads = view.threads().threads
        chosen = named(threads, comms)
        mine = {threads.comm[row] for row in np.flatnonzero(chosen)}
        if mine & {threads.comm[row] for row in np.flatnonzero(~chosen)}:
            baseline.frames_apply = False
            return
        keep &= np.array([frame.name in mine for frame in frames], np.bool_)[rows.process]
    took = np.bincount(rows.frame[keep], rows.inclusive_ms[keep], len(frames))
    names = {frame.name for frame in asked}  # hashing a name is quicker than hashing a frame
    for index, frame in enumerate(frames):
        if frame.name in names and frame in asked and took[index]:
            baseline.frame_ms[frame] += float(took[index])
    baseline.frame_seconds += float(length[inside].sum()) / 1e9
