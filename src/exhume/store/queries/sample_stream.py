"""Every sample of a window in order of time, a minute after the other, whatever its segments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exhume.model.answers import Filter
from exhume.model.arrays import I32, Bool
from exhume.model.profile import ProfiledThread, SampleBatch, Tables
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window
from exhume.store.belonging import Owners
from exhume.store.queries.select import EVERYTHING, Chosen, chosen
from exhume.store.recording import Recording
from exhume.store.rollups import MINUTE_NS
from exhume.store.view import SegmentView, stretch_at

_NONE = -1


class SampleStream:
    """To be gone through once; `tables` then has all that the batches named.

    A minute is held at a time: of 96 busy cores that is half a million samples, however long the
    window is.
    """

    def __init__(
        self,
        recording: Recording,
        window: Window,
        filter: Filter = EVERYTHING,  # noqa: A002
        step_ns: int = MINUTE_NS,
    ) -> None:
        self._recording = recording
        self._window = window
        self._filter = filter
        self._step_ns = step_ns
        self._nodes = _Nodes()
        self._threads: dict[ProfiledThread, int] = {}
        self._first: dict[tuple[str, int], int] = {}
        self._leaders: list[int] = []
        self._maps: dict[str, _ViewMaps] = {}
        self._origins: dict[tuple[str, str], None] = {}
        self._events: dict[str, None] = {}
        self._is_of_time = True

    def __iter__(self) -> Iterator[SampleBatch]:
        """No batch is empty."""
        views = self._recording.views(self._window)
        start_ns = self._window.start_ns
        while start_ns < self._window.end_ns:
            piece = Window(start_ns, min(start_ns + self._step_ns, self._window.end_ns))
            here = [view for view in views if view.window.overlaps(piece)]
            parts: list[SampleBatch] = []
            for view in here:
                with self._recording.sparing(view):
                    parts.extend(self._batches(view, piece))
            if parts:
                yield _in_order(parts)
            for view in here:
                if view.window.end_ns <= piece.end_ns:
                    self._maps.pop(view.name, None)
            start_ns = piece.end_ns
            if not here:
                later = [v.window.start_ns for v in views if v.window.start_ns >= start_ns]
                start_ns = min(later, default=self._window.end_ns)

    def tables(self) -> Tables:
        nodes = dict.fromkeys(node for node, _ in self._origins)
        kernels = dict.fromkeys(kernel for _, kernel in self._origins)
        return Tables(
            window=self._window,
            node=", ".join(nodes),
            kernel=", ".join(kernels),
            event=next(iter(self._events), ""),
            tree=self._nodes.tree(),
            threads=tuple(self._threads),
            is_of_time=self._is_of_time,
        )

    def leaders(self) -> I32:
        """For each thread so far the first that was seen of its process."""
        return np.array(self._leaders, np.int32)

    def _batches(self, view: SegmentView, piece: Window) -> list[SampleBatch]:
        found = []
        for part in chosen(view, piece, self._filter):
            if len(part):
                if view.name not in self._maps:
                    self._maps[view.name] = _ViewMaps(view)
                    self._origins[view.origin.node, view.origin.kernel] = None
                self._events[stretch_at(view.stretches, part.run.start_ns).event] = None
                self._is_of_time &= part.run.is_of_time
                found.append(self._batch(view, part, self._maps[view.name]))
        return found

    def _batch(self, view: SegmentView, part: Chosen, maps: _ViewMaps) -> SampleBatch:
        stack, thread = part.stack(), part.thread()
        self._nodes.add(view, maps, np.unique(stack))
        for row in np.unique(thread).tolist():
            if maps.thread[row] == _NONE:
                maps.thread[row] = self._thread_number(maps.thread_of(view, row))
        return SampleBatch(
            wall_ns=view.clock.to_wall(part.time_ns()),
            core=part.core(),
            thread=maps.thread[thread],
            stack=maps.node[stack],
            weight_ns=np.full(len(stack), part.run.weight_ns, np.int64),
        )

    def _thread_number(self, thread: ProfiledThread) -> int:
        number = self._threads.setdefault(thread, len(self._threads))
        if number == len(self._leaders):
            self._leaders.append(self._first.setdefault((thread.boot_id, thread.pid), number))
        return number


def _in_order(parts: list[SampleBatch]) -> SampleBatch:
    wall_ns = np.concatenate([part.wall_ns for part in parts])
    # Stable: samples of one instant keep the order of their cores.
    order = np.argsort(wall_ns, kind="stable")
    return SampleBatch(
        wall_ns=wall_ns[order],
        core=np.concatenate([part.core for part in parts])[order],
        thread=np.concatenate([part.thread for part in parts])[order],
        stack=np.concatenate([part.stack for part in parts])[order],
        weight_ns=np.concatenate([part.weight_ns for part in parts])[order],
    )


class _ViewMaps:
    """A view's own numbers of nodes, frames and threads → the common ones; -1 not seen yet."""

    def __init__(self, view: SegmentView) -> None:
        tree = view.tree().tree
        self.node: I32 = np.full(len(tree.parent), _NONE, np.int32)
        self.node[0] = 0
        self.is_end: Bool = np.zeros(len(tree.parent), np.bool_)
        self.frame: I32 = np.full(len(tree.frames), _NONE, np.int32)
        self.thread: I32 = np.full(len(view.threads().threads), _NONE, np.int32)
        self._owners = Owners(view)

    def thread_of(self, view: SegmentView, row: int) -> ProfiledThread:
        threads = view.threads().threads
        owner = self._owners.of(threads.cgroup[row])
        return ProfiledThread(
            pid=int(threads.pid[row]),
            tid=int(threads.tid[row]),
            comm=threads.comm[row],
            cgroup=threads.cgroup[row],
            unit=owner.unit,
            container=owner.container,
            pod=owner.pod,
            boot_id=view.origin.boot_id,
        )


class _Nodes:
    """The common tree in the making: only stacks that a sample has, with what leads to them."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}
        self._frames: dict[Frame, int] = {Frame("", "", FrameKind.UNKNOWN): 0}
        self._parent, self._frame, self._mode = [_NONE], [0], [0]

    def add(self, view: SegmentView, maps: _ViewMaps, used: I32) -> None:
        tree = view.tree().tree
        for wanted in used[maps.node[used] == _NONE].tolist():
            path = []
            node = wanted
            while maps.node[node] == _NONE:
                path.append(node)
                node = int(tree.parent[node])
            for node in reversed(path):
                above = int(maps.node[tree.parent[node]])
                frame = self._frame_number(tree, maps, int(tree.frame[node]))
                maps.node[node] = self._number(above, frame)
        # The mode is of samples that end at a node; one that others only pass through has none.
        for end in used[~maps.is_end[used]].tolist():
            self._mode[maps.node[end]] = int(tree.mode[end])
        maps.is_end[used] = True

    def _frame_number(self, tree: StackTree, maps: _ViewMaps, frame: int) -> int:
        if maps.frame[frame] == _NONE:
            maps.frame[frame] = self._frames.setdefault(tree.frames[frame], len(self._frames))
        return int(maps.frame[frame])

    def _number(self, parent: int, frame: int) -> int:
        number = self._known.setdefault((parent, frame), len(self._parent))
        if number == len(self._parent):
            self._parent.append(parent)
            self._frame.append(frame)
            self._mode.append(0)
        return number

    def tree(self) -> StackTree:
        return StackTree(
            parent=np.array(self._parent, np.int32),
            frame=np.array(self._frame, np.int32),
            mode=np.array(self._mode, np.uint8),
            frames=tuple(self._frames),
        )
