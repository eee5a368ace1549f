"""Tables of mpstat, read: what the tests of its text and of its clock ask."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timezone
from pathlib import Path

from exhume.derive.cpu import CoreShares, core_shares
from exhume.host import Host
from exhume.ingest import mpstat
from exhume.ingest.blocks import joined_blocks
from exhume.ingest.clocks import ClockHints
from exhume.ingest.context import Context
from exhume.ingest.piece import Piece
from exhume.ingest.streams import Source
from exhume.ingest.symbols import Places
from exhume.model.answers import MAP_MODES
from exhume.model.series import Block

NS = 1_000_000_000
EVENING = int(datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp())
BUSY = (21, 3, 8, 1, 0, 2, 1, 5, 0, 60)


def read(folder: Path, text: str | bytes, zone: timezone | None = None) -> list[Piece]:
    path = folder / "mpstat.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    context = Context(folder, Places(Host()), ClockHints(zone=zone))
    return list(mpstat.read(Source.of(path), context))


def joined(pieces: Sequence[Piece]) -> tuple[Block, ...]:
    return joined_blocks([(piece.blocks, 0) for piece in pieces], 0, 1 << 62)


def shares(pieces: Sequence[Piece]) -> CoreShares:
    found = core_shares(joined(pieces))
    assert found is not None
    return found


def at(found: CoreShares, core: int, instant: int) -> dict[str, float]:
    row = found.cores.index(core)
    here = {mode: float(found.percent[i, row, instant]) for i, mode in enumerate(MAP_MODES)}
    return here | {"idle": float(found.idle[row, instant])}
