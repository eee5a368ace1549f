"""The clock of /dev/kmsg, which is also perf's default: local_clock() inside the kernel.

User space has no call that returns it. But setting our own thread's name (to what it is) makes the
kernel write a COMM record with the time on that clock, and we can look at CLOCK_MONOTONIC before
and after. The two agreed with /dev/kmsg to 0.03 ms; CLOCK_MONOTONIC drifts from both.
"""

from __future__ import annotations

import ctypes

import numpy as np

from exhume.host import Clock
from exhume.model.clock import ClockPair
from exhume.perf import records
from exhume.perf.attr import COUNT_SW_DUMMY, Attr, EventType, Flag, SampleType
from exhume.perf.native import Walker
from exhume.sampler.ring import SMALLEST_BYTES, Ring
from exhume.sampler.syscall import OpenEvent, perf_event_open

_PR_SET_NAME, _PR_GET_NAME = 15, 16
_TRIES = 5
_GOOD_ENOUGH_NS = 50_000
_libc = ctypes.CDLL(None, use_errno=True)


class KernelClock:
    """Pairs the three clocks. Must be read by the thread that opened it."""

    def __init__(self, clock: Clock, open_event: OpenEvent = perf_event_open) -> None:
        self._clock = clock
        attr = Attr(
            type=EventType.SOFTWARE,
            config=COUNT_SW_DUMMY,
            sample_type=SampleType.TID | SampleType.TIME,
            flags=Flag.DISABLED | Flag.COMM | Flag.SAMPLE_ID_ALL | Flag.EXCLUDE_KERNEL,
        )
        self._ring: Ring | None = None
        try:
            self._ring = Ring.map(open_event(attr, 0, -1), -1, SMALLEST_BYTES)
            self._ring.enable()
        except OSError:
            pass  # pairs go without the kernel log's clock; dmesg times are then only guessed
        self._walker = Walker([attr.layout()])
        self._buffer = np.empty(SMALLEST_BYTES, np.uint8)

    def pair(self) -> ClockPair:
        """All three clocks at one instant, as close together as we can get them."""
        best, best_width = self._pair_once()
        for _ in range(_TRIES - 1):
            if best_width < _GOOD_ENOUGH_NS:
                break
            pair, width = self._pair_once()
            if width < best_width:
                best, best_width = pair, width
        return best

    def _pair_once(self) -> tuple[ClockPair, int]:
        before = self._clock.monotonic_ns()
        wall = self._clock.wall_ns()
        between = self._clock.monotonic_ns()
        kernel = self._kernel_ns()
        after = self._clock.monotonic_ns()
        at = (before + between) // 2
        if kernel is not None:  # read later, and slowly: moved to where wall time was read
            kernel -= (between + after) // 2 - at
        return ClockPair(at, wall, kernel), after - before

    def _kernel_ns(self) -> int | None:
        if self._ring is None:
            return None
        name = ctypes.create_string_buffer(records.COMM_BYTES)
        _libc.prctl(_PR_GET_NAME, name, 0, 0, 0)
        self._ring.read(self._buffer)
        _libc.prctl(_PR_SET_NAME, name, 0, 0, 0)
        size = self._ring.read(self._buffer)
        times = records.comms(self._walker.walk(self._buffer[:size]).records).time
        return int(times[-1]) if len(times) else None

    def close(self) -> None:
        if self._ring is not None:
            self._ring.close()
            self._ring = None
