from __future__ import annotations

from pathlib import Path

import pytest

from exhume.errors import ParseError
from exhume.store import fingerprints, layout, retention

DAY = 86_400 * 10**9
START = 20_000 * DAY


def keep(root: Path, *days: int) -> None:
    for day in days:
        fingerprints.write(root, START + day * DAY, f"{day:016x}", b"{}")


def test_each_holds_until_the_next(tmp_path: Path) -> None:
    keep(tmp_path, 3, 1)
    (tmp_path / "fingerprints/other.txt").write_text("x")
    assert [one.hash for one in fingerprints.stored(tmp_path)] == [f"{1:016x}", f"{3:016x}"]
    assert fingerprints.in_force(tmp_path, START) is None
    for at, day in ((1, 1), (2, 1), (3, 3), (9, 3)):
        held = fingerprints.in_force(tmp_path, START + at * DAY)
        assert held is not None
        assert held.hash == f"{day:016x}"


def test_a_look_that_found_nothing_new_is_remembered(tmp_path: Path) -> None:
    keep(tmp_path, 1)
    (one,) = fingerprints.stored(tmp_path)
    fingerprints.confirm(one, START + 5 * DAY)
    assert one.checked_wall_ns() == START + 5 * DAY


def test_old_ones_go_but_the_one_that_still_holds_stays(tmp_path: Path) -> None:
    keep(tmp_path, 0, 1, 2, 95)
    retention.apply(tmp_path, 10 * DAY, 1 << 30, 1 << 30, START + 95 * DAY)
    left = [one.hash for one in fingerprints.stored(tmp_path)]
    assert left == [f"{2:016x}", f"{95:016x}"]


def test_half_a_file_of_a_crash_is_swept(tmp_path: Path) -> None:
    keep(tmp_path, 1)
    half = layout.fingerprints_path(tmp_path) / f"{layout.TEMPORARY}x"
    half.write_bytes(b"x")
    retention.apply(tmp_path, DAY, 1 << 30, 1 << 30, 2**62)
    assert not half.exists()


def test_a_damaged_one_is_told() -> None:
    with pytest.raises(ParseError, match="zstd"):
        fingerprints.unpack(b"\x28\xb5\x2f\xfd" + b"x" * 40, "f")
    assert fingerprints.unpack(b"{}", "f") == b"{}"
