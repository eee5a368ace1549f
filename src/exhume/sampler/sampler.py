"""Every core's events, and the drain that empties their rings once a second."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.model.arrays import U32, U64
from exhume.perf import records
from exhume.perf.native import SampleColumns, Walker
from exhume.perf.records import (
    Comms,
    FileIdentity,
    Forks,
    KernelSymbol,
    Mappings,
)
from exhume.perf.rings import Rings, SampleWalker, SideBandWalker
from exhume.sampler.probe import Offer, probe
from exhume.sampler.ring import Ring
from exhume.sampler.syscall import OpenEvent, perf_event_open

STALL_SECONDS = 15
"""How long nobody may read a ring before samples are lost."""
BYTES_A_SAMPLE = 600
SIDEBAND_BYTES = 512 << 10
"""Some 800 programs started on one core within a second."""
LARGEST_SIDEBAND_BYTES = 4 << 20
MOST_SIDEBAND_BYTES = 64 << 20
"""Of all cores together."""
SMALLEST_SAMPLE_RING = 256 << 10
LARGEST_SAMPLE_RING = 16 << 20


class Drained(Struct, frozen=True):
    """What the kernel wrote since the last drain, on CLOCK_MONOTONIC.

    The columns are the sampler's own: they hold until the next drain.
    """

    samples: SampleColumns
    words: U64
    """Stacks first seen now (ids count on from the last drain), with context markers."""
    word_count: U32
    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings
    files: tuple[tuple[int, int, FileIdentity], ...]
    """(hash, pid, identity) of files first seen now."""
    kernel_symbols: tuple[KernelSymbol, ...]
    cgroups: dict[int, str]
    lost_samples: dict[int, int]
    """By core."""
    lost_sideband: dict[int, int]


class Sampler:
    def __init__(self, rate_hz: float, core: int, open_event: OpenEvent = perf_event_open) -> None:
        """Probes on `core`. OSError where this kernel or this user gets no events."""
        self._open = open_event
        self.rate_hz = rate_hz
        self.offer: Offer = probe(open_event, core, rate_hz)
        self._samples: dict[int, Ring] = {}
        self._sideband: dict[int, Ring] = {}
        self._leaving: tuple[list[Ring], list[Ring]] = [], []
        """Sample rings and side bands that nobody writes any more: read once more, then closed."""
        self._largest_sideband_bytes = LARGEST_SIDEBAND_BYTES
        self._samples_walker = SampleWalker(self.offer.sample.layout())
        self._sideband_walker = SideBandWalker(self.offer.sideband.layout())
        self._rest_walker = Walker([self.offer.sideband.layout()])
        # Before 3.16 a name that a main thread gets may be of an exec or not: take it for one.
        self._guesses_execs = any(one.name == "comm-exec" for one in self.offer.missing)
        self._rings: tuple[_OfCores, _OfCores] | None = None
        """All sample rings, all side bands; None: they have changed."""
        self.clock_offset_ns = 0
        """CLOCK_MONOTONIC minus the events' clock; stays 0 where they are the same."""

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(self._samples)

    @property
    def stack_count(self) -> int:
        return self._samples_walker.stack_count

    @property
    def ring_bytes(self) -> int:
        """Of one core's sample ring: smaller than asked for where memlock is short."""
        return min((ring.data_bytes for ring in self._samples.values()), default=0)

    def forget_stacks(self) -> None:
        """Start a new dictionary of stacks: ids count from 0 again."""
        self._samples_walker.forget_stacks()

    def forget_files(self) -> None:
        """Report every mapped file again: what follows must be readable by itself."""
        self._sideband_walker.forget_files()

    def watch(self, cores: Iterable[int]) -> tuple[int, ...]:
        """Have events on just these cores. Returns those that refused (gone again meanwhile)."""
        self._rings = None
        wanted = set(cores)
        for gone in set(self._samples) - wanted:
            self._leaving[0].append(self._samples.pop(gone))
            self._leaving[1].append(self._sideband.pop(gone))
        return tuple(core for core in sorted(wanted - set(self._samples)) if not self._add(core))

    def _add(self, core: int) -> bool:
        try:
            sample = Ring.map(self._open(self.offer.sample, -1, core), core, self._ring_size())
            self._samples[core] = sample
            self._sideband[core] = Ring.map(
                self._open(self.offer.sideband, -1, core), core, SIDEBAND_BYTES
            )
        except OSError as error:
            self._drop(core)
            if error.errno in (errno.ENODEV, errno.ENXIO, errno.EINVAL):
                return False
            raise
        # The side band first: a sample should not be of a process that we never heard of.
        self._sideband[core].enable()
        self._apply_rate(sample)
        sample.enable()
        return True

    def _enlarge_sideband(self, core: int) -> None:
        """Give a core on which more began than its ring could tell one of twice the size.

        It stays so large: where one storm was, there will be another.
        """
        small = self._sideband[core]
        size = 2 * small.data_bytes
        others = sum(ring.data_bytes for ring in self._sideband.values()) - small.data_bytes
        if size > self._largest_sideband_bytes or others + size > MOST_SIDEBAND_BYTES:
            return
        try:
            large = Ring.map(self._open(self.offer.sideband, -1, core), core, size)
        except OSError:
            return  # the core is gone, or the memory: what is lost goes on being counted
        if large.data_bytes <= small.data_bytes:  # all that memlock allows
            self._largest_sideband_bytes = small.data_bytes
            large.close()
            return
        small.disable()
        large.enable()
        self._sideband[core] = large
        self._leaving[1].append(small)
        self._rings = None

    def _drop(self, core: int) -> None:
        self._rings = None
        for rings in (self._samples, self._sideband):
            ring = rings.pop(core, None)
            if ring is not None:
                ring.close()

    def _ring_size(self) -> int:
        need = int(STALL_SECONDS * self.rate_hz * BYTES_A_SAMPLE)
        size = 1 << max(need - 1, 1).bit_length()
        return min(max(size, SMALLEST_SAMPLE_RING), LARGEST_SAMPLE_RING)

    def set_rate(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz
        self.offer.sample.sample_period = max(1, round(rate_hz))
        for ring in self._samples.values():
            self._apply_rate(ring)

    def _apply_rate(self, ring: Ring) -> None:
        if self.offer.event == "cpu-clock":
            ring.set_period(round(1e9 / self.rate_hz))
        else:
            ring.set_period(max(1, round(self.rate_hz)))

    def drain(self) -> Drained:
        samples, sideband = self._all_rings()
        walked = self._samples_walker.walk(samples.rings)
        told = self._sideband_walker.walk(sideband.rings)
        self._close_leaving()
        rest = self._rest_walker.walk(told.rest).records if len(told.rest) else None
        drained = Drained(
            samples=walked.samples,
            words=walked.words,
            word_count=walked.word_count,
            comms=told.comms,
            forks=told.forks,
            exits=told.exits,
            mappings=told.mappings,
            files=tuple(records.mapped_files(rest, set())) if rest else (),
            kernel_symbols=tuple(
                replace(symbol, time_ns=symbol.time_ns + self.clock_offset_ns)
                for symbol in (records.kernel_symbols(rest) if rest else ())
            ),
            cgroups=records.cgroup_paths(rest) if rest else {},
            lost_samples=samples.lost(),
            lost_sideband=sideband.lost(),
        )
        for core in drained.lost_sideband.keys() & self._sideband.keys():
            self._enlarge_sideband(core)
        if self.clock_offset_ns:
            self._shift(drained)
        if self._guesses_execs:
            drained.comms.is_exec[:] = drained.comms.pid == drained.comms.tid
        return drained

    def _all_rings(self) -> tuple[_OfCores, _OfCores]:
        if self._rings is None:
            self._rings = (
                _OfCores.of([*self._samples.values(), *self._leaving[0]]),
                _OfCores.of([*self._sideband.values(), *self._leaving[1]]),
            )
        return self._rings

    def _shift(self, drained: Drained) -> None:
        drained.samples.time[:] += np.uint64(self.clock_offset_ns % (1 << 64))
        for part in (drained.comms, drained.forks, drained.exits, drained.mappings):
            part.time[:] += self.clock_offset_ns

    def _close_leaving(self) -> None:
        for leaving in self._leaving:
            for ring in leaving:
                ring.close()
                self._rings = None
            leaving.clear()

    def close(self) -> None:
        self._close_leaving()
        for core in list(self._samples):
            self._drop(core)


class _OfCores(Struct, frozen=True):
    rings: Rings
    cores: tuple[int, ...]
    """Whose each of them is; a core may have two."""

    @staticmethod
    def of(rings: Sequence[Ring]) -> _OfCores:
        return _OfCores(Rings([ring.place for ring in rings]), tuple(ring.core for ring in rings))

    def lost(self) -> dict[int, int]:
        """By core, in the last walk."""
        lost: dict[int, int] = {}
        for core, amount in zip(self.cores, self.rings.lost.tolist(), strict=True):
            if amount:
                lost[core] = lost.get(core, 0) + amount
        return lost
