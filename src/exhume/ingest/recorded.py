"""What a recording holds after an import: what this one put there, and all before it."""

from __future__ import annotations

from pathlib import Path

from exhume.ingest.report import RecordingReport
from exhume.model.core import NO_CORE
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
    return RecordingReport(
        node=node,
        path=str(root),
        segments=len(segments),
        window=Window(min(w.start_ns for w in windows), max(w.end_ns for w in windows)),
        fields=tuple(sorted({block.field for one in segments for block in one.blocks})),
        samples=sum(one.samples for one in segments),
        sampled_cores=len(sampled),
    )
