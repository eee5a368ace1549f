from __future__ import annotations

import gzip
from pathlib import Path

from exhume.ingest import uptime_marks
from exhume.ingest.piece import ClockKind, Trust
from exhume.ingest.streams import Source
from tests.ingest import made


def test_wall_time_and_uptime_noted_together_tie_the_clocks(tmp_path: Path) -> None:
    text = "".join(
        f"### {1794773717 + i}.630 2026-11-15T20:15:17.629Z uptime={5 + i}.58\ncpu 1 2\n\n"
        for i in range(9)
    )
    path = tmp_path / "proc_stat.log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    (piece,) = uptime_marks.read(Source.of(path), made.context(tmp_path))
    assert piece.clock == ClockKind.KERNEL_LOG
    assert piece.claim is not None
    assert piece.claim.offset_ns == 1794773712_050000000
    assert piece.claim.trust == Trust.UPTIME
    assert "9 readings" in piece.claim.how
    assert piece.span_ns() is None
