"""What a recording holds after an import: what this one put there, and all before it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from exhume.ingest.report import RecordingReport
from exhume.model.core import NO_CORE
from exhume.model.fields import BY_ID
from exhume.model.window import Window
from exhume.store.meta import read_all
from exhume.store.sampled_cores import tells_time
from exhume.store.view import wall_window


def recorded(node: str, root: Path) -> RecordingReport | None:
    """None where no recording was made."""
    segments = read_all(root)
    if not segments:
        return None
    windows = [wall_window(one.clock, one.start_ns, one.end_ns) for one in segments]
    timed = (one for one in segments if any(map(tells_time, one.stretches)))
    sampled = {core for one in timed for core, _ in one.core_samples if core != NO_CORE}
    read = Counter[str]()
    for one in segments:
        read.update({block.field: block.ticks for block in one.blocks})
    return RecordingReport(
        node=node,
        path=str(root),
        segments=len(segments),
        window=Window(min(w.start_ns for w in windows), max(w.end_ns for w in windows)),
        fields=tuple(sorted(field for field, count in read.items() if _tells(field, count))),
        samples=sum(one.samples for one in segments),
        sampled_cores=len(sampled),
    )


def _tells(field: str, readings: int) -> bool:
    """What only grows tells of the time between two readings."""
    return readings > 1 or field not in BY_ID or BY_ID[field].kind != "counter"
