"""perf.data → a piece: everything named, in the file's own clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from exhume.ingest.capture_names import CaptureNames
from exhume.ingest.collect import NO_TIMES, Collector, named_ratio
from exhume.ingest.context import Context
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece
from exhume.ingest.rows import cores_of
from exhume.ingest.streams import Source
from exhume.model.arrays import I64, U32, Bool
from exhume.model.event import Event
from exhume.model.stack import StackTree
from exhume.perf import eventnames
from exhume.perf.datachunk import Chunk, decode
from exhume.perf.datadir import MAIN, parts_of, side_by_side
from exhume.perf.datafile import PerfData
from exhume.perf.dataorder import Epoch, in_order
from exhume.perf.distinct import distinct_rows
from exhume.perf.naming import RawSamples
from exhume.perf.native import Walked

_DUMMY = "dummy"
_HOUR_NS = 3600 * 1_000_000_000
_REAPED = -1
"""The only process id below 0 that the kernel gives: a task that is gone already."""


def read(source: Source, context: Context) -> Iterator[Piece]:
    assembler = PerfAssembler(source, context, context.event)
    piece = assembler.run()
    others = piece.facts.other_events
    if not assembler.seen and others and not context.event:
        # The event that measures time best was never hit: take the one that was.
        assembler = PerfAssembler(source, context, max(others, key=others.__getitem__))
        piece = assembler.run()
    yield piece


class PerfAssembler:
    def __init__(self, source: Source, context: Context, event: str) -> None:
        self._source = source
        self._context = context
        self._data = PerfData(lambda: source.open(context.progress), str(source.path))
        self._wanted = event
        self._collected = Collector(context.folder)
        self._names = CaptureNames(context.places, self._data.features)
        self._events: list[Event] = []
        self._counts: Counter[int] = Counter()
        self._lost: Counter[int] = Counter()
        self._bad = 0

    @property
    def seen(self) -> bool:
        """Was there any sample of the event?"""
        return self._collected.first_ns is not None

    def run(self) -> Piece:
        try:
            for epoch in in_order(self._chunks()):
                self._events += self._names.learn(epoch)
                self._add(epoch)
                self._names.forget(epoch)
        finally:
            self._collected.close()
        return self._finish()

    def _chunks(self) -> Iterator[Chunk]:
        parts: list[Source] = []
        if self._data.is_in_parts and self._source.path.name == MAIN:
            parts = [Source.of(path) for path in parts_of(self._source.path)]
        if self._data.features.is_directory and not parts:
            self._data.problems.append("of a folder of `perf record --threads`, data.0 is missing")
        if not parts:
            yield from self._decoded(self._data.walks())
            return
        streams = [self._decoded(self._data.walks())]
        for part in parts:
            opener = partial(part.open, self._context.progress)
            streams.append(self._decoded(self._data.part_walks(opener, len(parts))))
        yield from side_by_side(streams)

    def _decoded(self, walks: Iterator[Walked]) -> Iterator[Chunk]:
        for walked in walks:
            chunk = decode(walked, self._data.tells_exec)
            self._names.note(chunk)
            self._bad += chunk.bad
            self._lost.update(chunk.lost)
            seen = np.bincount(chunk.samples.event)
            self._counts.update({int(n): int(seen[n]) for n in np.flatnonzero(seen)})
            yield chunk

    def _add(self, epoch: Epoch) -> None:
        samples, collected = epoch.samples, self._collected
        wanted = self._is_wanted()[samples.event]
        time, core = samples.time.astype(np.int64), cores_of(samples.cpu)
        time = collected.times(time, wanted & (time == 0), self._attr_rate())
        wanted = collected.possible(time, wanted)
        collected.saw(time[wanted], core[wanted], samples.tid[wanted], self._attr_rate())
        is_idle = self._names.is_idle(samples.ip, samples.pid) & wanted
        collected.idle += int(is_idle.sum())
        rows = np.flatnonzero(wanted & ~is_idle)
        first, which = _distinct(epoch, rows, time)
        raw = RawSamples(
            time=time[first],
            core=core[first],
            pid=np.maximum(samples.pid[first], _REAPED),
            tid=np.maximum(samples.tid[first], _REAPED),
            stack=epoch.stack[first],
            cgroup=self._names.cgroups(samples.cgroup[first].astype(np.int64)),
            words=epoch.words,
            word_start=epoch.word_start,
            word_count=epoch.word_count,
        )
        threads, nodes = self._names.name(raw)
        collected.keep(time[rows], core[rows], threads[which], nodes[which])

    def _is_wanted(self) -> Bool:
        """Of each event, whether its samples are kept: of several only what measures time."""
        chosen = self._chosen()
        plain = [eventnames.plain(event.name) for event in self._data.events]
        return np.array([not chosen or name == chosen for name in plain], np.bool_)

    def _chosen(self) -> str:
        if self._wanted:
            return eventnames.plain(self._wanted)
        names = [event.name for event in self._data.events]
        real = [name for name in names if eventnames.plain(name) != _DUMMY] or names
        return eventnames.plain(min(real, key=eventnames.preference)) if real else ""

    def _attr_rate(self) -> float | None:
        for event in self._data.events:
            if eventnames.plain(event.name) == self._chosen():
                return eventnames.attr_rate(event.name, event.attr)
        return None

    def _finish(self) -> Piece:
        tree, renumbered, threads = self._names.finish()
        features, collected = self._data.features, self._collected
        is_own = self._data.clock_id is not None or collected.without_time
        return Piece(
            hints=Hints(
                features.hostname,
                features.release,
                features.architecture,
                features.cores,
                " ".join(features.command),
            ),
            clock=ClockKind.OWN if is_own else ClockKind.KERNEL_LOG,
            claim=self._context.clock.of_perf_data(
                self._source.path, self._data, collected.first_ns, collected.last_ns
            ),
            sampled=collected.sampled(tree, renumbered, threads, self._chosen(), self._attr_rate()),
            events=self._events_near(),
            facts=self._facts(tree),
        )

    def _events_near(self) -> tuple[Event, ...]:
        """What happened while it was recorded, or not long before or after."""
        first, last = self._collected.first_ns, self._collected.last_ns
        if first is None or last is None:
            return ()
        near = range(max(0, first - _HOUR_NS), last + _HOUR_NS)
        found = [event for event in self._events if event.time_ns in near]
        return tuple(sorted(found, key=lambda event: event.time_ns))

    def _facts(self, tree: StackTree) -> Facts:
        names = [event.name for event in self._data.events]
        wanted = self._is_wanted()
        others: Counter[str] = Counter()
        for number, count in self._counts.items():
            if not wanted[number]:
                others[names[number]] += count
        problems = [*self._data.problems, *self._collected.problems()]
        if self._bad:
            problems.append(f"{self._bad} samples are damaged: their lengths do not add up")
        if lost := sum(self._lost.values()):
            problems.append(f"the kernel dropped {lost} records while it was recorded")
        notes = [self._names.kernel.how] if self._names.kernel.how else []
        if self._collected.without_time:
            notes.append(NO_TIMES)
        return Facts(
            samples=sum(self._counts.values()),
            idle=self._collected.idle,
            other_events=dict(others),
            cores=self._collected.cores,
            named_ratio=named_ratio(tree),
            notes=tuple(notes),
            problems=tuple(problems),
        )


def _distinct(epoch: Epoch, rows: I64, time: I64) -> tuple[I64, U32]:
    """One sample of each kind, and of which kind each is.

    Two of a thread with one stack are alike, unless something was said of it or of its process in
    between: a process that starts threads all the time is told of all the time.
    """
    samples = epoch.samples
    tid, pid = samples.tid[rows], samples.pid[rows]
    columns = [pid.astype(np.int64) << 32 | tid.view(np.uint32), epoch.stack[rows]]
    cgroup = samples.cgroup[rows].astype(np.int64)
    if cgroup.any():
        columns.append(cgroup)
    told = np.isin(tid, np.concatenate([epoch.comms.tid, epoch.forks.tid]))
    told |= np.isin(pid, np.concatenate([epoch.comms.pid, epoch.forks.pid]))
    if told.any():
        said = np.sort(np.concatenate([epoch.comms.time, epoch.forks.time]))
        at = time[rows[told]]
        between = np.full(len(rows), -1, np.int64)
        between[told] = np.searchsorted(said, at, "left")
        between[told] += np.searchsorted(said, at, "right")  # at the very time: apart from both
        columns.append(between)
    first, which = distinct_rows(*columns)
    return rows[first], which
