"""What a closing of ten minutes takes, without having recorded for ten minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from msgspec import Struct

from bench._overhead_plan import NS, SEGMENT_SECONDS
from bench._overhead_watch import POLL_SECONDS, Groups, peak_rss_bytes
from bench.workloads import lengthen
from exhume.store import meta


class Closed(Struct, frozen=True):
    """What the closer did, and what it left."""

    recorded_seconds: float
    samples: int
    cpu_seconds: float
    segment_bytes: int
    peak_bytes: int


def close_ten_minutes(groups: Groups, data: Path, end_ns: int, target: Path) -> Closed:
    """The closer on ten minutes made from the seconds that a recorder left in its head log."""
    (target / "head").mkdir(parents=True)
    (target / "symbols").symlink_to(data / "symbols")
    source = max((data / "head").glob("*.head"))
    lengthen(source, target / "head" / source.name, end_ns, SEGMENT_SECONDS)
    command = [
        sys.executable, "-m", "exhume.record.close", str(target),
        "--keep-seconds", "1e9", "--max-bytes", str(1 << 40), "--pinned-bytes", "0",
    ]  # fmt: skip
    spent_before = groups.cpu_ns("closer")
    process = groups.start(command, "closer", target / "log")
    # Not ru_maxrss: that one begins with what we had before exec.
    peak_bytes = 0
    while process.poll() is None:
        peak_bytes = max(peak_bytes, peak_rss_bytes(process.pid))
        time.sleep(POLL_SECONDS / 10)
    if process.returncode:
        raise RuntimeError(f"the closer failed: {(target / 'log').read_text()[-2000:]}")
    seconds, samples, size = segments(target)
    spent = (groups.cpu_ns("closer") - spent_before) / NS
    return Closed(seconds, samples, spent, size, peak_bytes)


def segments(data: Path) -> tuple[float, int, int]:
    """Seconds, samples and bytes of what was closed."""
    found = [meta.read(path) for path in sorted((data / "segments").glob("2*"))]
    seconds = sum(m.end_ns - m.start_ns for m in found) / NS
    return seconds, sum(m.samples for m in found), sum(m.size_bytes for m in found)
