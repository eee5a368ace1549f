"""Head log → the values of a segment: everything named, ordered and on one clock.

Works through the log one epoch at a time (at most a minute), because a busy machine's addresses
of ten minutes do not fit into the memory that we allow ourselves; its names do.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.model.arrays import I64, U64, Bool
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch
from exhume.model.segment import Origin, SegmentData
from exhume.perf.asof import NOTHING_SAID, UNKNOWN, Statement
from exhume.perf.births import exec_events, exit_events
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import BEFORE_ALL, History, SideBand
from exhume.perf.idle import idle_rows
from exhume.perf.naming import Namer, RawSamples
from exhume.perf.records import NO_COMMS, NO_FORKS, NO_MAPPINGS, Comms, concat
from exhume.perf.stack_names import MappedCode
from exhume.perf.symbolize import FrameTable, Symbolizer
from exhume.perf.symbols.kallsyms import BPF
from exhume.store.blocks import BlockBuilder
from exhume.store.event_columns import EventColumns
from exhume.store.headlog import FrameInfo, FrameKind, HeadFile
from exhume.store.spill import SampleSpill
from exhume.store.symbols import SymbolStore
from exhume.store.ticks import State, Tick, decode_row, decode_state, decode_tick
from exhume.store.writer import Apart

Table = TypeVar("Table", Comms, Statement)

NO_SAMPLES = Samples(
    np.empty(0, np.int64),
    np.empty(0, np.uint16),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.uint32),
)


class _Cgroups:
    """Cgroup paths by number."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._numbers: dict[str, int] = {}
        self._by_id: dict[int, int] = {}

    def number(self, path: str) -> int:
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return number

    def learn_ids(self, names: dict[int, str]) -> None:
        self._by_id.update((id_, self.number(path)) for id_, path in names.items())

    def of_ids(self, ids: U64) -> I64:
        """Numbers of the kernel's ids. The root says nothing: it may be another hierarchy's."""
        first, which = distinct_rows(ids.view(np.int64))
        numbers = [self._by_id.get(id_, UNKNOWN) for id_ in ids[first].tolist()]
        return np.array(
            [UNKNOWN if n >= 0 and self.paths[n] == "/" else n for n in numbers], np.int64
        )[which]


