"""perf.data → a piece: everything named, in the file's own clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from exhume.ingest.collect import NO_TIMES, Collector, named_ratio
from exhume.ingest.context import Context
from exhume.ingest.kernel_symbols import KernelNames, is_recorded_here, kernel_names
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece
from exhume.ingest.rows import cores_of
from exhume.ingest.streams import Source
from exhume.ingest.symbols import ProgramSymbols, program_symbols
from exhume.model.arrays import I64, U32, Bool
from exhume.model.event import Event
from exhume.model.stack import StackTree
from exhume.perf import eventnames
from exhume.perf.asof import NOTHING_SAID, UNKNOWN, Statement
from exhume.perf.births import exec_events, exit_events
from exhume.perf.datachunk import Chunk, KernelMap, decode
from exhume.perf.datafile import PerfData
from exhume.perf.dataorder import Epoch, in_order
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History, SideBand
from exhume.perf.naming import Namer, RawSamples
from exhume.perf.records import concat
from exhume.perf.stack_names import MappedCode
from exhume.perf.symbolize import FrameTable, Symbolizer
from exhume.perf.symbols.kallsyms import BPF

_DUMMY = "dummy"


def read(source: Source, context: Context) -> Iterator[Piece]:
    assembler = PerfAssembler(source, context, context.event)
    piece = assembler.run()
    others = piece.facts.other_events
    if not assembler.kept() and others and not context.event:
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
        self._history = History()
        self._files: dict[int, MappedCode] = {}
        self._kernel_maps: list[KernelMap] = []
        self._namer: Namer | None = None
        self._symbolizer: Symbolizer | None = None
        self._kernel = KernelNames(None, "")
        self._programs: ProgramSymbols | None = None
        self._parents: list[Statement] = []
        self._found: I64 = np.empty(0, np.int64)
        self._cgroup_numbers: dict[int, int] = {}
        self._cgroup_paths: list[str] = []
        self._events: list[Event] = []
        self._counts: Counter[int] = Counter()
        self._lost: Counter[int] = Counter()
        self._bad = 0

    def kept(self) -> int:
        return self._collected.kept

    def run(self) -> Piece:
        try:
            for epoch in in_order(self._chunks()):
                self._learn(epoch)
                self._name(epoch)
                self._history.forget_dead(epoch.exits)
        finally:
            self._collected.close()
        return self._finish()

    def _chunks(self) -> Iterator[Chunk]:
        for walked in self._data.walks():
            chunk = decode(walked, self._data.tells_exec)
            features = self._data.features
            if self._programs is None:
                is_local = is_recorded_here(self._context.places.host, features)
                self._programs = program_symbols(self._context.places, is_local)
            for hash_, identity in chunk.files.items():
                if hash_ not in self._files:
                    self._files[hash_] = self._programs.code(identity, features.build_ids)
            self._kernel_maps += chunk.kernel_maps[: 1 << 16]
            for id_, path in chunk.cgroups.items():
                self._cgroup_numbers[id_] = len(self._cgroup_paths)
                self._cgroup_paths.append(path)
            if len(chunk.parents.time):
                self._parents.append(chunk.parents)
            if self._symbolizer is not None:
                self._learn_kernel(chunk)
            self._bad += chunk.bad
            self._lost.update(chunk.lost)
            self._counts.update(chunk.samples.event.tolist())
            yield chunk

    def _learn_kernel(self, chunk: Chunk) -> None:
        assert self._symbolizer is not None
        self._symbolizer.learn_kernel(
            [(s.start, s.length, s.name, BPF) for s in chunk.kernel_symbols if not s.is_gone]
        )

    def _learn(self, epoch: Epoch) -> None:
        side = SideBand(
            comms=epoch.comms,
            forks=epoch.forks,
            exits=epoch.exits,
            mappings=epoch.mappings,
            parent_pid=concat(self._parents, NOTHING_SAID),
            cgroup=NOTHING_SAID,
            scanned=self._were_there(epoch),
        )
        self._parents = []
        self._history.learn(side)
        self._events += exec_events(self._history, epoch.comms)
        self._events += exit_events(self._history, epoch.exits)

    def _were_there(self, epoch: Epoch) -> Statement:
        """Processes that perf found when it began: what it writes of them has the time 0."""
        pids = np.unique(epoch.mappings.pid[epoch.mappings.time == 0]).astype(np.int64)
        fresh = np.setdiff1d(pids, self._found)
        self._found = np.union1d(self._found, fresh)
        return Statement(np.zeros_like(fresh), fresh, np.zeros_like(fresh))

    def _namer_now(self) -> Namer:
        """The kernel's place is among the first records, so by now it is known."""
        if self._namer is None:
            places, features = self._context.places, self._data.features
            self._kernel = kernel_names(places, features, self._kernel_maps)
            programs = self._programs or program_symbols(places, False)
            self._symbolizer = Symbolizer(FrameTable(), programs.find, self._kernel.table)
            self._namer = Namer(self._history, self._symbolizer, self._files)
        return self._namer

    def _name(self, epoch: Epoch) -> None:
        namer = self._namer_now()
        samples, collected = epoch.samples, self._collected
        wanted = self._is_wanted()[samples.event]
        time, core = samples.time.astype(np.int64), cores_of(samples.cpu)
        time = collected.times(time, wanted & (time == 0), self._attr_rate())
        collected.saw(time[wanted], core[wanted], samples.tid[wanted], self._attr_rate())
        is_idle = self._kernel.idle(samples.ip, samples.pid) & wanted
        collected.idle += int(is_idle.sum())
        rows = np.flatnonzero(wanted & ~is_idle)
        first, which = self._distinct(epoch, rows)
        raw = RawSamples(
            time=time[first],
            core=core[first],
            pid=samples.pid[first],
            tid=samples.tid[first],
            stack=epoch.stack[first],
            cgroup=self._cgroups(samples.cgroup[first].astype(np.int64)),
            words=epoch.words,
            word_start=epoch.word_start,
            word_count=epoch.word_count,
        )
        threads, nodes = namer.name(raw)
        collected.keep(time[rows], core[rows], threads[which], nodes[which])

    @staticmethod
    def _distinct(epoch: Epoch, rows: I64) -> tuple[I64, U32]:
        """One sample of each kind, and of which kind each is.

        Two of a thread with one stack are alike, unless something was said of it or of its process
        in between: then each has its own time to be looked up at.
        """
        samples = epoch.samples
        tid, pid = samples.tid[rows].astype(np.int64), samples.pid[rows].astype(np.int64)
        told = np.isin(tid, np.concatenate([epoch.comms.tid, epoch.forks.tid]))
        told |= np.isin(pid, np.concatenate([epoch.comms.pid, epoch.forks.pid]))
        by_itself = np.where(told, np.arange(len(rows)), -1)
        cgroup = samples.cgroup[rows].astype(np.int64)
        first, which = distinct_rows(pid, tid, epoch.stack[rows], cgroup, by_itself)
        return rows[first], which

    def _is_wanted(self) -> Bool:
        """Of each event, whether its samples are kept: of several only what measures time."""
        names = [event.name for event in self._data.events]
        chosen = self._chosen()
        return np.array(
            [not chosen or eventnames.plain(name) == chosen for name in names], np.bool_
        )

    def _chosen(self) -> str:
        names = [event.name for event in self._data.events]
        real = [name for name in names if eventnames.plain(name) != _DUMMY] or names
        if self._wanted:
            return eventnames.plain(self._wanted)
        return eventnames.plain(min(real, key=eventnames.preference)) if real else ""

    def _attr_rate(self) -> float | None:
        for event in self._data.events:
            if eventnames.plain(event.name) == self._chosen():
                return eventnames.attr_rate(event.name, event.attr)
        return None

    def _cgroups(self, ids: I64) -> I64:
        unique, which = np.unique(ids, return_inverse=True)
        numbers = [self._cgroup_numbers.get(one, UNKNOWN) for one in unique.tolist()]
        return np.array(numbers, np.int64)[which]

    def _finish(self) -> Piece:
        tree, renumbered, threads, cgroups = self._namer_now().finish()
        paths = [self._cgroup_paths[n] if n >= 0 else "" for n in cgroups.tolist()]
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
            sampled=collected.sampled(
                tree,
                renumbered,
                replace(threads, cgroup=tuple(paths)),
                self._chosen(),
                self._attr_rate(),
            ),
            events=tuple(sorted(self._events, key=lambda event: event.time_ns)),
            facts=self._facts(tree),
        )

    def _facts(self, tree: StackTree) -> Facts:
        names = [event.name for event in self._data.events]
        wanted = self._is_wanted()
        others: Counter[str] = Counter()
        for number, count in self._counts.items():
            if not wanted[number]:
                others[names[number]] += count
        problems = list(self._data.problems)
        if self._bad:
            problems.append(f"{self._bad} samples are damaged: their lengths do not add up")
        if lost := sum(self._lost.values()):
            problems.append(f"the kernel dropped {lost} records while it was recorded")
        notes = [self._kernel.how] if self._kernel.how else []
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
