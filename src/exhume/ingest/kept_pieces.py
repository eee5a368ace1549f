"""Pieces that were read or loaded last: mostly they are wanted next, and small ones are kept.

Those of ordinary files have some megabytes. What a hostile one has is loaded each time it is asked
for, so that no process holds more than one of them.
"""

from __future__ import annotations

from pathlib import Path

from exhume.ingest import spill
from exhume.ingest.piece import Piece

KEPT_BYTES = 96 << 20
"""Of all that a process keeps, if it is the only one."""
_NODE_BYTES, _FRAME_BYTES, _THREAD_BYTES, _EVENT_BYTES, _ROW_BYTES = 13, 250, 150, 500, 18
"""About what each takes once it is loaded, with its texts."""


def size_bytes(piece: Piece) -> int:
    """About how much memory it takes."""
    found = _EVENT_BYTES * len(piece.events)
    found += sum(block.values.nbytes + block.tick_ns.nbytes for block in piece.blocks)
    if (sampled := piece.sampled) is not None:
        found += _NODE_BYTES * len(sampled.tree.parent) + _FRAME_BYTES * len(sampled.tree.frames)
        found += _THREAD_BYTES * len(sampled.threads)
        found += _ROW_BYTES * sampled.rows.in_memory
    return found


class KeptPieces:
    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pieces: dict[Path, Piece] = {}
        """By the file they are in; the oldest first."""

    def keep(self, path: Path, piece: Piece) -> None:
        if (size := size_bytes(piece)) > self._most_bytes:
            return
        self._pieces[path] = piece
        held = sum(map(size_bytes, self._pieces.values()))
        while held > self._most_bytes and size < held:
            held -= size_bytes(self._pieces.pop(next(iter(self._pieces))))

    def load(self, path: Path) -> Piece:
        piece = self._pieces.pop(path, None) or spill.load(path)
        self.keep(path, piece)
        return piece

    def clear(self) -> None:
        self._pieces.clear()
