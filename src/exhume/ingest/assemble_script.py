"""perf-script text → a piece. Names are in it already; each distinct stack is looked at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec.structs import replace

from exhume.ingest import made_code, script_ids, script_names, script_text
from exhume.ingest.clocks import is_wall_time
from exhume.ingest.collect import NO_SAMPLES, TOO_MANY, Collector, dropped, named_ratio
from exhume.ingest.context import Context
from exhume.ingest.overlaps import is_whole
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece, Sampled
from exhume.ingest.resting import Resting
from exhume.ingest.row_table import RowTable
from exhume.ingest.rows import cores_of
from exhume.ingest.script_ids import NO_IDS, NO_NAMES, NOBODY
from exhume.ingest.script_stacks import ScriptStacks
from exhume.ingest.script_times import IS_PART, ScriptTimes
from exhume.ingest.stray_times import stray
from exhume.ingest.streams import Source, problem_of
from exhume.ingest.wanted_events import NONE, Wanted, choose, instead, none_such
from exhume.ingest.watched_cores import watched_cores
from exhume.model.arrays import I32, I64, U16, U64, Bool
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf import eventnames
from exhume.perf.bounds import MORE_NAMES, MOST_NAMES, MOST_THREADS
from exhume.perf.joins import Rows
from exhume.perf.script import ScriptBlock, ScriptReader
from exhume.perf.script_header import ScriptHeader
from exhume.perf.script_scan import BEYOND, NO_NUMBER, Scanned

_SIDE_BAND = "PERF_RECORD_"
"""Instead of an event, in lines of `--show-task-events` and the like: no samples."""
_METRIC = "metric"
"""So is what `-F +metric` works out: `metric:    0.85  insn per cycle`."""

MORE_HEADERS = (
    "it has {} headers, so it is several captures in one file: all are shown as of the first one's "
    "node and boot; if they are not, import each by itself"
)


def read(source: Source, context: Context) -> Iterator[Piece]:
    assembler = ScriptAssembler(source, context)
    piece = assembler.run()
    if assembler.would_choose_otherwise:
        # Events show only as they come, and one that measures time better came later.
        piece = ScriptAssembler(source, context, assembler.chosen()).run()
    yield piece


class ScriptAssembler:
    def __init__(self, source: Source, context: Context, chosen: Wanted | None = None) -> None:
        """`chosen`: the events to take, where it is known from reading it once."""
        self._source = source
        self._context = context
        self._chosen = chosen
        self._wanted = chosen or NONE
        self._kept: set[str] = set()
        self._of_header: list[str] = []
        self._collected = Collector(context.folder)
        self._stacks = ScriptStacks()
        self._resting = Resting()
        self._times = ScriptTimes()
        self._comms: dict[str, int] = {}
        """Names of threads, numbered."""
        self._no_names: Bool = np.empty(0, np.bool_)
        """Of each, whether it is what perf writes where it knows none."""
        self._comm_numbers: I64 = np.empty(0, np.int64)
        """By the number that the text's reader gives them."""
        self._made_up: I32 = np.empty(0, np.int32)
        """Ids by number of a name, for text that has none."""
        self._events: list[str] = []
        self._counts: Counter[int] = Counter()
        self._threads = Rows(3)
        """pid, tid, and the number of its name."""
        self._has_more_threads = False

    def run(self) -> Piece:
        try:
            with self._source.open(self._context.progress) as stream:
                prefix = script_text.prefix_of(self._source.head())
                reader = ScriptReader(script_text.plain(stream, prefix), str(self._source.path))
                self._of_header = [eventnames.plain(event.name) for event in reader.header.events]
                for block in reader.blocks():
                    self._add(block)
                broken = problem_of(stream)
        finally:
            self._collected.close()
        counts, asked = self._by_name(), self._context.event
        if asked and counts and not self.chosen().names:
            raise none_such(str(self._source.path), asked, counts)
        return self._finish(reader, broken)

    @property
    def would_choose_otherwise(self) -> bool:
        return self._kept != self.chosen().names

    def chosen(self) -> Wanted:
        """Now that all events were seen. Of such as don't measure time: as perf.data, by the
        header; without one the most frequent."""
        counts, header = self._by_name(), self._of_header

        def place(name: str) -> tuple[int, int]:
            plain = eventnames.plain(name)
            return header.index(plain) if plain in header else len(header), -counts[name]

        asked = self._context.event
        found = choose(_measures(sorted(counts, key=place)), asked)
        others = {name: counts[name] for name in counts if name not in found}
        if not asked and (
            event := instead(found.measure, sum(counts[name] for name in found.names), others)
        ):
            return choose(_measures(counts), event)
        return found

    def _by_name(self) -> Counter[str]:
        """Samples by event."""
        counts: Counter[str] = Counter()
        for number, count in self._counts.items():
            if _is_event(self._events[number]):
                counts[self._events[number]] += count
        return counts

    def _add(self, block: ScriptBlock) -> None:
        columns = block.columns
        fresh = [self._comm_number(text) for text in columns.new_comms]
        self._comm_numbers = np.append(self._comm_numbers, np.array(fresh, np.int64))
        self._events += [name.decode("utf-8", "replace") for name in columns.new_events]
        self._counts.update(columns.event.tolist())
        self._stacks.learn(block)
        pid, tid = self._ids(block)
        wanted = self._is_wanted()[columns.event]
        rate = self._period_rate(columns)
        is_missing = wanted & (columns.time == NO_NUMBER)
        is_beyond = columns.time == BEYOND
        self._collected.seen.impossible += int((wanted & is_beyond).sum())
        wanted &= ~is_beyond
        is_sample = np.array([_is_event(name) for name in self._events], np.bool_)[columns.event]
        is_sample &= ~is_beyond
        time, core = self._times.since_first(columns.time, is_sample), cores_of(columns.cpu)
        time = self._collected.times(time, is_missing, rate)
        is_stray = self._stray(time, is_sample & (columns.time != NO_NUMBER))
        wanted = self._collected.possible(time, wanted & ~is_stray)
        self._collected.seen.add(
            time[wanted], core[wanted], tid[wanted], columns.period[wanted], rate
        )
        of_idle_task = wanted & (tid == 0)
        may_idle = of_idle_task if block.has_ids else wanted & ((tid == 0) | (tid == NOBODY))
        is_idle = may_idle & self._stacks.is_idle[columns.stack]
        is_nameless = of_idle_task & self._stacks.is_nameless[columns.stack]
        rests = self._rests(is_nameless, self._stacks.nameless_ip[columns.stack], core)
        is_idle |= rests
        self._collected.seen.idle += int(is_idle.sum())
        self._collected.seen.guessed_idle += int(rests.sum())
        self._collected.seen.nameless_idle += int((is_nameless & ~rests).sum())
        rows = wanted & ~is_idle
        own, of_thread = pid[rows].astype(np.int64), tid[rows].astype(np.int64)
        comm = self._named(own, of_thread, self._comm_numbers[columns.comm[rows]])
        thread = self._threads.add(own, of_thread, comm, most=MOST_THREADS)
        if (thread < 0).any():
            thread[thread < 0] = self._other_threads()
        node = self._stacks.nodes(comm, columns.stack[rows].astype(np.int64), list(self._comms))
        self._collected.keep(time[rows], core[rows], thread, node)

    def _named(self, pid: I64, tid: I64, comm: I64) -> I64:
        fresh = [script_names.is_none(name) for name in list(self._comms)[len(self._no_names) :]]
        self._no_names = np.append(self._no_names, np.array(fresh, np.bool_))
        if not self._no_names[comm].any():
            return comm
        known = [self._threads.column(number) for number in range(3)]
        return script_names.named((pid, tid, comm), known, self._no_names)

    def _ids(self, block: ScriptBlock) -> tuple[I32, I32]:
        """Of processes and of threads."""
        columns = block.columns
        if block.has_ids:
            return columns.pid, columns.tid
        fresh = [script_ids.of_name(name) for name in list(self._comms)[len(self._made_up) :]]
        self._made_up = np.append(self._made_up, np.array(fresh, np.int32))
        ids = self._made_up[self._comm_numbers[columns.comm]]
        return ids, ids

    def _rests(self, is_nameless: Bool, ip: U64, core: U16) -> Bool:
        rows = np.flatnonzero(is_nameless & (ip != 0))
        rests = np.zeros(len(is_nameless), np.bool_)
        rests[rows] = self._resting.of(ip[rows], core[rows])
        return rests

    def _stray(self, time: I64, is_timed: Bool) -> Bool:
        """Text of perf script is in order of time."""
        found = np.zeros(len(time), np.bool_)
        if not self._times.is_distance:
            found[is_timed] = stray(time[is_timed])
            self._collected.seen.note_stray(time, found)
            self._times.watch(time[is_timed & ~found])
        return found

    def _comm_number(self, text: bytes) -> int:
        """Hostile texts have a new name in each line."""
        name, known = text.decode("utf-8", "replace"), self._comms
        if name not in known and len(known) >= MOST_NAMES:
            name = MORE_NAMES
        return known.setdefault(name, len(known))

    def _other_threads(self) -> int:
        """The one that stands for all that come late."""
        self._has_more_threads = True
        name = self._comms.setdefault(MORE_NAMES, len(self._comms))
        return int(self._threads.add(*(np.array([one], np.int64) for one in (-1, -1, name)))[0])

    def _is_wanted(self) -> Bool:
        if self._chosen is None:
            best = min(self._of_header, key=eventnames.preference, default="")
            seen = _measures(filter(_is_event, self._events))
            self._wanted = choose(seen, self._context.event or best)
            self._kept |= self._wanted.names
        return np.array([name in self._wanted for name in self._events], np.bool_)

    @property
    def _measure(self) -> str:
        """Of the samples that are kept, also whether they are of one mode alone."""
        watched = map(eventnames.modes_named, self._wanted.names)
        return eventnames.in_modes(self._wanted.measure, watched)

    def _period_rate(self, columns: Scanned) -> float | None:
        """Of clocks the period is a time."""
        periods = columns.period[columns.period > 0]
        return (
            eventnames.rate_of(self._wanted.measure, None, int(np.median(periods)))
            if len(periods)
            else None
        )

    def _finish(self, reader: ScriptReader, broken: str) -> Piece:
        in_kernel = eventnames.is_in_kernel(self._wanted.measure)
        tree, renumbered = self._stacks.finish(lost_in_kernel=in_kernel)
        header, seen = reader.header, self._collected.seen
        pid, tid, comm = (self._threads.column(number) for number in range(3))
        names = list(self._comms)
        threads = Threads(
            pid=pid.astype(np.int32),
            tid=tid.astype(np.int32),
            parent_pid=np.full(len(pid), -1, np.int32),
            comm=tuple(names[number] for number in comm.tolist()),
            cgroup=("",) * len(pid),
        )
        is_own = (
            seen.without_time or header.clock or self._times.is_relative
            or is_wall_time(seen.first_ns)
        )  # fmt: skip
        rows = self._collected.rows(renumbered)
        # What was watched is not what a part of it tells of.
        command = "" if self._times.is_part_of(header.recorded) else header.command
        cores = watched_cores(
            seen.cores, command, header.numbered_cores,
            is_whole=is_whole(command, seen.idle, threads.tid),
        )  # fmt: skip
        return Piece(
            hints=Hints(
                header.hostname, header.release, header.architecture, header.cores, command
            ),
            clock=ClockKind.OWN if is_own else ClockKind.KERNEL_LOG,
            claim=self._context.clock.of_script(
                self._source.path,
                self._clock_header(reader),
                seen.first_ns,
                seen.last_ns,
            ),
            sampled=Sampled(
                rows,
                tree,
                threads,
                seen.intervals(self._measure, self._header_rate(reader), cores),
                seen.fingerprint,
            ),
            facts=self._facts(reader, rows, tree, broken),
        )

    def _clock_header(self, reader: ScriptReader) -> ScriptHeader:
        """What it says of the clock of its times."""
        # Of several captures in one file the last sample is of the one that ended last.
        header = replace(reader.header, captured=reader.captured)
        return replace(header, clock="", reference=None) if self._times.is_relative else header

    @property
    def _has_too_many(self) -> bool:
        return self._has_more_threads or len(self._comms) > MOST_NAMES or self._stacks.has_too_many

    def _header_rate(self, reader: ScriptReader) -> float | None:
        for event in reader.header.events:
            if eventnames.plain(event.name) == self._wanted.measure:
                found = eventnames.rate_of(event.name, event.rate_hz, event.period)
                if found:
                    return found
        return None

    def _facts(self, reader: ScriptReader, rows: RowTable, tree: StackTree, broken: str) -> Facts:
        others = {
            name: count for name, count in self._by_name().items() if name not in self._wanted
        }
        problems = [*([broken] if broken else []), *self._collected.seen.problems()]
        if reader.odd_lines:
            problems.append(
                f"{reader.odd_lines} lines belong to no sample, the first at {reader.first_odd}"
            )
        if self._stacks.odd_lines:
            problems.append(f"{self._stacks.odd_lines} different lines of stacks are no frames")
        if lost := reader.lost.at_least:
            problems.append(dropped(lost))
        notes = self._times.notes()
        if reader.headers > 1:
            notes.append(MORE_HEADERS.format(reader.headers))
        elif self._times.is_part_of(reader.header.recorded):
            notes.append(IS_PART)
        if len(self._made_up):
            notes.append(NO_IDS if any(self._comms) else NO_NAMES)
        in_made_code = made_code.ends_in_made_code(rows, tree)
        if note := made_code.note(in_made_code, len(rows), is_text=True):
            notes.append(note)
        if note := made_code.note_without_code(rows, tree):
            notes.append(note)
        notes += [TOO_MANY] if self._has_too_many else []
        notes += self._collected.seen.notes(self._measure, self._header_rate(reader))
        samples = self._by_name().total()
        return Facts(
            samples=samples,
            idle=self._collected.seen.idle,
            other_events=others,
            cores=tuple(sorted(self._collected.seen.cores)),
            named_ratio=named_ratio(tree),
            notes=tuple(notes),
            problems=tuple(problems if samples else [*problems, NO_SAMPLES]),
        )


def _is_event(name: str) -> bool:
    return not name.startswith(_SIDE_BAND) and name != _METRIC


def _measures(names: Iterable[str]) -> dict[str, str]:
    return {name: eventnames.plain(name) for name in names}
