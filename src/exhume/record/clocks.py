"""Keeps CLOCK_MONOTONIC, wall time and the kernel log's clock paired while recording."""

from __future__ import annotations

from exhume.host import Clock
from exhume.model.clock import ClockPair, is_step
from exhume.model.event import Event
from exhume.record.head import Head
from exhume.sampler.kernel_clock import KernelClock

PAIR_EVERY_NS = 60_000_000_000


class Clocks:
    def __init__(self, clock: Clock, kernel: KernelClock) -> None:
        self._clock = clock
        self._kernel = kernel
        self.pair: ClockPair = kernel.pair()
        """The newest."""

    def renew(self) -> ClockPair:
        self.pair = self._kernel.pair()
        return self.pair

    def mind(self, now_ns: int, head: Head) -> Event | None:
        """Pair once a minute, and at once where the wall clock was set or the machine slept."""
        quick = ClockPair(now_ns, self._clock.wall_ns())
        stepped = is_step(self.pair, quick)
        if not stepped and now_ns - self.pair.monotonic_ns < PAIR_EVERY_NS:
            return None
        before, pair = self.pair, self.renew()
        event = None
        if stepped:
            seconds = (pair.offset_ns - before.offset_ns) / 1e9
            text = f"the wall clock moved by {seconds:+.3f} s against the machine's own"
            fields: dict[str, str | int | float] = {"seconds": round(seconds, 6)}
            event = Event(now_ns, "clock-step", "wall clock", text, fields=fields)
            # The old mapping holds up to here, the new one from here on.
            head.write_pair(ClockPair(now_ns - 1, now_ns - 1 + before.offset_ns))
        head.write_pair(pair)
        return event

    def wall_ns(self, now_ns: int) -> int:
        return now_ns + self.pair.offset_ns
