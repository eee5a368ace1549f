"""What an import finds in the ten minutes that it writes to."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from exhume.ingest import written
from exhume.ingest.row_table import RowFile
from tests.ingest import made
from tests.ingest.made import NS, by_name, do_import, segments, stacks, total, write

WALL_NS = 1794773400 * NS


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "_LARGE_ROWS", 1)


def at(folder: Path, start_s: int, seconds: float = 10.0) -> str:
    """A capture that begins then."""
    return write(folder / f"{start_s}.txt", made.script(seconds, start_ns=start_s * NS))


def inodes(out: Path) -> set[int]:
    return {path.stat().st_ino for path in (out / "segments").iterdir()}


def test_what_is_large_and_of_another_time_is_not_written_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for start in (100, 200, 300):
        do_import(out, at(tmp_path, start), offset_ns=WALL_NS)
    before = inodes(out)
    assert len(before) == 3
    do_import(out, at(tmp_path, 110), at(tmp_path, 150), at(tmp_path, 250), offset_ns=WALL_NS)
    assert before < inodes(out)
    found = segments(out)
    assert all(one.end_ns <= other.start_ns for one, other in pairwise(found))
    assert total(out) == 6 * 1000
    once = tmp_path / "once"
    do_import(once, str(tmp_path / "*.txt"), offset_ns=WALL_NS)
    assert stacks(out) == stacks(once)


def test_only_what_is_of_the_same_time_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for start in (100, 200):
        do_import(out, at(tmp_path, start), offset_ns=WALL_NS)
    first, second = sorted((out / "segments").iterdir())
    before = first.stat().st_ino, second.stat().st_ino
    log = "2026-11-15T20:13:22Z app: ERROR health check timed out after 1.4s\n"
    do_import(out, write(tmp_path / "app.log", log), offset_ns=WALL_NS)
    assert (out / "segments" / first.name).stat().st_ino == before[0]
    assert before[1] not in inodes(out)
    assert total(out) == 2000


def test_an_input_is_in_one_of_them_and_is_not_taken_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = [at(tmp_path, start) for start in (100, 200, 300)]
    for file in files:
        do_import(out, file, offset_ns=WALL_NS)
    (out / "import" / "manifest.jsonl").unlink()  # as if it had been killed before it noted them
    report = do_import(out, *files, offset_ns=WALL_NS)
    assert {one.state for one in by_name(report).values()} == {"imported"}
    assert total(out) == 3000
    assert len(segments(out)) == 3


def test_samples_of_what_is_written_anew_wait_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that memory does not grow with how much was imported before."""
    monkeypatch.setattr(written, "_BLOCK_ROWS", 64)
    out, folder = tmp_path / "out", tmp_path / "again"
    folder.mkdir()
    do_import(out, at(tmp_path, 100), offset_ns=WALL_NS)
    before = stacks(out)
    (segment,) = segments(out)
    sampled = written.as_piece(segment, folder).sampled
    assert sampled is not None
    assert all(isinstance(rows, RowFile) for rows in sampled.rows.slots.values())
    assert len(sampled.rows) == total(out)
    second = segment.start_ns + 3 * NS
    read = sum(map(len, sampled.rows.between(second, second + NS)))
    assert read == len(segment.samples().rows(second, second + NS)) > 0
    log = "2026-11-15T20:11:45Z app: ERROR health check timed out after 1.4s\n"
    do_import(out, write(tmp_path / "app.log", log), offset_ns=WALL_NS)
    (anew,) = segments(out)
    assert anew.path != segment.path
    assert stacks(out) == before
    assert not list(out.rglob("*.again"))
