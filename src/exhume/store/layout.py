"""Names on disk: where things lie in a data directory, and what version of the format they have."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from exhume.model.segment import SegmentData

FORMAT_VERSION = 1
TICK_NS = 100_000
"""Sample times are stored in steps of this."""

META = "meta.json"
SAMPLES = "samples.parquet"
STACKS = "stacks.parquet"
FRAMES = "frames.parquet"
THREADS = "threads.parquet"
COUNTERS = "counters.parquet"
EVENTS = "events.parquet"
CORES = "cores.parquet"
PROCESSES = "processes.parquet"
FRAMES_MINUTE = "frames_minute.parquet"

TEMPORARY = ".tmp-"
"""What begins with this is not there yet, or no longer."""

PARTS = ("segments", "head", "symbols", "minutes", "pins", "import", "fingerprints")
"""The folders of a data directory. What else lies in one is somebody's."""

_NAME = re.compile(r"(\d{8}T\d{6}Z)-([0-9a-zA-Z]{1,8})-(\d+)")


def segments_path(root: Path) -> Path:
    return root / "segments"


def heads_path(root: Path) -> Path:
    return root / "head"


def symbols_path(root: Path) -> Path:
    return root / "symbols"


def minutes_path(root: Path) -> Path:
    return root / "minutes"


def pins_path(root: Path) -> Path:
    return root / "pins"


def import_path(root: Path) -> Path:
    """What an import notes down, so that it can go on."""
    return root / "import"


def fingerprints_path(root: Path) -> Path:
    return root / "fingerprints"


def segment_name(start_wall_ns: int, boot_id: str, start_ns: int) -> str:
    """20261115T201000Z-1f0c2a3b-86400000: sorts by time, and two boots never collide."""
    start = datetime.fromtimestamp(start_wall_ns // 1_000_000_000, UTC)
    boot = re.sub(r"[^0-9a-zA-Z]", "", boot_id)[:8] or "unknown"
    return f"{start:%Y%m%dT%H%M%SZ}-{boot}-{max(0, start_ns) // 1_000_000}"


def segment_path(root: Path, data: SegmentData, taken: Collection[Path] = ()) -> Path:
    """None of those that are `taken`: then its number is the next that is free."""
    wall_ns, number_ns = data.clock.wall(data.start_ns), data.start_ns
    while True:
        name = segment_name(wall_ns, data.origin.boot_id, number_ns)
        path = segments_path(root) / name
        if path not in taken:
            return path
        number_ns += 1_000_000


def wall_ns_of_name(name: str) -> int | None:
    """When a segment begins, to the second, by its name alone; None where it is no such name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        start = datetime.fromisoformat(match[1])  # strptime takes 8 ms, the first time
    except ValueError:
        return None
    return int(start.timestamp()) * 1_000_000_000


def day_of(wall_ns: int) -> str:
    return f"{datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC):%Y-%m-%d}"


def days(root: Path) -> list[str]:
    """The days of which there are minute roll-ups, oldest first."""
    try:
        names = [entry.name for entry in minutes_path(root).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if re.fullmatch(r"\d{4}-\d\d-\d\d", name))