class Assembler:
    def __init__(
        self,
        head: HeadFile,
        symbols: SymbolStore,
        sample_window: tuple[int, int] | None = None,
        spill_folder: Path | None = None,
    ) -> None:
        """`sample_window` (monotonic) limits which samples are named; everything else is whole."""
        self._head = head
        self._window = sample_window
        origin = head.values(FrameKind.ORIGIN)
        pairs = [ClockPair(**value) for value in head.values(FrameKind.CLOCK)]
        if not origin or not pairs:
            raise ParseError(
                str(head.path), "start", "the origin and a pair of clocks",
                todo="its first second is damaged or was never written: it cannot be read",
            )  # fmt: skip
        self._origin = Origin(**origin[0])
        self._clock = ClockMap.of(pairs)
        self._stretches = tuple(Stretch(**value) for value in head.values(FrameKind.STRETCH))
        self._history = History()
        self._cgroups = _Cgroups()
        self._files: dict[int, MappedCode] = {}
        self._kernel = symbols.kernel(self._origin.boot_id)
        self._symbolizer = Symbolizer(FrameTable(), symbols.find, self._kernel)
        self._namer = Namer(self._history, self._symbolizer, self._files)
        # Questions of a live head want them as they are; a segment wants them small.
        self._events: list[Event] | EventColumns = [] if spill_folder is None else EventColumns()
        self._blocks = BlockBuilder()
        self._samples = SampleSpill(spill_folder)

    def run(self) -> Assembled:
        start, end = self._clock.pairs[0].monotonic_ns, self._clock.pairs[-1].monotonic_ns
        instances: dict[str, tuple[str, ...]] = {}
        first = True
        for ticks, states in self._epochs(instances):
            self._learn(ticks, states)
            for tick in ticks:
                start, end = (tick.start_ns if first else start), max(end, tick.end_ns)
                first = False
                self._events.extend(tick.events)
            exits = concat([tick.exits for tick in ticks], NO_FORKS)
            raw = self._raw(ticks)
            ticks.clear()  # their frames go: naming needs the room
            self._name(raw)
            self._history.forget_dead(exits)
            del raw, exits
        return self._finish(start, end)

    def _epochs(
        self, instances: dict[str, tuple[str, ...]]
    ) -> Iterator[tuple[list[Tick], list[State]]]:
        frames = [f for f in self._head.frames if f.kind in (FrameKind.TICK, FrameKind.STATE)]

        def decoded(frame: FrameInfo) -> Tick | State:
            columns = self._head.read(frame)
            if frame.kind == FrameKind.STATE:
                return decode_state(columns, frame.start_ns)
            self._blocks.add(frame.end_ns, *decode_row(columns, instances))
            return decode_tick(columns, frame.start_ns, frame.end_ns, None)

        epoch = -1

        def epoch_of(item: Tick | State) -> int:
            nonlocal epoch
            epoch = item.epoch if isinstance(item, Tick) else epoch
            return epoch

        early: list[State] = []
        for _, group in groupby((decoded(frame) for frame in frames), key=epoch_of):
            items = list(group)
            ticks = [item for item in items if isinstance(item, Tick)]
            states = [*early, *(item for item in items if isinstance(item, State))]
            del items
            # A scan that comes before the first second tells of those who ran in it.
            early = [] if ticks else states
            if ticks:
                yield ticks, states

    def _learn(self, ticks: list[Tick], states: list[State]) -> None:
        cgroup_rows: list[tuple[int, int, int]] = []
        everything: list[Tick | State] = [*states, *ticks]
        for item in everything:
            self._files.update((file.hash, MappedCode(file.key, file.path)) for file in item.files)
        for tick in ticks:
            self._cgroups.learn_ids(dict(tick.cgroup_names))
            # Read at the end of the second, of a process that may have been forked within it: said
            # of an earlier time, what its parent had would override it.
            forks = tick.forks
            new = forks.pid == forks.tid
            born = dict(zip(forks.pid[new].tolist(), forks.time[new].tolist(), strict=True))
            cgroup_rows += [
                (max(tick.start_ns, born.get(pid, 0)), pid, self._cgroups.number(path))
                for pid, path in tick.pid_cgroups.items()
            ]
        for state in states:
            scanned = state.parent_pid
            at = dict(zip(scanned.key.tolist(), scanned.time.tolist(), strict=True))
            for pid, path in state.pid_cgroups.items():
                number = self._cgroups.number(path)
                cgroup_rows += [(BEFORE_ALL, pid, number), (at.get(pid, 0), pid, number)]
        rows = np.array(cgroup_rows, np.int64).reshape(-1, 3)
        parents = [_since_ever(state.parent_pid, NOTHING_SAID) for state in states]
        named = [_since_ever(state.comms, NO_COMMS) for state in states]
        side = SideBand(
            comms=concat([*named, *(tick.comms for tick in ticks)], NO_COMMS),
            forks=concat([t.forks for t in ticks], NO_FORKS),
            exits=concat([t.exits for t in ticks], NO_FORKS),
            mappings=concat([item.mappings for item in everything], NO_MAPPINGS),
            parent_pid=concat(parents, NOTHING_SAID),
            cgroup=Statement(rows[:, 0], rows[:, 1], rows[:, 2]),
            scanned=concat(parents, NOTHING_SAID),
        )
        self._history.learn(side)
        symbols = [s for tick in ticks for s in tick.kernel_symbols if not s.is_gone]
        self._symbolizer.learn_kernel([(s.start, s.length, s.name, BPF) for s in symbols])
        paths = self._cgroups.paths
        comms = concat([t.comms for t in ticks], NO_COMMS)
        self._events.extend(exec_events(self._history, comms, paths))
        self._events.extend(exit_events(self._history, side.exits, paths))

    def _raw(self, ticks: list[Tick]) -> RawSamples:
        """An epoch's samples and stacks, put together."""
        stacks = max((tick.stack_base + len(tick.word_count) for tick in ticks), default=0)
        word_start = np.zeros(stacks, np.int64)
        word_count = np.zeros(stacks, np.int64)
        words, before = [np.empty(0, np.uint64)], 0
        for tick in ticks:
            ids = slice(tick.stack_base, tick.stack_base + len(tick.word_count))
            count = tick.word_count.astype(np.int64)
            word_start[ids] = before + np.cumsum(count) - count
            word_count[ids] = count
            words.append(tick.words)
            before += len(tick.words)
        samples = [tick.samples for tick in ticks]
        stack = np.concatenate([s.stack for s in samples]).astype(np.int64)
        is_known = stack < stacks
        is_known[is_known] &= word_count[stack[is_known]] > 0
        return RawSamples(
            time=np.concatenate([s.time for s in samples]),
            core=np.concatenate([s.core for s in samples]),
            pid=np.concatenate([s.pid for s in samples]),
            tid=np.concatenate([s.tid for s in samples]),
            stack=np.where(is_known, stack, UNKNOWN),
            cgroup=self._cgroups.of_ids(np.concatenate([s.cgroup for s in samples])),
            words=(np.concatenate(words),),
            word_start=word_start,
            word_count=word_count,
        )

    def _name(self, raw: RawSamples) -> None:
        if self._window is not None:
            start_ns, end_ns = self._window
            raw = _chosen(raw, (raw.time >= start_ns) & (raw.time < end_ns))
        is_idle = idle_rows(self._kernel, raw)
        if is_idle.any():
            raw = _chosen(raw, ~is_idle)
        threads, nodes = self._namer.name(raw)
        self._samples.add(raw.time, raw.core, threads, nodes)

    def _finish(self, start_ns: int, end_ns: int) -> Assembled:
        tree, renumbered, threads, cgroup_of_thread = self._namer.finish()
        paths = np.array([*self._cgroups.paths, ""], object)[cgroup_of_thread]  # -1: not known
        samples = self._samples
        data = SegmentData(
            origin=self._origin,
            clock=self._clock,
            start_ns=start_ns if samples.first_ns is None else min(start_ns, samples.first_ns),
            end_ns=end_ns if samples.last_ns is None else max(end_ns, samples.last_ns + 1),
            stretches=self._stretches,
            samples=NO_SAMPLES,
            tree=tree,
            threads=replace(threads, cgroup=tuple(paths)),
            blocks=self._blocks.finish(),
            events=(),
        )
        return Assembled(data, samples, renumbered, self._events)


