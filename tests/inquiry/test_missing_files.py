"""What is not known of an imported recording: other files would have told, not another recorder."""

from __future__ import annotations

import re
from pathlib import Path

from exhume.cli.main import main
from exhume.inquiry.asked import CANT_TELL, Question
from exhume.inquiry.check import check_imported
from exhume.inquiry.why import why
from exhume.model.case import Case
from exhume.store.ended import ended, is_imported
from exhume.store.queries.units import lifecycles
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from exhume.web.diagnosis import entries
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
    assert (case.verdict.status, case.verdict.summary) == ("unknown", CANT_TELL)
    assert any("dmesg" in gap for gap in case.gaps)
    stuck = "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [a:7]"
    line = f"2026-11-15T20:15:40.000000+00:00 node-1 kernel: {stuck}\n"
    log = made.write(tmp_path / "kern.log", line)
    do_import(tmp_path / "both", made.write(tmp_path / "copies.log", mark(0) + LOADAVG), log)
    both = Recording.open(tmp_path / "both")
    assert not any("dmesg" in gap for gap in why(both, both.window(), Question()).gaps)


def case_of(folder: Path, name: str, *files: str) -> Case:
    do_import(folder / name, *files)
    recording = Recording.open(folder / name)
    return why(recording, recording.window(), Question())


CAPTURE = "perf-node-1-20261115-201517-40s.data"
QUIET = "2026-11-15T20:15:2{}.000000+00:00 node-1 kernel: eth0: link becomes ready\n"


def test_samples_without_names_cannot_tell_that_nobody_was_harmed(tmp_path: Path) -> None:
    path = made.write(tmp_path / CAPTURE, made.capture(40.0).file())
    names = made.write(tmp_path / "kallsyms", made.KALLSYMS)
    bare = case_of(tmp_path, "bare", path)
    assert (bare.verdict.status, bare.verdict.summary) == ("unknown", CANT_TELL)
    assert (bare.symptom, bare.suspects) == (None, ())
    assert any("/proc/kallsyms" in gap for gap in bare.gaps)
    assert case_of(tmp_path, "named", path, names).verdict.status == "healthy"
    unnamed = re.sub(r"\S+ \(\[kernel", "[unknown] ([kernel", made.script(40.0))
    text = made.write(tmp_path / "perf-node-1-20261115-201517-40s.txt", unnamed)
    assert case_of(tmp_path, "text", text).verdict.status == "unknown"


def test_a_log_that_is_silent_tells_that_nobody_was_harmed(tmp_path: Path) -> None:
    """Nothing of it is in the recording: that it was read is noted beside."""
    path = made.write(tmp_path / CAPTURE, made.capture(40.0).file())
    lines = "".join(QUIET.format(second) for second in range(8))
    log = made.write(tmp_path / "kern.log", lines)
    assert case_of(tmp_path, "both", path, log).verdict.status == "healthy"
    stuck = lines.replace("node-1", "node-2").replace("eth0: link", "watchdog: BUG: soft lockup")
    do_import(tmp_path / "two", path, made.write(tmp_path / "other.log", stuck))
    recording = Recording.open(tmp_path / "two" / "node-1")
    assert why(recording, recording.window(), Question()).verdict.status == "unknown"


def test_a_log_of_starts_alone_cannot_tell_of_harm_to_others(tmp_path: Path) -> None:
    died = (
        "2026-11-15T20:15:2{}.000Z supervisor[1]: x.service: Main process 18{} exited, "
        "code=exited, status=1/FAILURE after 8ms; restart counter is at {}.\n"
    )
    lines = "".join(died.format(i, i, i + 1) for i in range(9))
    case = case_of(tmp_path, "alone", made.write(tmp_path / "supervisor.log", lines))
    assert (case.verdict.status, case.verdict.summary) == ("unknown", CANT_TELL)
    more = lines + "2026-11-15T20:15:30.000Z app[7]: INFO health checks ok=970\n"
    beside = case_of(tmp_path, "beside", made.write(tmp_path / "both.log", more))
    assert beside.verdict.status == "healthy"


def test_samples_of_a_moment_tell_of_no_harm(tmp_path: Path) -> None:
    path = made.write(tmp_path / "perf-node-1-20261115-201517-5s.data", made.capture(5.0).file())
    names = made.write(tmp_path / "kallsyms", made.KALLSYMS)
    case = case_of(tmp_path, "out", path, names)
    assert case.verdict.status == "unknown"
    assert any("too short a time" in gap for gap in case.gaps)


def test_the_page_and_check_say_that_nobody_can_tell(tmp_path: Path) -> None:
    path = made.write(tmp_path / CAPTURE, made.capture(40.0).file())
    case_of(tmp_path, "bare", path)
    recording = Recording.open(tmp_path / "bare")
    (entry,) = entries(recording, recording.window(), 5)
    assert (entry.id, entry.case.verdict.summary) == ("unknown", CANT_TELL)
    over = ended(recording)
    assert over is not None
    found = check_imported(recording, over)
    assert any("could tell of harm" in one for one in found.missing)
    assert main(["why", "--json", "--data", str(tmp_path / "bare")]) == 2


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
