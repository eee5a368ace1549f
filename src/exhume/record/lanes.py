"""Runs sources so that one that hangs delays no other.

A lane is a thread that works through its sources in order. When it is stuck in one of them, the
rest moves to a new lane, and the stuck source is left alone until its call returns; meanwhile
`exhume status` calls it slow. A thread, because a read that blocks in the kernel releases the GIL.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.status import SourceState

SLACK_NS = 500_000_000
STUCK_NS = 2_000_000_000
"""Where nobody waits: a source that takes longer is in the way of the others."""

Problems = dict[str, SourceState]
"""By the source's name."""


class Collected(Struct, frozen=True):
    readings: tuple[Reading, ...] = ()
    events: tuple[Event, ...] = ()
    note: str = ""
    """What weakens it, for `exhume status`; it counts as broken."""


Collect = Callable[[], Collected | None]
"""One reading of a source; None where this machine does not offer it."""


class Source(Struct):
    name: str
    every_ns: int
    collect: Collect
    due_ns: int = 0


Done = tuple[Source, Collected | None, BaseException | None]


class _Lane(Struct):
    """One thread, and what it brought home since it was last asked."""

    todo: deque[Source] = field(default_factory=deque)
    done: deque[Done] = field(default_factory=deque)
    current: Source | None = None
    is_idle: bool = True
    # Each hand-over is one call in C: an Event takes longer than some sources.
    _wake: queue.SimpleQueue[bool] = field(default_factory=queue.SimpleQueue)
    _finished: queue.SimpleQueue[bool] = field(default_factory=queue.SimpleQueue)

    def start(self) -> None:
        threading.Thread(target=self._run, name="exhume-sources", daemon=True).start()

    def _run(self) -> None:
        while self._wake.get():
            while self.todo:
                try:
                    self.current = source = self.todo.popleft()
                except IndexError:  # taken over by another lane
                    break
                try:
                    self.done.append((source, source.collect(), None))
                except Exception as error:  # whatever is wrong with one source, the others go on
                    self.done.append((source, None, error))
                self.current = None
            self.is_idle = True
            self._finished.put(True)

    def give(self, sources: Sequence[Source]) -> None:
        while not self._finished.empty():
            self._finished.get_nowait()
        self.is_idle = False
        self.todo.extend(sources)
        self._wake.put(True)

    def wait(self, seconds: float) -> bool:
        """Until all is done that was given; False where that takes longer."""
        for _ in range(2 if seconds else 0):  # the first word may be of an earlier time
            if self.is_idle:
                break
            try:
                self._finished.get(timeout=seconds)
            except queue.Empty:
                break
        return self.is_idle

    def end(self) -> None:
        self._wake.put(False)


class Lanes:
    """Sources of one pace. `collect` returns what has come in; it waits at most `patience`."""

    def __init__(self, sources: Sequence[Source], patience_seconds: float) -> None:
        self._sources = sources
        self._patience = patience_seconds
        self._lane = self._new_lane()
        self._stuck: dict[str, _Lane] = {}
        self._given: set[str] = set()
        self._busy: tuple[Source, int] | None = None
        """What the lane is at, and when that was first seen."""
        self.problems: Problems = {}

    @staticmethod
    def _new_lane() -> _Lane:
        lane = _Lane()
        lane.start()
        return lane

    def collect(self, now_ns: int) -> list[tuple[str, Collected]]:
        # Half a second early is due: ticks close to the grid fall now before, now behind it.
        soon = now_ns + SLACK_NS
        due = [s for s in self._sources if s.due_ns <= soon and s.name not in self._given]
        for source in due:
            # On the grid, not after the last one: a late reading does not shift the next.
            source.due_ns = max(now_ns, source.due_ns) + source.every_ns
            source.due_ns -= source.due_ns % source.every_ns
        self._given.update(source.name for source in due)
        if due:
            self._lane.give(due)
        if self._given and not self._lane.wait(self._patience):
            self._mind_current(now_ns)
        else:
            self._busy = None
        found = self._take(self._lane)
        for name, lane in list(self._stuck.items()):
            if lane.is_idle:
                del self._stuck[name]
                lane.end()
            found += self._take(lane)
        return found

    def states(self) -> Problems:
        return {s.name: self.problems.get(s.name, SourceState(s.name, "ok")) for s in self._sources}

    def _mind_current(self, now_ns: int) -> None:
        current = self._lane.current
        if current is None:
            return
        if self._patience:
            self._give_up_on(current, self._patience)
        elif self._busy is None or self._busy[0] is not current:
            self._busy = (current, now_ns)
        elif now_ns - self._busy[1] >= STUCK_NS:
            self._busy = None
            self._give_up_on(current, STUCK_NS / 1e9)

    def _give_up_on(self, stuck: Source, after_seconds: float) -> None:
        lane, self._lane = self._lane, self._new_lane()
        self._stuck[stuck.name] = lane
        text = f"no answer for {after_seconds:g} s or longer"
        self.problems[stuck.name] = SourceState(stuck.name, "slow", text)
        waiting: list[Source] = []
        while lane.todo:
            try:
                waiting.append(lane.todo.popleft())
            except IndexError:  # it goes on, after all
                break
        if waiting:
            self._lane.give(waiting)
            self._lane.wait(self._patience)

    def _take(self, lane: _Lane) -> list[tuple[str, Collected]]:
        found: list[tuple[str, Collected]] = []
        while lane.done:
            source, collected, error = lane.done.popleft()
            self._given.discard(source.name)
            if collected is not None:
                found.append((source.name, collected))
                if not collected.note:
                    self.problems.pop(source.name, None)
                    continue
            self.problems[source.name] = _state(source.name, collected, error)
        return found


def _state(name: str, collected: Collected | None, error: BaseException | None) -> SourceState:
    if error is not None:
        return SourceState(name, "broken", f"{error}" or type(error).__name__)
    if collected is None:
        return SourceState(name, "absent", "this machine does not offer it")
    return SourceState(name, "broken", collected.note)
