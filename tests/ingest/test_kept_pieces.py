from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest import spill
from exhume.ingest.kept_pieces import KeptPieces, size_bytes
from exhume.ingest.piece import ClockKind, Hints, Piece
from exhume.model.event import Event


def piece(events: int) -> Piece:
    told = tuple(Event(number, "exec", "x") for number in range(events))
    return Piece(Hints(), ClockKind.WALL, None, events=told)


def saved(folder: Path, number: int, events: int) -> Path:
    spill.save(folder, number, piece(events))
    return spill.path_of(folder, number)


def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which files are read from now on."""
    seen: list[Path] = []
    load = spill.load

    def noted(path: Path) -> Piece:
        seen.append(path)
        return load(path)

    monkeypatch.setattr(spill, "load", noted)
    return seen


def test_the_last_ones_are_kept_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = (saved(tmp_path, number, 10) for number in range(3))
    kept, seen = KeptPieces(2 * size_bytes(piece(10))), loads(monkeypatch)
    for path in (a, b, a, c, a, b):
        assert kept.load(path) == piece(10)
    assert seen == [a, b, c, b]
    kept.clear()
    kept.load(b)
    assert seen == [a, b, c, b, b]


def test_a_large_one_is_loaded_each_time_and_drives_out_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = saved(tmp_path, 0, 10), saved(tmp_path, 1, 1000)
    kept, seen = KeptPieces(20 * size_bytes(piece(10))), loads(monkeypatch)
    for path in (small, large, large, small):
        kept.load(path)
    assert seen == [small, large, large]
