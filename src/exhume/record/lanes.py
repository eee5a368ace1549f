"""Runs sources so that one that hangs delays no other.

A lane is a thread that works through its sources in order. When it is stuck in one of them, the
rest moves to a new lane, and the stuck source is left alone until its call returns; meanwhile
`exhume status` calls it slow. A thread, because a read that blocks in the kernel releases the GIL.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.status import SourceState

SLACK_NS = 500_000_000
STUCK_NS = 2_000_000_000
"""Where nobody waits: a source that takes longer is in the way of the others."""

Problems = dict[str, SourceState]
"""By the source's name."""


@dataclass(frozen=True, slots=True)
class Collected:
    readings: tuple[Reading, ...] = ()
    events: tuple[Event, ...] = ()
    note: str = ""
    """What weakens it, for `exhume status`; it counts as broken."""


Collect = Callable[[], Collected | None]
"""One reading of a source; None where this machine does not offer it."""


@dataclass(slots=True)
class Source:
    name: str
    every_ns: int
    collect: Collect
    due_ns: int = 0


@dataclass
class _Lane:
    """One thread, and what it brought home since it was last asked."""

    sources: queue.SimpleQueue[Source | None] = field(default_factory=queue.SimpleQueue)
    done: queue.SimpleQueue[tuple[Source, Collected | None, BaseException | None]] = field(
        default_factory=queue.SimpleQueue
    )
    current: Source | None = None
    idle: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="exhume-sources", daemon=True).start()

    def _run(self) -> None:
        while (source := self.sources.get()) is not None:
            self.current = source
            try:
                self.done.put((source, source.collect(), None))
            except Exception as error:  # whatever is wrong with one source, the others go on
                self.done.put((source, None, error))
            self.current = None
            if self.sources.empty():
                self.idle.set()

    def give(self, sources: Sequence[Source]) -> None:
        self.idle.clear()
        for source in sources:
            self.sources.put(source)


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
        if self._given and not self._lane.idle.wait(self._patience):
            self._mind_current(now_ns)
        else:
            self._busy = None
        found = self._take(self._lane)
        for name, lane in list(self._stuck.items()):
            late = self._take(lane)
            if lane.idle.is_set():
                del self._stuck[name]
                lane.sources.put(None)
            found += late
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
        while True:
            try:
                source = lane.sources.get_nowait()
            except queue.Empty:
                break
            if source is not None:
                waiting.append(source)
        if waiting:
            self._lane.give(waiting)
            self._lane.idle.wait(self._patience)

    def _take(self, lane: _Lane) -> list[tuple[str, Collected]]:
        found: list[tuple[str, Collected]] = []
        while True:
            try:
                source, collected, error = lane.done.get_nowait()
            except queue.Empty:
                return found
            self._given.discard(source.name)
            if collected is not None:
                found.append((source.name, collected))
            self.problems[source.name] = _state(source.name, collected, error)


def _state(name: str, collected: Collected | None, error: BaseException | None) -> SourceState:
    if error is not None:
        return SourceState(name, "broken", f"{error}" or type(error).__name__)
    if collected is None:
        return SourceState(name, "absent", "this machine does not offer it")
    return SourceState(name, "broken" if collected.note else "ok", collected.note)
