"""Who takes turns in bench.overhead, and how long a turn is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

HZ = 97.0
MANY_SAMPLES_PER_SECOND = 9_300
"""What 96 cores make at 97 Hz."""
NOTHING, EXHUME, MANY, PERF = "nothing", "exhume 97 Hz", "exhume 9,300/s", "perf 97 Hz"
SEGMENT_SECONDS = 600
MIB = 1 << 20
NS = 1_000_000_000


class Plan(Struct, frozen=True):
    rounds: int
    start_up_seconds: float
    steady_seconds: float
    """With the end of a segment in them."""
    plain_seconds: float
    """After them, without."""
    close_after_seconds: float
    """From the start of the recorder to the end of its first segment."""
    fixed_seconds: float
    repeats: int
    """Of each fixed work, a turn."""
    has_long_close: bool


# perf writes a new file every 5 s: a steady window holds a whole number of them.
FULL = Plan(3, 5, 15, 15, 9, 0.8, 2, has_long_close=True)
QUICK = Plan(1, 3, 10, 5, 7, 0.4, 1, has_long_close=False)


class Contender(Struct, frozen=True):
    name: str
    command: Callable[[Path, Plan], list[str]] | None
    """Writes into that directory; None for no recorder at all."""
    is_exhume: bool = False


def contenders(cores: int) -> tuple[Contender, ...]:
    many_hz = max(HZ, MANY_SAMPLES_PER_SECOND / cores)
    return (
        Contender(NOTHING, None),
        Contender(EXHUME, lambda data, plan: _exhume(data, plan, HZ), is_exhume=True),
        Contender(MANY, lambda data, plan: _exhume(data, plan, many_hz), is_exhume=True),
        Contender(PERF, _perf),
    )


def _exhume(data: Path, plan: Plan, hz: float) -> list[str]:
    segment = segment_ending_in(plan.close_after_seconds, time.time())
    return [
        sys.executable, "-m", "exhume", "record", "--data", str(data), "--hz", f"{hz:g}",
        "--budget", "100", "--segment", f"{segment}s",
    ]  # fmt: skip


def segment_ending_in(seconds: float, now: float) -> int:
    """Segments end at multiples of their length: one of which a multiple falls due just then."""
    for late in (0, 1, 2, 3):
        for length in range(120, 3600):
            if (round(now + seconds) + late) % length == 0:
                return length
    return round(seconds)


def _perf(data: Path, _plan: Plan) -> list[str]:
    return [
        shutil.which("perf") or "/usr/bin/perf", "record", "-F", f"{HZ:g}", "-g", "-a",
        "--switch-output=5s", "--switch-max-files=2", "-o", str(data / "perf.data"),
    ]  # fmt: skip
