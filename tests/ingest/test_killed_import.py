"""An import that was killed: what is there is sound, and the next one goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import exhume.ingest.importing as importing
import exhume.ingest.work as work
from exhume.ingest import merge
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.ingest import made
from tests.ingest.made import NS, do_import, segments, stacks, total, write

STARTED_NS = 1794773717 * NS


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize("merges", [0, 1, 2, 3])
def test_killed_while_it_merges_it_goes_on_and_counts_nothing_twice(
    merges: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MERGE_EVERY", 2)
    # Two of them reach over a border of ten minutes.
    starts = [585 * NS, 595 * NS, 1195 * NS, 1210 * NS]
    files = [
        write(tmp_path / f"{i}.txt", made.script(10.0, start_ns=start))
        for i, start in enumerate(starts)
    ]
    offset = STARTED_NS // (600 * NS) * 600 * NS
    real, left = write_segment, merges

    def dying(*arguments: object) -> Path:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(work, "write_segment", dying)
    out = tmp_path / "out"
    with pytest.raises(Killed):
        do_import(out, *files, offset_ns=offset)
    if merges:
        Recording.open(out)  # what is there is sound
    monkeypatch.setattr(work, "write_segment", real)
    report = do_import(out, *files, offset_ns=offset)
    assert {one.state for one in report.inputs} <= {"imported", "known"}
    assert total(out) == 4 * 1000
    do_import(tmp_path / "once", *files, offset_ns=offset)
    assert stacks(out) == stacks(tmp_path / "once")
    assert [s.window for s in segments(out)] == [s.window for s in segments(tmp_path / "once")]
    assert sorted(p.name for p in (out / "import").iterdir()) == ["lock", "manifest.jsonl"]


def test_killed_between_a_segment_and_the_removal_of_the_old_one_it_heals(tmp_path: Path) -> None:
    first = write(tmp_path / "a.txt", made.script(1.0, start_ns=20 * NS))
    second = write(tmp_path / "b.txt", made.script(1.0, start_ns=5 * NS))
    third = write(tmp_path / "c.txt", made.script(1.0, start_ns=40 * NS))
    out = tmp_path / "out"
    do_import(out, first, offset_ns=STARTED_NS)
    (old,) = (out / "segments").iterdir()
    kept = tmp_path / "kept"
    shutil.copytree(old, kept)
    do_import(out, second, offset_ns=STARTED_NS)
    shutil.copytree(kept, old)  # as if it had not come to removing it
    assert total(out) == 300
    do_import(out, third, offset_ns=STARTED_NS)
    assert total(out) == 300
    assert len(segments(out)) == 1


def test_a_killed_import_leaves_a_recording_and_goes_on(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "in" / f"{i:02}.txt", made.script(2.0, start_ns=(5 + 60 * i) * NS))
        for i in range(40)
    ]
    out = tmp_path / "out"
    code = (
        "import sys; from exhume.cli.main import main; "
        f"sys.exit(main(['import', {str(tmp_path / 'in')!r}, '--into', {str(out)!r}, "
        f"'--offset', '{STARTED_NS // NS}', '--jobs', '2']))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < deadline:
        if any((out / "segments").glob("2*")):
            os.killpg(child.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    child.wait(timeout=60)
    assert Recording.open(out).spans()
    report = do_import(out, *files, offset_ns=STARTED_NS)
    assert {one.state for one in report.inputs} <= {"imported", "known"}
    assert total(out) == 40 * 200


def test_what_is_left_of_a_killed_import_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", made.script(0.1))
    with importing._alone(tmp_path / "out", tmp_path / "out" / "import"):
        # As its workers do, it has the lock from whoever took it, who is gone first.
        left = os.fork()
        if not left:
            time.sleep(0.3)
            os._exit(0)
    do_import(tmp_path / "out", path)
    ended, _ = os.waitpid(left, os.WNOHANG)
    assert ended == left, "it went on beside it"


def test_killed_at_any_step_of_merging_anew_it_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is merged anew begins when the old did, and either is cut into several segments."""
    monkeypatch.setattr(merge, "MAX_ROWS", 300)
    first = write(tmp_path / "a.txt", made.script(5.0, start_ns=20 * NS))
    second = write(tmp_path / "b.txt", made.script(5.0, start_ns=30 * NS))
    once, was = tmp_path / "once", tmp_path / "was"
    do_import(once, first, second, offset_ns=STARTED_NS)
    do_import(was, first, offset_ns=STARTED_NS)
    assert len(segments(was)) > 1
    real = Path.rename
    for steps in range(100):
        left = steps

        def dying(path: Path, to: Path) -> Path:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(path, to)

        out = tmp_path / f"out-{steps}"
        shutil.copytree(was, out)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", dying)
            try:
                do_import(out, second, offset_ns=STARTED_NS)
                break
            except Killed:
                pass
        assert total(out) >= 500, "what was there stays"
        do_import(out, second, offset_ns=STARTED_NS)
        assert stacks(out) == stacks(once), steps
        assert total(out) == 1000
    assert steps > 6, "it was killed in the middle of it"


def test_a_damaged_segment_does_not_take_others_of_its_import_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "MAX_ROWS", 300)
    out = tmp_path / "out"
    first = write(tmp_path / "a.txt", made.script(5.0, start_ns=20 * NS))
    do_import(out, first, offset_ns=STARTED_NS)
    *others, last = sorted((out / "segments").iterdir())
    (last / "meta.json").write_text("{")
    kept = total(out)
    assert others
    second = write(tmp_path / "b.txt", made.script(1.0, start_ns=30 * NS))
    do_import(out, second, offset_ns=STARTED_NS)
    assert total(out) == kept + 100
