"""Who was on the cores in a window, in which functions, and how that compares with before."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field

from exhume.derive.flame import FrameTable, branches_of, by_frame
from exhume.derive.interrupts_off import interrupts_were_off
from exhume.model.answers import Filter, Top, TopFrame, TopProcess
from exhume.model.arrays import I32, I64
from exhume.model.core import NO_CORE
from exhume.model.ids import told_id
from exhume.model.stack import Frame, FrameKind, Mode
from exhume.model.window import Window
from exhume.store.belonging import NOBODY, Belonging, Owners
from exhume.store.queries.baseline import Baseline, hour_before
from exhume.store.queries.core_times import core_times
from exhume.store.queries.notes import notes
from exhume.store.queries.select import EVERYTHING, Chosen, chosen
from exhume.store.recording import Recording
from exhume.store.view import SegmentView

NAMELESS = {"[unknown]", "[stack lost]"}
Key = tuple[str, int, int | None, str]
"""Boot, pid, tid, name."""


class Work(Struct):
    """What one process or thread did, added up view by view."""

    cgroup: str = ""
    owner: Belonging = NOBODY
    samples: int = 0
    user_ns: int = 0
    system_ns: int = 0
    core_ns: dict[int, int] = field(default_factory=dict)

    @property
    def total_ns(self) -> int:
        return self.user_ns + self.system_ns


class Tally(Struct):
    seconds: float = 0.0
    samples: int = 0
    work: dict[Key, Work] = field(default_factory=dict)
    table: FrameTable = field(default_factory=FrameTable)
    frames: list[tuple[I64, I64]] = field(default_factory=list)
    """Inclusive and own time by number of the table, a pair each view."""

    @property
    def total_ns(self) -> int:
        return sum(work.total_ns for work in self.work.values())


def top(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    limit: int = 20,
    by_thread: bool = False,
) -> Top:
    """At most `limit` processes; of frames the `limit` first inclusively and the `limit` first by
    themselves, as one list with most inclusive time first."""
    tally = Tally()
    for view in recording.views(window):
        with recording.sparing(view):
            parts = list(chosen(view, window, filter))
            _add(tally, view, parts, by_thread)
    frames = _hottest(tally, limit)
    baseline = hour_before(recording, window, filter, [frame for frame, _, _ in frames])
    return Top(
        window=window,
        filter=filter,
        seconds_recorded=tally.seconds,
        samples=tally.samples,
        processes=tuple(_processes(tally, baseline, limit)),
        frames=tuple(_frames(tally, baseline, frames)),
        core_times=core_times(recording, window, filter.cores),
        notes=notes(recording, window, filter.cores, tally.seconds),
    )


def _add(tally: Tally, view: SegmentView, parts: list[Chosen], by_thread: bool) -> None:
    index, threads, owners = view.tree(), view.threads(), Owners(view)
    row_of = np.arange(len(threads.threads)) if by_thread else threads.processes.of_thread
    own: I64 = np.zeros(len(index.tree.parent), np.int64)
    for part in parts:
        stack, weight = part.stack(), part.run.weight_ns
        own += np.bincount(stack, minlength=len(own)) * weight
        _add_work(tally, view, part, row_of[part.thread()], by_thread, owners)
        tally.samples += len(stack)
        if weight:
            tally.seconds += (part.run.end_ns - part.run.start_ns) / 1e9
    branches = branches_of(index.tree, own, index.level_starts, tally.table)
    tally.frames.append(by_frame(branches, len(tally.table)))


def _add_work(
    tally: Tally,
    view: SegmentView,
    part: Chosen,
    rows: I32 | I64,
    by_thread: bool,
    owners: Owners,
) -> None:
    threads, first = view.threads().threads, view.threads().processes.first_thread
    weight = part.run.weight_ns
    system = view.tree().tree.mode[part.stack()] != Mode.USER
    core = part.core().astype(np.int64)
    key = (rows.astype(np.int64) << 17) | (core << 1) | system
    for packed, count in zip(*np.unique(key, return_counts=True), strict=True):
        row = int(packed) >> 17
        thread = row if by_thread else int(first[row])
        tid = int(threads.tid[thread]) if by_thread else None
        name = view.origin.boot_id, int(threads.pid[thread]), tid, threads.comm[thread]
        work = tally.work.setdefault(name, Work())
        if not work.cgroup and threads.cgroup[thread]:
            work.cgroup = threads.cgroup[thread]
            work.owner = owners.of(work.cgroup)
        work.samples += int(count)
        took = int(count) * weight
        if packed & 1:
            work.system_ns += took
        else:
            work.user_ns += took
        on = int(packed) >> 1 & 0xFFFF
        work.core_ns[on] = work.core_ns.get(on, 0) + took


def _processes(tally: Tally, baseline: Baseline | None, limit: int) -> Iterable[TopProcess]:
    all_ns = tally.total_ns
    ranked = sorted(tally.work.items(), key=lambda item: (-item[1].total_ns, item[0][1]))
    for (boot_id, pid, tid, comm), work in ranked[:limit]:
        percent = _percent_of_one_core(work.total_ns, tally)
        before = None if baseline is None else baseline.process(boot_id, pid, tid, comm)
        yield TopProcess(
            comm=comm,
            pid=told_id(pid),
            tid=None if tid is None else told_id(tid),
            cgroup=work.cgroup,
            unit=work.owner.unit,
            container=work.owner.container,
            pod=work.owner.pod,
            cores=tuple(
                sorted(
                    work.core_ns.keys() - {NO_CORE}, key=lambda core: (-work.core_ns[core], core)
                )
            ),
            samples=work.samples,
            percent_of_one_core=percent,
            percent_of_selection=100 * work.total_ns / all_ns if all_ns else 0.0,
            user_percent_of_one_core=_percent_of_one_core(work.user_ns, tally),
            system_percent_of_one_core=_percent_of_one_core(work.system_ns, tally),
            baseline_percent_of_one_core=before,
            times_baseline=percent / before if before else None,
        )


def _hottest(tally: Tally, limit: int) -> list[tuple[Frame, int, int]]:
    """Frames with their inclusive and own time, most inclusive first."""
    inclusive, own = np.zeros((2, len(tally.table)), np.int64)
    for more, alone in tally.frames:
        inclusive[: len(more)] += more
        own[: len(alone)] += alone
    frames = tally.table.frames()
    # Neither a process nor addresses without a name are functions that anybody could look into.
    functions = np.array(
        [f.kind != FrameKind.PROCESS and f.name not in NAMELESS for f in frames], np.bool_
    )
    inclusive[~functions] = own[~functions] = 0
    leading = np.argsort(-inclusive, kind="stable")
    shown = {*leading[:limit].tolist(), *np.argsort(-own, kind="stable")[:limit].tolist()}
    return [
        (frames[number], int(inclusive[number]), int(own[number]))
        for number in leading.tolist()
        if number in shown and inclusive[number]
    ]


def _frames(
    tally: Tally, baseline: Baseline | None, hottest: list[tuple[Frame, int, int]]
) -> Iterable[TopFrame]:
    all_ns = tally.total_ns
    for frame, took, own in hottest:
        percent = _percent_of_one_core(took, tally)
        before = None if baseline is None else baseline.frame(frame)
        yield TopFrame(
            frame=frame,
            inclusive_percent_of_selection=100 * took / all_ns if all_ns else 0.0,
            self_percent_of_selection=100 * own / all_ns if all_ns else 0.0,
            inclusive_percent_of_one_core=percent,
            baseline_percent_of_one_core=before,
            times_baseline=percent / before if before else None,
            interrupts_were_off=own > 0 and interrupts_were_off(frame),
        )


def _percent_of_one_core(weight_ns: int, tally: Tally) -> float:
    return weight_ns / 1e7 / tally.seconds if tally.seconds else 0.0