class Assembled(Struct, frozen=True):
    """A segment whose samples may be too many to hold: they come in pieces, or as a whole."""

    data: SegmentData
    """Without its samples and events."""
    _samples: SampleSpill
    _renumbered: I64
    _events: list[Event] | EventColumns

    def apart(self) -> Apart:
        """For the writer: what does not lie in `data`."""
        if isinstance(self._events, EventColumns):
            events = self._events
        else:
            events = EventColumns()
            events.extend(self._events)
        counts = self._samples.counts(self._renumbered)
        return Apart(self.pieces, counts, events, gives_back=True)

    def pieces(self) -> Iterator[Samples]:
        return self._samples.pieces(self._renumbered, self.data.stretches)

    def whole(self) -> SegmentData:
        if isinstance(self._events, EventColumns):
            raise TypeError("events that were put aside come as columns only")
        samples = self._samples.whole(self._renumbered, self.data.stretches)
        events = tuple(sorted(self._events, key=lambda event: event.time_ns))
        return replace(self.data, samples=samples, events=events)


def _since_ever(scanned: Table, empty: Table) -> Table:
    """What a scan found was mostly there before: it holds from the beginning, if nothing else does.

    Without this the samples between the start of a log and the end of its scan are nobody's.
    """
    before = replace(scanned, time=np.full(len(scanned.time), BEFORE_ALL, np.int64))
    return concat([before, scanned], empty)


def _chosen(raw: RawSamples, rows: Bool) -> RawSamples:
    return replace(
        raw, time=raw.time[rows], core=raw.core[rows], pid=raw.pid[rows], tid=raw.tid[rows],
        stack=raw.stack[rows], cgroup=raw.cgroup[rows],
    )  # fmt: skip


def assemble(
    head: HeadFile, symbols: SymbolStore, sample_window: tuple[int, int] | None = None
) -> SegmentData:
    """All of it in memory."""
    return Assembler(head, symbols, sample_window).run().whole()


def assemble_aside(head: HeadFile, symbols: SymbolStore, folder: Path) -> Assembled:
    """With the samples put aside in files of that folder where they are many."""
    return Assembler(head, symbols, spill_folder=folder).run()
