from __future__ import annotations

from pathlib import Path

from exhume.store.ended import ended, ended_in
from exhume.store.layout import heads_path
from exhume.store.recording import Recording
from tests.cli.story import record
from tests.ingest import made
from tests.ingest.made import do_import, write


def imported(tmp_path: Path) -> Path:
    """A capture of four seconds, and a kernel log that begins a fortnight before it."""
    path = write(tmp_path / "perf-node-1-20261115-201517-4s.data", made.capture(4.0).file())
    log = write(
        tmp_path / "kern.log",
        "2026-11-02T03:00:00Z node-1 kernel: [ 9.1] Out of memory: Killed process 71 (worker) "
        "total-vm:1kB, anon-rss:1kB, file-rss:0kB\n",
    )
    do_import(tmp_path / "out", path, log, node="node-1")
    return tmp_path / "out"


def test_an_import_has_ended_and_tells_where_something_was_measured(tmp_path: Path) -> None:
    root = imported(tmp_path)
    found = ended(Recording.open(root))
    assert found is not None
    assert ended_in(root) == found
    assert found.whole == Recording.open(root).window()
    assert found.measured.end_ns == found.whole.end_ns
    assert found.whole.seconds > 13 * 86_400
    assert round(found.measured.seconds, 3) == 4


def test_what_a_recorder_wrote_has_not_ended(tmp_path: Path) -> None:
    record(tmp_path)
    assert ended_in(tmp_path) is None


def test_a_directory_that_is_recorded_to_has_not_ended(tmp_path: Path) -> None:
    root = imported(tmp_path)
    heads_path(root).mkdir()
    assert ended_in(root) is None


def test_nothing_has_no_end(tmp_path: Path) -> None:
    assert ended_in(tmp_path) is None
    assert ended_in(tmp_path / "nowhere") is None
