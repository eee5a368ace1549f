"""The samples of a view that take part in an answer: by window, core, thread and mode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from exhume.derive.printable import printable
from exhume.model.answers import Filter
from exhume.model.arrays import I32, I64, U16, Bool
from exhume.model.sample import Threads
from exhume.model.stack import Mode
from exhume.model.window import Window
from exhume.store.belonging import Owners
from exhume.store.view import Rows, Run, SampleColumns, SegmentView, runs

EVERYTHING = Filter()


class Chosen(Struct, frozen=True):
    """Samples of one run: all of the same weight."""

    run: Run
    columns: SampleColumns
    rows: Rows
    keep: Bool | None
    """Which of the rows; None for all."""

    def __len__(self) -> int:
        return len(self.rows) if self.keep is None else int(self.keep.sum())

    def stack(self) -> I32:
        return self._kept(self.columns.stack_of(self.rows))

    def thread(self) -> I32:
        return self._kept(self.columns.thread_of(self.rows))

    def _kept(self, values: I32) -> I32:
        return values if self.keep is None else values[self.keep]

    def core(self) -> U16:
        core = self.rows.core()
        return core if self.keep is None else core[self.keep]

    def time_ns(self) -> I64:
        time = self.columns.time_ns(self.rows)
        return time if self.keep is None else time[self.keep]


def chosen(
    view: SegmentView,
    window: Window,
    wanted: Filter,
    *,
    cut_at_clocks: bool = False,
    of_time: bool = False,
) -> Iterator[Chosen]:
    """Raises DamagedFileError where the samples, or what the filter needs, can't be read.

    `of_time`: only samples that measure time on a core.
    """
    pieces = runs(view, window, cut_at_clocks=cut_at_clocks)
    if of_time:
        pieces = [run for run in pieces if run.is_of_time]
    if not pieces:
        return
    columns = view.samples(wanted.cores)
    threads = thread_mask(view, wanted)
    nodes = node_mask(view, wanted)
    for run in pieces:
        rows = columns.rows(run.start_ns, run.end_ns, wanted.cores)
        keep: Bool | None = None
        if threads is not None:
            keep = threads[columns.thread_of(rows)]
        if nodes is not None:
            in_mode = nodes[columns.stack_of(rows)]
            keep = in_mode if keep is None else keep & in_mode
        yield Chosen(run, columns, rows, keep)


def thread_mask(view: SegmentView, wanted: Filter) -> Bool | None:
    by_owner = wanted.units or wanted.containers or wanted.pods
    if not (wanted.comms or wanted.pids or wanted.tids or wanted.cgroups or by_owner):
        return None
    threads = view.threads().threads
    mask = np.ones(len(threads), np.bool_)
    if wanted.comms:
        mask &= named(threads, wanted.comms)
    if wanted.pids:
        mask &= np.isin(threads.pid, wanted.pids)
    if wanted.tids:
        mask &= np.isin(threads.tid, wanted.tids)
    if wanted.cgroups:
        mask &= _below(threads, wanted.cgroups)
    if by_owner:
        mask &= _owned(view, wanted)
    return mask


def named(threads: Threads, comms: tuple[str, ...]) -> Bool:
    """By a thread's own name, or by its process's: that of its first thread, where it was sampled.
    A process whose threads rename themselves is one all the same, and a name that can't be shown
    as it is can be given as it is shown."""
    own = np.array([comm in comms or printable(comm) in comms for comm in threads.comm], np.bool_)
    is_first: Bool = threads.tid == threads.pid
    of_process: Bool = ~is_first & np.isin(threads.pid, threads.pid[own & is_first])
    return own | of_process


def _owned(view: SegmentView, wanted: Filter) -> Bool:
    """Threads whose cgroup is of one of those units, containers and pods."""
    owners = Owners(view)

    def belongs(cgroup: str) -> bool:
        owner = owners.of(cgroup)
        return (
            (not wanted.units or owner.unit in wanted.units)
            and (not wanted.pods or owner.pod in wanted.pods)
            and (
                not wanted.containers
                or any(owners.is_container(cgroup, one) for one in wanted.containers)
            )
        )

    cgroups = view.threads().threads.cgroup
    answers = {cgroup: belongs(cgroup) for cgroup in set(cgroups)}
    return np.array([answers[cgroup] for cgroup in cgroups], np.bool_)


def _below(threads: Threads, cgroups: tuple[str, ...]) -> Bool:
    roots = tuple(cgroup.rstrip("/") + "/" for cgroup in cgroups)
    return np.array([(cgroup + "/").startswith(roots) for cgroup in threads.cgroup], np.bool_)


def node_mask(view: SegmentView, wanted: Filter) -> Bool | None:
    if not wanted.modes:
        return None
    modes = [mode.value for mode in Mode if mode.name.lower() in wanted.modes]
    return np.isin(view.tree().tree.mode, modes)
