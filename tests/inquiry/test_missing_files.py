"""What is not known of an imported recording: other files would have told, not another recorder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exhume.cli.cores import ask
from exhume.cli.main import main
from exhume.inquiry.asked import CANT_TELL, NO_LOG, Question
from exhume.inquiry.check import check_imported
from exhume.inquiry.why import why
from exhume.model.case import Case
from exhume.model.window import Window
from exhume.store.ended import ended, is_imported
from exhume.store.queries.irqs import irqs
from exhume.store.queries.top import top
from exhume.store.queries.units import lifecycles
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from exhume.web.diagnosis import entries
from tests.ingest import made
from tests.ingest.made import NS, do_import
from tests.ingest.test_pidstat import TEXT as PIDSTAT
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


def test_an_answer_without_samples_cores_or_interrupts_says_which_files_have_them(
    tmp_path: Path,
) -> None:
    recording = imported(tmp_path, LOADAVG)
    window = recording.window()
    assert top(recording, window).notes == (
        "no samples are in the files: import perf captures too",
    )
    (cores,) = ask(recording, window, 10, ()).notes
    (interrupts,) = irqs(recording, window).notes
    assert "mpstat" in cores
    assert "/proc/interrupts" in interrupts


def test_of_pidstat_alone_it_is_said_where_its_processes_are_to_be_seen(tmp_path: Path) -> None:
    do_import(tmp_path / "out", made.write(tmp_path / "pidstat.txt", PIDSTAT))
    recording = Recording.open(tmp_path / "out")
    assert "exhume series process.user" in top(recording, recording.window()).notes[-1]


def test_what_was_counted_at_other_times_is_not_said_to_be_in_no_file(tmp_path: Path) -> None:
    recording = imported(tmp_path, CGROUPS)
    start_ns = recording.window().start_ns
    between = Window(start_ns + 2 * NS, start_ns + 5 * NS)
    (told,) = zombies(recording, between).missing
    assert "longer window" in told
    gaps = [gap for gap in why(recording, between, Question()).gaps if "cgroups" in gap]
    assert "longer window" in gaps[0]
    assert not [one for one in (told, *gaps) if "import" in one]


def test_that_nothing_loops_is_said_only_where_a_start_would_have_been_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = imported(tmp_path, LOADAVG)
    assert not lifecycles(recording, recording.window()).is_told
    main(["units", "--data", str(tmp_path / "out")])
    told = capsys.readouterr().out
    assert "The files tell of nobody who starts or ends." in told
    assert "Nothing loops" not in told
    table = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n  a.service loaded active running A\n"
    units = imported(tmp_path / "units", table)
    window = units.window()
    assert lifecycles(units, window).is_told
    assert not lifecycles(units, window, ("container",)).is_told


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


def test_whether_it_is_gone_is_answered_where_nobody_was_harmed_before_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = imported(tmp_path, LOADAVG)
    fix_ns = recording.window().start_ns + 5 * NS
    found = why(recording, recording.window(), Question(fix_ns=fix_ns)).since_fix
    assert found is not None
    assert (found.status, found.before, found.after) == ("unknown", 0, 0)
    data = str(tmp_path / "out")
    assert main(["why", "--data", data, "--since-fix", str(fix_ns // NS)]) == 2
    assert "nothing to compare with" in " ".join(capsys.readouterr().out.split())


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
    named = case_of(tmp_path, "named", path, names)
    assert (named.verdict.status, named.verdict.summary) == ("healthy", NO_LOG)
    unnamed = re.sub(r"\S+ \(\[kernel", "[unknown] ([kernel", made.script(40.0))
    text = made.write(tmp_path / "perf-node-1-20261115-201517-40s.txt", unnamed)
    assert case_of(tmp_path, "text", text).verdict.status == "unknown"


@pytest.mark.parametrize("event", ["cpu-clock", "sched:sched_switch", "page-faults"])
def test_who_is_seen_whenever_something_happens_was_not_held(event: str, tmp_path: Path) -> None:
    """A thread that falls asleep in the same call a hundred times a second is no victim."""
    before = made.script(60.0).replace("worker    70", "others    50")
    text = (before + made.script(20.0, start_ns=65 * made.NS)).replace("cpu-clock", event)
    case = case_of(tmp_path, "out", made.write(tmp_path / "out.txt", text))
    if event == "cpu-clock":
        assert case.symptom is not None
        assert case.symptom.victim.comm == "worker"
        return
    assert (case.verdict.status, case.verdict.summary) == ("unknown", CANT_TELL)
    assert (case.symptom, case.suspects) == (None, ())
    assert any("no measure of time" in gap for gap in case.gaps)


def test_a_log_that_is_silent_tells_that_nobody_was_harmed(tmp_path: Path) -> None:
    """Nothing of it is in the recording: that it was read is noted beside."""
    path = made.write(tmp_path / CAPTURE, made.capture(40.0).file())
    lines = "".join(QUIET.format(second) for second in range(8))
    log = made.write(tmp_path / "kern.log", lines)
    both = case_of(tmp_path, "both", path, log).verdict
    assert (both.status, both.summary) == ("healthy", "nobody was harmed in this window")
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


def test_where_samples_of_another_time_are_placed_by_a_guess_it_is_said(tmp_path: Path) -> None:
    """As when somebody copied the files: each of them was last written just now."""
    failed = "2026-11-15T20:15:40.000Z ERROR health check timed out after 2.0s\n"
    log = made.write(tmp_path / "app.log", failed)
    names = made.write(tmp_path / "kallsyms", made.KALLSYMS)
    plain = made.write(tmp_path / "perf.data", made.capture(40.0).file())
    (said,) = (gap for gap in case_of(tmp_path, "plain", log, plain, names).gaps if "guess" in gap)
    assert said.startswith("when perf.data was recorded is a guess by the time of its file")
    assert "--offset" in said
    named = made.write(tmp_path / CAPTURE, made.capture(40.0).file())
    assert not any("guess" in gap for gap in case_of(tmp_path, "named", log, named, names).gaps)
