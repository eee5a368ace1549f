"""Which cores the sampler hears: as they come and go, fall silent, or births on them are missed."""

from __future__ import annotations

from exhume.host import Clock
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.record.liveness import Liveness
from exhume.sampler.sampler import Drained, Sampler

_SLEPT_NS = 100_000_000
"""A suspend takes all cores but one off line, however short it is."""
SCAN_AGAIN_NS = 10_000_000_000
LONGEST_SCAN_AGAIN_NS = 60_000_000_000
"""While births go on being missed: scanned over and over, a node pays more than it learns."""


class Hearing:
    def __init__(self, clock: Clock, sampler: Sampler | None, problems: dict[str, str]) -> None:
        """`problems` is told what does not work, under "samples"."""
        self._clock = clock
        self._sampler = sampler
        self._problems = problems
        self._liveness = Liveness()
        self._asleep_ns = self._slept_ns()
        self._has_begun = False
        self._has_missed = False
        self._scanned_ns = 0
        self._scan_again_ns = SCAN_AGAIN_NS
        self.cores: tuple[int, ...] = ()
        """On line when last looked at, heard or not."""

    def mind_cores(self, online: tuple[int, ...], now: int) -> list[Event]:
        """Follow the cores that are on line; what came and went."""
        before, self.cores = self.cores, online
        if self._sampler is not None and set(online) != set(self._sampler.cores):
            self._watch(self._sampler, online)
        self._has_begun = True
        if not before or before == online:
            return []
        gone, come = set(before) - set(online), set(online) - set(before)
        return [
            Event(now, kind, str(core), core=core)
            for kind, cores in (("core-offline", gone), ("core-online", come))
            for core in sorted(cores)
        ]

    def mind_silence(self, drained: Drained | None, readings: list[Reading]) -> None:
        """Events die with a core that goes off line, also where it is back before we look."""
        slept_ns = self._slept_ns()
        has_slept = slept_ns - self._asleep_ns > _SLEPT_NS
        self._asleep_ns = slept_ns
        if self._sampler is None or drained is None:
            return
        self._has_missed |= bool(drained.lost_sideband)
        silent = self._liveness.silent(readings, drained.samples.cpu)
        if has_slept or silent:
            deaf = self._sampler.cores if has_slept else silent
            self._watch(self._sampler, tuple(c for c in self._sampler.cores if c not in deaf))
            self._watch(self._sampler, self.cores)

    def wants_scan(self, now: int) -> bool:
        """Whose birth was missed has no name; another scan finds who is still there."""
        return self._has_missed and now - self._scanned_ns >= self._scan_again_ns

    def scanned(self, now: int) -> None:
        again = 2 * self._scan_again_ns if self._has_missed else SCAN_AGAIN_NS
        self._scan_again_ns = min(again, LONGEST_SCAN_AGAIN_NS)
        self._has_missed, self._scanned_ns = False, now

    def _watch(self, sampler: Sampler, online: tuple[int, ...]) -> None:
        """A core that refuses is asked again next second."""
        # Until now nobody heard who was born there.
        self._has_missed |= self._has_begun and not set(online) <= set(sampler.cores)
        try:
            refused = sampler.watch(online)
        except OSError as error:
            self._problems["samples"] = f"events could not be opened: {error.strerror}"
            return
        if refused:
            self._problems["samples"] = f"no events on core {', '.join(map(str, refused))}"
        else:
            self._problems.pop("samples", None)

    def _slept_ns(self) -> int:
        return self._clock.boottime_ns() - self._clock.monotonic_ns()
