"""The names behind one perf.data: threads, programs, the kernel, cgroups, as its records come."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from exhume.derive.sets import distinct, is_in
from exhume.ingest import boot_marks
from exhume.ingest.capture_files import CaptureFiles
from exhume.ingest.deferred_stacks import DeferredStacks
from exhume.ingest.dumped_stacks import DumpedStacks
from exhume.ingest.kernel_copies import layout_of
from exhume.ingest.kernel_symbols import KernelNames, kernel_names
from exhume.ingest.symbols import Places
from exhume.model.arrays import I32, I64, U64, Bool
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf.asof import NOTHING_SAID, UNKNOWN, Statement
from exhume.perf.births import exec_events, exit_events
from exhume.perf.bounds import MOST_NAMES, MOST_NODES, MOST_PLACES, MOST_THREADS
from exhume.perf.datachunk import Chunk, KernelMap
from exhume.perf.datafeatures import Features
from exhume.perf.dataorder import Epoch, pick
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History, SideBand
from exhume.perf.idle import idle_samples
from exhume.perf.naming import Namer, RawSamples
from exhume.perf.records import NO_FORKS, concat
from exhume.perf.symbolize import FrameTable, Symbolizer
from exhume.perf.symbols.kallsyms import BPF

_MAX_KERNEL_MAPS = 1 << 16
_MAX_CGROUPS = 1 << 16
_MAX_LATE_SYMBOLS = 1 << 16
_MAX_FIRST_IPS = 1 << 14
"""So many are enough to see whether a copy of kallsyms is of that kernel."""
_DYING_NS = 10 * 1_000_000_000
"""How long a thread may still be seen after its EXIT record, which is written in the middle of
do_exit(): what comes after it (its cgroup, its parent) takes long where a node is in trouble."""


class CaptureNames:
    def __init__(
        self, places: Places, features: Features, recorded_ns: int, shares: int = 1
    ) -> None:
        """`features` may still grow: those of a pipe come as records.

        `recorded_ns`: when its file was written, in wall time. `shares`: so many read the capture
        at once, and share what may be kept.
        """
        self._places = places
        self._features = features
        self._shares = shares
        self._has_too_many = False
        self._history = History()
        self._files = CaptureFiles(places, features, recorded_ns)
        self._kernel_maps: list[KernelMap] = []
        self._first_ips: U64 = np.empty(0, np.uint64)
        self._parents: list[Statement] = []
        self._found: I64 = np.empty(0, np.int64)
        self._marks = boot_marks.NO_MARKS
        self._dying = NO_FORKS
        self._cgroup_numbers: dict[int, int] = {}
        self._cgroup_paths: list[str] = []
        self._symbolizer: Symbolizer | None = None
        self._namer: Namer | None = None
        self._late = 0
        """Symbols of the kernel that came after its table was read."""
        self.kernel = KernelNames(None, "")
        self.dumped = DumpedStacks(self._history, self._files.cfi)
        self.deferred = DeferredStacks()

    def is_known_file(self, hash_: int) -> bool:
        """Need nobody say what file it is?"""
        return self._files.is_known(hash_)

    def note(self, chunk: Chunk) -> None:
        """What does not depend on the order of time."""
        self._files.note(chunk.files)
        self._has_too_many |= self._files.is_full
        if len(self._kernel_maps) < _MAX_KERNEL_MAPS:
            self._kernel_maps += chunk.kernel_maps
        self.deferred.note(chunk.deferred)
        for id_, path in chunk.cgroups.items():
            if len(self._cgroup_paths) < _MAX_CGROUPS:
                self._cgroup_numbers[id_] = len(self._cgroup_paths)
                self._cgroup_paths.append(path)
            else:
                self._has_too_many = True
        if len(chunk.parents.time):
            self._parents.append(chunk.parents)
        if self._symbolizer is not None:
            late = [(s.start, s.length, s.name, BPF) for s in chunk.kernel_symbols if not s.is_gone]
            self._has_too_many |= self._late + len(late) > _MAX_LATE_SYMBOLS
            late = late[: _MAX_LATE_SYMBOLS - self._late]
            self._late += len(late)
            self._symbolizer.learn_kernel(late)

    def learn(self, epoch: Epoch) -> None:
        """Who was who from now on."""
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
        self._marks = boot_marks.lowest(self._marks, boot_marks.of_programs(epoch.mappings))
        self._history.learn(side)
        if self._namer is None:
            self._first_ips = epoch.samples.ip[:_MAX_FIRST_IPS]

    @property
    def boot(self) -> boot_marks.Marks:
        """Of what boot it is; complete when all is read."""
        reference = layout_of(self._kernel_maps, self._first_ips).reference
        kernel = boot_marks.of_kernel(reference[1]) if reference else boot_marks.NO_MARKS
        return (*kernel, *self._marks)

    def events(self, epoch: Epoch) -> list[Event]:
        """What began and ended, once it was learned."""
        return [
            *exec_events(self._history, epoch.comms),
            *exit_events(self._history, epoch.exits),
        ]

    def _were_there(self, epoch: Epoch) -> Statement:
        """Processes that perf found when it began: what it writes of them has the time 0."""
        pids = distinct(epoch.mappings.pid[epoch.mappings.time == 0]).astype(np.int64)
        fresh = pids[~is_in(pids, self._found)]
        self._found = np.concatenate([self._found, fresh])
        return Statement(np.zeros_like(fresh), fresh, np.zeros_like(fresh))

    def forget(self, epoch: Epoch) -> None:
        """Who is certainly gone, and what no sample waits for."""
        self.deferred.forget(epoch)
        exits = concat([self._dying, epoch.exits], NO_FORKS)
        now = int(max(epoch.samples.time.max(initial=0), exits.time.max(initial=0)))
        is_gone = exits.time < now - _DYING_NS
        self._dying = pick(exits, np.flatnonzero(~is_gone))
        self._history.forget_dead(pick(exits, np.flatnonzero(is_gone)))

    @property
    def has_too_many(self) -> bool:
        """Not all that the capture tells is told apart."""
        return self._has_too_many or (self._namer is not None and self._namer.has_too_many)

    @property
    def doubts(self) -> tuple[str, ...]:
        return self._files.doubts

    def name(self, raw: RawSamples) -> tuple[I64, I64]:
        return self._ready().name(raw)

    @property
    def has_kernel_names(self) -> bool:
        self._ready()
        return self.kernel.table is not None

    def is_idle(self, ip: U64, pid: I32) -> Bool:
        self._ready()
        return idle_samples(self.kernel.table, ip, pid)

    def _ready(self) -> Namer:
        """The kernel's place is among the first records, so by now it is known."""
        if self._namer is None:
            self._files.settle()
            self.kernel = kernel_names(
                self._places, self._features, self._kernel_maps, self._first_ips,
                is_local=self._files.is_local,
            )  # fmt: skip
            frames = FrameTable(MOST_NAMES // self._shares)
            self._symbolizer = Symbolizer(frames, self._files.table, self.kernel.table)
            self._namer = Namer(
                self._history, self._symbolizer, self._files.by_hash,
                MOST_NODES // self._shares, MOST_THREADS // self._shares,
                MOST_PLACES // min(2, self._shares),
            )  # fmt: skip
        return self._namer

    def cgroups(self, ids: I64) -> I64:
        if not ids.any():  # they were not recorded
            return np.full(len(ids), UNKNOWN, np.int64)
        first, which = distinct_rows(ids)
        numbers = [self._cgroup_numbers.get(one, UNKNOWN) for one in ids[first].tolist()]
        return np.array(numbers, np.int64)[which]

    def finish(self) -> tuple[StackTree, I64, Threads]:
        """The tree, each node's final number, and the threads."""
        tree, renumbered, threads, cgroups = self._ready().finish()
        paths = [self._cgroup_paths[n] if n >= 0 else "" for n in cgroups.tolist()]
        return tree, renumbered, replace(threads, cgroup=tuple(paths))
