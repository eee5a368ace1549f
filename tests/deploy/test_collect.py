"""The script for nodes without exhume, run for real, and what it collected imported."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from exhume.store import queries
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from tests.ingest.made import by_name, do_import
from tests.kernel.node import needs_root

SCRIPT = Path(__file__).parents[2] / "deploy" / "collect" / "collect.sh"
SECONDS = 4


def collect(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(SCRIPT), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.mark.kernel
@needs_root
def test_all_that_was_collected_is_read_and_lies_on_one_axis(tmp_path: Path) -> None:
    ran = collect(str(SECONDS), "evidence", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "exhume import evidence" in ran.stdout
    report = do_import(tmp_path / "out", str(tmp_path / "evidence"))
    inputs = by_name(report)
    assert not [one for one in report.inputs if one.state not in ("imported", "names")]
    (captured,) = [one for name, one in inputs.items() if name.endswith(".data")]
    assert captured.samples > 0
    # perf's clock is tied to wall time by the uptime in the marks, not guessed.
    assert "readings of wall time and uptime" in captured.clock
    recording = Recording.open(tmp_path / "out")
    copies, window = inputs["proc_stat.log"].window, captured.window
    assert copies is not None
    assert window is not None
    assert copies.overlaps(window)
    assert abs(copies.start_ns - window.start_ns) < 2 * 10**9
    times = queries.core_times(recording, copies)
    assert times
    assert zombies(recording, recording.window()).live


@pytest.mark.parametrize("words", [["soon"], ["0"], ["-5"]])
def test_a_wrong_number_of_seconds_says_what_to_write(tmp_path: Path, words: list[str]) -> None:
    ran = collect(*words, cwd=tmp_path)
    assert ran.returncode == 2
    assert "for example: sh collect.sh 120" in ran.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    ran = collect("1", "taken/below", cwd=tmp_path)
    assert ran.returncode == 1
    assert "name another folder" in ran.stderr


@pytest.mark.skipif(shutil.which("dash") is None, reason="needs dash, the smallest shell of Debian")
def test_it_is_a_script_for_any_shell(tmp_path: Path) -> None:
    assert subprocess.run(["dash", "-n", str(SCRIPT)]).returncode == 0
