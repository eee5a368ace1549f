"""perf-script text → a piece. Names are in it already; each distinct stack is looked at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from exhume.ingest.assemble_perf import NO_TIMES, named_ratio
from exhume.ingest.context import Context
from exhume.ingest.piece import NO_CORE, ClockKind, Facts, Hints, Interval, Piece, Sampled
from exhume.ingest.rows import RowWriter, Sketch, cores_of, usual_rate_hz
from exhume.ingest.script_stacks import ScriptStacks
from exhume.ingest.streams import Inflated, Source
from exhume.model.arrays import I64, Bool
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf import eventnames
from exhume.perf.naming import unique_rows
from exhume.perf.script import ScriptBlock, ScriptReader
from exhume.perf.script_scan import NO_NUMBER, Scanned

_SIDE_BAND = "PERF_RECORD_"
"""Instead of an event, in lines of `--show-task-events` and the like: no samples."""


def read(source: Source, context: Context) -> Iterator[Piece]:
    assembler = ScriptAssembler(source, context, context.event)
    piece = assembler.run()
    best = assembler.better_event()
    if best and not context.event:
        # Events show only as they come, and one that measures time better came later.
        piece = ScriptAssembler(source, context, best).run()
    yield piece


class ScriptAssembler:
    def __init__(self, source: Source, context: Context, event: str) -> None:
        self._source = source
        self._context = context
        self._wanted = eventnames.plain(event) if event else ""
        self._rows = RowWriter(context.folder / "rows")
        self._sketch = Sketch()
        self._stacks = ScriptStacks()
        self._comms: list[str] = []
        self._events: list[str] = []
        self._counts: Counter[int] = Counter()
        self._threads: dict[tuple[int, int, int], int] = {}
        self._idle = self._timeless = 0
        self._rates: list[float] = []

    def run(self) -> Piece:
        try:
            with self._source.open(self._context.progress) as stream:
                reader = ScriptReader(stream, str(self._source.path))
                if not self._wanted and reader.header.events:
                    names = [event.name for event in reader.header.events]
                    self._wanted = eventnames.plain(min(names, key=eventnames.preference))
                for block in reader.blocks():
                    self._add(block)
                broken = stream.problem if isinstance(stream, Inflated) else ""
        finally:
            self._rows.close()
        return self._finish(reader, broken)

    def better_event(self) -> str:
        """An event to take instead of the one that was; empty where it was the right one."""
        found = {n: c for n, c in self._by_name().items() if c and not n.startswith(_SIDE_BAND)}
        if not found or (self._wanted in found and len(found) == 1):
            return ""
        best = min(found, key=lambda n: (eventnames.preference(n), -found[n]))
        is_better = eventnames.preference(best) < eventnames.preference(self._wanted)
        return best if is_better or self._wanted not in found else ""

    def _by_name(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for number, count in self._counts.items():
            counts[eventnames.plain(self._events[number])] += count
        return counts

    def _add(self, block: ScriptBlock) -> None:
        columns = block.columns
        self._comms += [name.decode("utf-8", "replace") for name in columns.new_comms]
        self._events += [name.decode("utf-8", "replace") for name in columns.new_events]
        self._counts.update(columns.event.tolist())
        self._stacks.learn(block)
        wanted = self._is_wanted()[columns.event]
        time = self._times(columns, wanted)
        core = cores_of(columns.cpu)
        self._rows.saw(time[wanted])
        self._sketch.add(time[wanted], core[wanted])
        rate = self._period_rate(columns) or usual_rate_hz(time[wanted], core[wanted])
        if rate:
            self._rates.append(rate)
        is_idle = wanted & (columns.tid == 0) & self._stacks.is_idle()[columns.stack]
        self._idle += int(is_idle.sum())
        rows = wanted & ~is_idle
        thread = self._thread_numbers(columns, rows)
        comm = columns.comm[rows].astype(np.int64)
        node = self._stacks.nodes(comm, columns.stack[rows].astype(np.int64), self._comms)
        self._rows.add(time[rows], core[rows], thread, node)

    def _is_wanted(self) -> Bool:
        if not self._wanted and self._events:
            real = [name for name in self._events if not name.startswith(_SIDE_BAND)]
            self._wanted = eventnames.plain(min(real, key=eventnames.preference)) if real else ""
        wanted = [
            eventnames.plain(name) == self._wanted and not name.startswith(_SIDE_BAND)
            for name in self._events
        ]
        return np.array(wanted, np.bool_)

    def _times(self, columns: Scanned, wanted: Bool) -> I64:
        missing = np.flatnonzero(wanted & (columns.time == NO_NUMBER))
        if not len(missing):
            return columns.time
        time = columns.time.copy()
        places = self._timeless + np.arange(len(missing))
        time[missing] = 1 + (places * 1e9 / (self._period_rate(columns) or 1000.0)).astype(np.int64)
        self._timeless += len(missing)
        return time

    def _period_rate(self, columns: Scanned) -> float | None:
        """Of clocks the period is a time."""
        periods = columns.period[columns.period > 0]
        return eventnames.rate_of(self._wanted, None, int(np.median(periods))) if len(periods) else None

    def _thread_numbers(self, columns: Scanned, rows: Bool) -> I64:
        ids = [c[rows].astype(np.int64) for c in (columns.pid, columns.tid, columns.comm)]
        first, which = unique_rows(*ids)
        keys = zip(*(column[first].tolist() for column in ids), strict=True)
        numbers = [self._threads.setdefault(key, len(self._threads)) for key in keys]
        return np.array(numbers, np.int64)[which]

    def _finish(self, reader: ScriptReader, broken: str) -> Piece:
        tree, renumbered = self._stacks.finish()
        header = reader.header
        first, last = self._rows.first_ns, self._rows.last_ns
        intervals: tuple[Interval, ...] = ()
        if first is not None and last is not None:
            rate = self._rate(reader)
            period = round(1e9 / rate) if rate else 1
            intervals = (Interval(first, last + period, self._wanted or "unknown", rate),)
        keys = list(self._threads)
        threads = Threads(
            pid=np.array([key[0] for key in keys], np.int32),
            tid=np.array([key[1] for key in keys], np.int32),
            parent_pid=np.full(len(keys), -1, np.int32),
            comm=tuple(self._comms[key[2]] for key in keys),
            cgroup=("",) * len(keys),
        )
        is_own = self._timeless or header.clock
        return Piece(
            hints=Hints(
                header.hostname, header.release, header.architecture, header.cores, header.command
            ),
            clock=ClockKind.OWN if is_own else ClockKind.KERNEL_LOG,
            claim=self._context.clock.of_script(self._source.path, header, first, last),
            sampled=Sampled(
                self._rows.finish(renumbered), tree, threads, intervals, self._sketch.hashes
            ),
            facts=self._facts(reader, tree, broken),
        )

    def _rate(self, reader: ScriptReader) -> float:
        for event in reader.header.events:
            if eventnames.plain(event.name) == self._wanted:
                found = eventnames.rate_of(event.name, event.rate_hz, event.period)
                if found:
                    return found
        return float(np.median(self._rates)) if self._rates else 0.0

    def _facts(self, reader: ScriptReader, tree: StackTree, broken: str) -> Facts:
        others = {
            name: count
            for name, count in self._by_name().items()
            if name != self._wanted and not name.startswith(_SIDE_BAND)
        }
        problems = [broken] if broken else []
        if reader.odd_lines:
            problems.append(
                f"{reader.odd_lines} lines belong to no sample, the first at {reader.first_odd}"
            )
        if self._stacks.odd_lines:
            problems.append(f"{self._stacks.odd_lines} different lines of stacks are no frames")
        return Facts(
            samples=sum(c for n, c in self._by_name().items() if not n.startswith(_SIDE_BAND)),
            idle=self._idle,
            other_events=others,
            cores=tuple(core for core in self._rows.cores if core != NO_CORE),
            named_ratio=named_ratio(tree),
            notes=(NO_TIMES,) if self._timeless else (),
            problems=tuple(problems),
        )
