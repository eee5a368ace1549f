"""What is not known of an imported recording: other files would have told, not another recorder."""

from __future__ import annotations

from pathlib import Path

from exhume.inquiry.asked import Question
from exhume.inquiry.why import why
from exhume.store.ended import is_imported
from exhume.store.queries.units import lifecycles
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.ingest import made
from tests.ingest.made import do_import
from tests.ingest.test_snapshots import CGROUP_STAT, CGROUPS, LOADAVG, mark
from tests.store.make import by_hand

OF_A_RECORDER = ("recorder", "a minute", "was made", "hides", "listens", "CAP_")


def imported(folder: Path, copy: str) -> Recording:
    text = "".join(mark(10 * i) + copy for i in range(4))
    do_import(folder / "out", made.write(folder / "copies.log", text))
    return Recording.open(folder / "out")


def test_files_that_would_have_told_are_named(tmp_path: Path) -> None:
    recording = imported(tmp_path, LOADAVG)
    window = recording.window()
    (cgroups,) = zombies(recording, window).missing
    units, containers = lifecycles(recording, window).notes
    gaps = why(recording, window, Question()).gaps
    assert "cgroup.stat" in cgroups
    assert "systemctl list-units" in units
    assert "docker ps" in containers
    assert any(gap.endswith("import perf captures") for gap in gaps)
    for said in (cgroups, units, containers, *gaps):
        assert not [word for word in OF_A_RECORDER if word in said]


def test_that_nobody_was_harmed_is_not_said_without_asking_for_the_logs(tmp_path: Path) -> None:
    recording = imported(tmp_path, LOADAVG)
    case = why(recording, recording.window(), Question())
    assert case.verdict.status == "healthy"
    assert any("dmesg" in gap for gap in case.gaps)
    stuck = "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [a:7]"
    line = f"2026-11-15T20:15:40.000000+00:00 node-1 kernel: {stuck}\n"
    log = made.write(tmp_path / "kern.log", line)
    do_import(tmp_path / "both", made.write(tmp_path / "copies.log", mark(0) + LOADAVG), log)
    both = Recording.open(tmp_path / "both")
    assert not any("dmesg" in gap for gap in why(both, both.window(), Question()).gaps)


def test_a_count_of_directories_is_what_makes_zombies_of_cgroups(tmp_path: Path) -> None:
    recording = imported(tmp_path, CGROUPS)
    (said,) = zombies(recording, recording.window()).missing
    assert "find /sys/fs/cgroup/memory -type d" in said


def test_where_zombies_were_counted_nothing_is_missing(tmp_path: Path) -> None:
    recording = imported(tmp_path, CGROUP_STAT)
    assert zombies(recording, recording.window()).missing == ()


def test_what_a_recorder_wrote_was_not_imported(tmp_path: Path) -> None:
    write_segment(tmp_path, by_hand([]))
    assert not is_imported(Recording.open(tmp_path))
