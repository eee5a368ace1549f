"""perf.data → pieces: everything named, in the file's own clock. A large one is read in shares."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from exhume.ingest import made_code, mixed_events
from exhume.ingest.collect import NO_SAMPLES, NONE_LEFT, TOO_MANY, Seen, dropped, named_ratio
from exhume.ingest.context import Context
from exhume.ingest.deferred_stacks import Joined
from exhume.ingest.dumped_stacks import Unwound
from exhume.ingest.overlaps import is_whole
from exhume.ingest.perf_share import PerfShare, Taken
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece, Sampled
from exhume.ingest.room import FORKS, Memory, NoRoomError, Room
from exhume.ingest.rows import ROWS_SUFFIX
from exhume.ingest.streams import Progress, Source
from exhume.ingest.together import together
from exhume.ingest.wanted_events import instead, none_such
from exhume.ingest.watched_cores import watched_cores
from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.perf.datafile import PerfData, Share
from exhume.store.allocator import give_back

SHARE_BYTES = 16 << 20
"""A share is at least as large: for less it does not pay to start a process."""
_COPIES = (
    "stacks of programs were recorded in another way (--call-graph dwarf), which perf alone reads: "
    "of a program only the innermost function is shown; text of `perf script` has them all"
)
_KEPT_CALLS = (
    "stacks of programs are the calls that the processor kept (--call-graph lbr), 32 at most: of "
    "deeper ones the outermost functions are missing"
)
_HOUR_NS = 3600 * 1_000_000_000


def read(source: Source, context: Context) -> Iterator[Piece]:
    pieces = _pieces(source, context, context.event)
    facts, sampled = pieces[-1].facts, pieces[-1].sampled
    intervals = sampled.intervals if sampled else ()
    seen = facts.samples - sum(facts.other_events.values()) if intervals else 0
    event = instead(intervals[0].event if intervals else "", seen, facts.other_events)
    if event and not context.event:
        del pieces, sampled
        _clear(context)
        pieces = _pieces(source, context, event)
    yield from pieces


def _pieces(source: Source, context: Context, event: str) -> list[Piece]:
    """By as many processes at once as there is memory for."""
    assembler = PerfAssembler(source, context, event)
    while True:
        try:
            return assembler.run()
        except NoRoomError:
            if assembler.of == 1:
                raise  # it is for the others that there is no room
            fewer = replace(context, jobs=assembler.of // 2, room=assembler.room)
            assembler.room.leave()
        del assembler  # with all that it holds
        _clear(context)
        give_back()
        assembler = PerfAssembler(source, fewer, event)


def _clear(context: Context) -> None:
    for left in context.folder.glob(f"*{ROWS_SUFFIX}"):
        left.unlink()


class PerfAssembler:
    def __init__(self, source: Source, context: Context, event: str) -> None:
        self._source = source
        self._context = context
        self._asked = event
        self.of = 1
        """Processes that read it."""
        self._watched = _Watched(context.progress)
        opener = partial(source.open, self._watched.alone)
        self._data = PerfData(opener, str(source.path), context.beside)
        if not source.compression:
            size = min(self._data.data_bytes or 0, source.path.stat().st_size)
            self.of = max(1, min(context.jobs, FORKS, size // SHARE_BYTES))
        self._watched.share_out(self.of)
        self.room = context.room or Room(Memory.of(context.places.host), processes=self.of)
        self._shares = [
            PerfShare(
                self._data,
                source,
                replace(context, progress=self._watched.by(number)) if self.of > 1 else context,
                event,
                Share(number, self.of),
                self.room,
            )
            for number in range(self.of)
        ]
        self._last = self._shares[-1]

    def run(self) -> list[Piece]:
        """One for each share. What is not of samples is in the last one only."""
        taken = together([partial(self._take, share) for share in self._shares])
        self.room.leave()  # those that took the others are gone
        self._watched.tell()
        if not self._last.wanted().names:
            raise none_such(str(self._source.path), self._asked, self._last.measures())
        if error := mixed_events.refused(str(self._source.path), self._data.events):
            raise error
        seen = Seen()
        for one in taken:
            seen.join(one.seen)
        *others, last = [self._piece(one, seen) for one in taken]
        sampled = None if last.sampled is None else replace(last.sampled, sketch=seen.fingerprint)
        events, facts = self._events_near(seen), self._facts(taken, seen, last.facts.named_ratio)
        return [*others, replace(last, sampled=sampled, events=events, facts=facts)]

    def _take(self, share: PerfShare) -> Taken:
        if self.of == 1:
            return share.take()
        with self.room.watched(share.fork):
            return share.take()

    def _piece(self, taken: Taken, seen: Seen) -> Piece:
        """The samples of one share; `seen` by all."""
        features = self._data.features
        is_own = self._data.clock_id is not None or seen.without_time
        measure, rate_hz = self._last.measure(), self._last.rate_hz()
        command = " ".join(features.command)
        cores = watched_cores(
            seen.cores, command, features.numbered_cores,
            is_whole=is_whole(command, seen.idle, taken.threads.tid),
        )  # fmt: skip
        return Piece(
            hints=Hints(
                features.hostname,
                features.release,
                features.architecture,
                features.cores,
                command,
                self._last.boot,
            ),
            clock=ClockKind.OWN if is_own else ClockKind.KERNEL_LOG,
            claim=self._context.clock.of_perf_data(
                self._source.path, self._data, seen.first_ns, seen.last_ns
            ),
            sampled=Sampled(
                taken.rows, taken.tree, taken.threads, seen.intervals(measure, rate_hz, cores)
            ),
            facts=Facts(named_ratio=named_ratio(taken.tree)),
        )

    def _events_near(self, seen: Seen) -> tuple[Event, ...]:
        """What happened while it was recorded, or not long before or after.

        Births and deaths have times even where samples have none: those are on another clock.
        """
        if seen.first_ns is None or seen.last_ns is None or seen.without_time:
            return ()
        near = range(max(0, seen.first_ns - _HOUR_NS), seen.last_ns + _HOUR_NS)
        found = [event for event in self._last.events if event.time_ns in near]
        return tuple(sorted(found, key=lambda event: event.time_ns))

    def _facts(self, taken: Sequence[Taken], seen: Seen, named: float) -> Facts:
        counts: Counter[int] = Counter()
        for one in taken:
            counts.update(one.counts)
        wanted = self._last.is_wanted()
        others: Counter[str] = Counter()
        for number, count in counts.items():
            if not wanted[number]:
                others[self._data.events[number].name] += count
        problems = [*self._data.problems, *seen.problems()]
        if bad := sum(one.bad for one in taken):
            problems.append(f"{bad} samples are damaged: their lengths do not add up")
        if not counts and not bad:
            problems.append(NONE_LEFT if self._data.is_cut else NO_SAMPLES)
        if lost := self._last.lost.at_least:
            problems.append(dropped(lost))
        notes = [self._last.kernel_note] if self._last.kernel_note else []
        if counts and (note := mixed_events.note(self._data.events)):
            notes.append(note)
        if note := made_code.note(
            sum(one.in_made_code for one in taken), sum(len(one.rows) for one in taken)
        ):
            notes.append(note)
        notes += [TOO_MANY] if any(one.has_too_many for one in taken) else []
        notes += sorted({doubt for one in taken for doubt in one.doubts})
        if note := sum((one.unwound for one in taken), Unwound()).note():
            notes.append(note)
        elif counts and self._data.has_copies:
            notes.append(_COPIES)
        if counts and self._data.has_kept_calls:
            notes.append(_KEPT_CALLS)
        if note := sum((one.joined for one in taken), Joined()).note():
            notes.append(note)
        notes += seen.notes(self._last.measure(), self._last.rate_hz())
        return Facts(
            samples=sum(counts.values()),
            idle=seen.idle,
            other_events=dict(others),
            cores=tuple(sorted(seen.cores)),
            named_ratio=named,
            notes=tuple(notes),
            problems=tuple(problems),
        )


class _Watched:
    """How far all shares have come, which the last one tells."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done: I64 = np.zeros(1, np.int64)
        """By share: memory that forked processes have in common."""
        self._told = 0

    def share_out(self, of: int) -> None:
        self._done = np.frombuffer(mmap.mmap(-1, 8 * of), np.int64)

    def alone(self, count: int) -> None:
        """Of a share what it passes over does not count as read: it tells itself what does."""
        if len(self._done) == 1:
            self._progress(count)

    def by(self, number: int) -> Progress:
        def note(count: int) -> None:
            self._done[number] += count
            if number == len(self._done) - 1:
                self.tell()

        return note

    def tell(self) -> None:
        done = int(self._done.sum())
        self._progress(done - self._told)
        self._told = done
