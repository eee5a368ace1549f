"""A share of a perf.data → its samples, named. The whole of it, or what one of several reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest.boot_marks import Marks
from exhume.ingest.capture_names import CaptureNames
from exhume.ingest.collect import Collector, Seen
from exhume.ingest.context import Context
from exhume.ingest.deferred_stacks import Joined
from exhume.ingest.dumped_stacks import Unwound
from exhume.ingest.made_code import ends_in_made_code
from exhume.ingest.resting import Resting
from exhume.ingest.room import Room
from exhume.ingest.row_table import RowTable
from exhume.ingest.rows import cores_of
from exhume.ingest.stray_times import stray
from exhume.ingest.streams import Source
from exhume.ingest.wanted_events import Wanted, choose
from exhume.model.arrays import Bool
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf import eventnames
from exhume.perf.attr import SampleType
from exhume.perf.bounds import MOST_BIRTHS
from exhume.perf.datachunk import Chunk, decode
from exhume.perf.datadir import MAIN, parts_of, side_by_side
from exhume.perf.datafile import PerfData, Share
from exhume.perf.dataorder import Epoch, in_order, pick
from exhume.perf.naming import RawSamples
from exhume.perf.native import Walked
from exhume.perf.records import Lost

_REAPED = -1
"""The only process id below 0 that the kernel gives: a task that is gone already."""


class Taken(Struct, frozen=True):
    """What a share has of samples."""

    rows: RowTable
    tree: StackTree
    threads: Threads
    seen: Seen
    counts: Counter[int]
    """Samples by event, kept or not."""
    bad: int
    """Samples whose lengths did not add up."""
    unwound: Unwound
    joined: Joined
    doubts: tuple[str, ...]
    """About its names."""
    in_made_code: int
    """Samples in code of a JIT that nothing names."""
    has_too_many: bool
    """Not all of its names and stacks are told apart."""


class PerfShare:
    def __init__(
        self, data: PerfData, source: Source, context: Context, event: str, share: Share,
        room: Room,
    ) -> None:  # fmt: skip
        self._data = data
        self._source = source
        self._context = context
        self._asked = event
        self._share = share
        self._room = room
        prefix = f"share-{share.number}-" if share.of > 1 else ""
        self._collected = Collector(context.folder, prefix)
        places = context.places.near(source.path)
        self._names = CaptureNames(places, data.features, source.path.stat().st_mtime_ns, share.of)
        self._resting = Resting()
        self._counts: Counter[int] = Counter()
        self._bad = 0
        # All is told to the last share: the others needn't go to the end.
        self.events: list[Event] = []
        self._has_more_events = False
        self.lost = Lost()

    @property
    def fork(self) -> int | None:
        """The last share is read by whoever forked for the others."""
        return None if self._share.is_last else self._share.number

    @property
    def kernel_note(self) -> str:
        """Where the kernel's names come from."""
        return self._names.kernel.how

    @property
    def boot(self) -> Marks:
        return self._names.boot

    def take(self) -> Taken:
        try:
            for epoch in in_order(self._chunks()):
                self._names.learn(epoch)
                if self._share.is_last:
                    self._note_events(self._names.events(epoch))
                if len(epoch.samples):
                    self._add(epoch)
                self._names.forget(epoch)
        finally:
            self._collected.close()
        tree, renumbered, threads = self._names.finish()
        rows = self._collected.rows(renumbered)
        return Taken(
            rows, tree, threads, self._collected.seen, self._counts, self._bad,
            self._names.dumped.done, self._names.deferred.done, self._names.doubts,
            ends_in_made_code(rows, tree), self._names.has_too_many or self._has_more_events,
        )  # fmt: skip

    def _note_events(self, events: list[Event]) -> None:
        room = MOST_BIRTHS - len(self.events)
        self._has_more_events |= len(events) > room
        self.events += events[:room]

    def _chunks(self) -> Iterator[Chunk]:
        parts: list[Source] = []
        if self._data.is_in_parts and self._source.path.name == MAIN:
            parts = [Source.of(path) for path in parts_of(self._source.path)]
        if self._data.features.is_directory and not parts:
            self._data.problems.append("of a folder of `perf record --threads`, data.0 is missing")
        if not parts:
            yield from self._decoded(self._data.walks(self._share))
            return
        streams = [self._decoded(self._data.walks())]
        for part in parts:
            opener = partial(part.open, self._context.progress)
            streams.append(self._decoded(self._data.part_walks(opener, len(parts))))
        yield from side_by_side(streams)

    def _decoded(self, walks: Iterator[Walked]) -> Iterator[Chunk]:
        for walked in walks:
            self._room.check(self.fork)
            chunk = decode(walked, self._data.tells_exec, self._names.is_known_file)
            self._names.note(chunk)
            self._bad += chunk.bad
            self.lost += chunk.lost
            seen = np.bincount(chunk.samples.event)
            self._counts.update({int(n): int(seen[n]) for n in np.flatnonzero(seen)})
            if self._share.of > 1 and len(chunk.samples):
                self._context.progress(walked.consumed)
            yield self._without_stray(chunk)

    def _without_stray(self, chunk: Chunk) -> Chunk:
        """Each core's buffer is in order of time; of one that is overwritten any may be old."""
        if self._data.is_overwritten or not len(chunk.samples):
            return chunk
        has_time = self._has_time()
        # Mostly all have: then nothing is copied.
        rows: Bool | slice = slice(None)
        if not has_time.all():
            rows = has_time.take(chunk.samples.event)
        time = chunk.samples.time.view(np.int64)[rows]
        is_stray = stray(time, chunk.samples.cpu[rows].astype(np.int64))
        if not is_stray.any():
            return chunk
        self._collected.seen.note_stray(time, is_stray)
        kept = np.ones(len(chunk.samples), np.bool_)
        kept[rows] = ~is_stray
        return replace(chunk, samples=pick(chunk.samples, np.flatnonzero(kept)))

    def _add(self, epoch: Epoch) -> None:
        if self._data.has_dumps:
            epoch = self._names.dumped.unwound(epoch)
        if self._data.has_deferred:
            epoch = self._names.deferred.joined(epoch)
        samples, collected = epoch.samples, self._collected
        wanted = self.is_wanted().take(samples.event)
        time, core = samples.time.view(np.int64), cores_of(samples.cpu)
        time = collected.times(time, wanted & (time == 0), self.rate_hz())
        wanted = collected.possible(time, wanted)
        # Mostly all: then nothing is copied.
        rows: Bool | slice = slice(None) if wanted.all() else wanted
        collected.seen.add(
            time[rows],
            core[rows],
            samples.tid[rows],
            samples.period[rows].view(np.int64),
            self.rate_hz(),
        )
        if self._data.is_overwritten:
            collected.seen.note_begins(time[rows], core[rows])
        is_idle = self._names.is_idle(samples.ip, samples.pid) & wanted
        if not self._names.has_kernel_names:
            nameless = np.flatnonzero(wanted & (samples.pid == 0))
            rests = self._resting.of(samples.ip[nameless], core[nameless])
            is_idle[nameless[rests]] = True
            collected.seen.guessed_idle += int(rests.sum())
            collected.seen.nameless_idle += int((~rests).sum())
        collected.seen.idle += int(is_idle.sum())
        busy = np.flatnonzero(wanted & ~is_idle)
        raw = RawSamples(
            time=time.take(busy),
            core=core.take(busy),
            pid=np.maximum(samples.pid.take(busy), _REAPED),
            tid=np.maximum(samples.tid.take(busy), _REAPED),
            stack=epoch.stack.take(busy),
            cgroup=self._names.cgroups(samples.cgroup.take(busy).view(np.int64)),
            words=epoch.words,
            word_start=epoch.word_start,
            word_count=epoch.word_count,
        )
        collected.keep(raw.time, raw.core, *self._names.name(raw))

    def _has_time(self) -> Bool:
        """Of each event, whether its samples say when they were (`-e page-faults/time=0/`)."""
        events = self._data.events
        return np.array([bool(one.attr.sample_type & SampleType.TIME) for one in events], np.bool_)

    def is_wanted(self) -> Bool:
        """Of each event, whether its samples are kept: of several only what measures time."""
        wanted = self.wanted()
        return np.array([event.name in wanted for event in self._data.events], np.bool_)

    def wanted(self) -> Wanted:
        return choose(self.measures(), self._asked)

    def measures(self) -> dict[str, str]:
        """Of each event what it measures. A pipe tells of its events as it goes on."""
        events = self._data.events
        return {event.name: eventnames.measure(event.name, event.attr) for event in events}

    def measure(self) -> str:
        """Of the samples that are kept, also whether they are of one mode alone."""
        wanted = self.wanted()
        watched = [eventnames.modes(e.attr) for e in self._data.events if e.name in wanted]
        return eventnames.in_modes(wanted.measure, watched)

    def rate_hz(self) -> float | None:
        wanted = self.wanted()
        for event in self._data.events:
            if event.name in wanted:
                return eventnames.attr_rate(wanted.measure, event.attr)
        return None
