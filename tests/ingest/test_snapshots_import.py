"""Logs that people keep by hand, imported together: one axis, exact counters before percentages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from exhume.cli.main import main
from exhume.ingest.report import InputReport
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import by_name, do_import
from tests.ingest.sysstat import IDLE, SYSTEM, mpstat
from tests.ingest.test_snapshots import CGROUPS

NS = 1_000_000_000
EVENING = 1794772800
"""2026-11-15 20:00:00 UTC"""
HOT = range(595, 607)
"""Over the border of ten minutes."""


def stat(seconds: range) -> str:
    """Core 1 is full of system time while it is hot; core 0 is idle."""
    out, system, idle = [], 500, 90_000
    for second in range(seconds.stop):
        if second in seconds:
            out.append(
                f"### {EVENING + second}.250 /proc/stat\ncpu  1 0 {system} {idle} 0 0 0 0 0 0\n"
                f"cpu0 1 0 2 {90_000 + second * 100} 0 0 0 0 0 0\n"
                f"cpu1 1 0 {system} {idle} 0 0 0 0 0 0\nctxt 1\n"
            )
        system, idle = (system + 100, idle) if second in HOT else (system, idle + 100)
    return "".join(out)


def table(seconds: range, start: int = 20 * 3600) -> str:
    instants: list[dict[int, Sequence[int]]] = [
        {0: IDLE, 1: SYSTEM if s in HOT else IDLE} for s in seconds
    ]
    return mpstat(instants, start=start + seconds.start)


def core_one(root: Path, start: int, end: int) -> list[float]:
    window = Window((EVENING + start) * NS, (EVENING + end) * NS)
    found = queries.core_map(Recording.open(root), window, end - start)
    row = found.cores.index(1)
    return [round(float(value), 1) for value in found.worst_percent_of_core[row]]


def test_a_night_of_mpstat_is_a_map_of_cores_without_seams(tmp_path: Path) -> None:
    path = made.write(tmp_path / "mpstat.txt", table(range(580, 1220)))
    report = do_import(tmp_path / "out", path)
    one = by_name(report)["mpstat.txt"]
    assert (one.state, one.format, one.cores) == ("imported", "mpstat", 2)
    assert "UTC" in one.clock
    assert report.recordings[0].node == "gpu-7"
    assert core_one(tmp_path / "out", 590, 612) == [0] * 5 + [100] * 12 + [0] * 5
    assert np.isfinite(core_one(tmp_path / "out", 580, 1220)).all()


def test_the_kernels_own_counters_win_and_mpstat_fills_their_holes(tmp_path: Path) -> None:
    # The logger could not run from 596 to 603; mpstat had a core of its own.
    copies = stat(range(585, 597)) + stat(range(603, 620))
    files = {"proc_stat.log": copies, "mpstat.txt": table(range(560, 640))}
    paths = [made.write(tmp_path / name, text) for name, text in files.items()]
    roots = [tmp_path / name for name in ("together", "stat first", "mpstat first")]
    do_import(roots[0], *paths, node="gpu-7")
    for path in paths:
        do_import(roots[1], path, node="gpu-7")
    for path in reversed(paths):
        do_import(roots[2], path, node="gpu-7")
    for root in roots:
        assert core_one(root, 565, 594) == [0] * 29
        inside = core_one(root, 597, 602)
        assert inside == [100] * 5, root
        assert core_one(root, 610, 635) == [0] * 25
        ticks = [
            int(tick)
            for view in Recording.open(root).views()
            for block in view.blocks("cpu.idle")
            for tick in block.tick_ns
        ]
        exact = {tick for tick in ticks if tick % NS == 250_000_000}
        assert len(exact) == 12 + 17, root
        # Where both told of a second, only the exact reading is there.
        assert not {EVENING * NS + s * NS for s in range(588, 595)} & set(ticks)


def test_the_time_of_a_reboot_is_a_gap_between_copies(tmp_path: Path) -> None:
    booted = "".join(
        f"### {EVENING + second}.250 /proc/stat\ncpu  1 0 9 {second} 0 0 0 0 0 0\n"
        f"cpu0 1 0 2 {second} 0 0 0 0 0 0\ncpu1 1 0 {second} 5 0 0 0 0 0 0\nctxt 1\n"
        for second in range(630, 640)
    )
    do_import(tmp_path / "out", made.write(tmp_path / "x.log", stat(range(590, 605)) + booted))
    assert core_one(tmp_path / "out", 596, 604) == [100] * 8
    assert np.isnan(core_one(tmp_path / "out", 605, 630)).all()
    assert core_one(tmp_path / "out", 631, 639) == [100] * 8


def test_local_times_are_put_where_the_other_files_are(tmp_path: Path) -> None:
    copies = made.write(tmp_path / "proc_stat.log", stat(range(60)))
    local = made.write(tmp_path / "mpstat.txt", table(range(60), start=22 * 3600))
    report = by_name(do_import(tmp_path / "out", copies, local))
    assert "UTC+02:00" in report["mpstat.txt"].clock
    assert _start(report["mpstat.txt"]) == EVENING
    told = by_name(do_import(tmp_path / "told", local, zone=_zone(22)))
    assert _start(told["mpstat.txt"]) == EVENING
    alone = by_name(do_import(tmp_path / "alone", local))
    assert _start(alone["mpstat.txt"]) == EVENING + 7200


def _start(report: InputReport) -> int:
    assert report.window is not None
    return report.window.start_ns // NS


def _zone(hour: int) -> object:
    from datetime import timedelta, timezone

    return timezone(timedelta(hours=hour - 20))


def test_copies_without_a_time_lie_at_the_ends_of_the_others(tmp_path: Path) -> None:
    made.write(tmp_path / "in/proc_stat.log", stat(range(60)))
    made.write(tmp_path / "in/proc_cgroups_start.txt", CGROUPS)
    made.write(tmp_path / "in/proc_cgroups_end.txt", CGROUPS.replace("352", "68680"))
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7"))
    assert _start(report["proc_cgroups_start.txt"]) == EVENING
    assert _start(report["proc_cgroups_end.txt"]) == EVENING + 59
    window = Window(EVENING * NS, (EVENING + 60) * NS)
    (found,) = queries.series(Recording.open(tmp_path / "out"), "memcg.tracked", window)
    assert found.values.tolist() == [352, 68680]


def test_a_copy_of_no_known_time_does_not_contradict_those_that_know_theirs(
    tmp_path: Path,
) -> None:
    known = "".join(f"### {EVENING + s}\n{CGROUPS}" for s in range(0, 60, 10))
    made.write(tmp_path / "in/cgroups.log", known)
    made.write(tmp_path / "in/a.txt", CGROUPS.replace("352", "3"))
    made.write(tmp_path / "in/b.txt", "MemTotal: 12 kB\nMemFree: 5 kB\n")
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7"))
    assert report["a.txt"].window is None
    assert "left out" in report["a.txt"].notes[-1]
    assert _start(report["b.txt"]) == EVENING + 50
    window = Window(EVENING * NS, (EVENING + 60) * NS)
    (found,) = queries.series(Recording.open(tmp_path / "out"), "memcg.tracked", window)
    assert set(found.values.tolist()) == {352}


@pytest.mark.parametrize("name", ["proc_stat.{}.txt", "stat-{}", "stat_{}000.gz"])
def test_one_file_an_instant_may_be_named_by_the_second(tmp_path: Path, name: str) -> None:
    marked = stat(range(595, 600)).split("### ")[1:]
    for number, text in enumerate(marked):
        body = text.split("\n", 1)[1]
        made.write(tmp_path / "in" / name.format(EVENING + 595 + number), body)
    report = do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7")
    assert [_start(one) for one in report.inputs] == list(range(EVENING + 595, EVENING + 600))
    assert core_one(tmp_path / "out", 595, 599) == [100] * 4


def test_a_count_that_stands_still_is_read_as_often_as_it_was_copied(tmp_path: Path) -> None:
    made.write(tmp_path / "in/proc_stat.log", stat(range(60)))
    for second in (10, 20, 30):
        made.write(tmp_path / f"in/cgroups.{EVENING + second}", CGROUPS)
    made.write(tmp_path / "in/cgroups_end.txt", CGROUPS)
    first = do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7")
    assert {one.state for one in first.inputs} == {"imported"}
    window = Window(EVENING * NS, (EVENING + 60) * NS)
    (found,) = queries.series(Recording.open(tmp_path / "out"), "memcg.tracked", window)
    assert found.values.tolist() == [352] * 4
    again = do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7")
    assert {one.state for one in again.inputs} == {"known"}


def test_copies_of_two_nodes_may_say_the_same(tmp_path: Path) -> None:
    for node in ("gpu-7", "gpu-8"):
        made.write(tmp_path / node / f"cgroups.{EVENING + 5}", CGROUPS)
        made.write(tmp_path / node / "mpstat.txt", table(range(60)).replace("gpu-7", node))
    given = [str(tmp_path / node) for node in ("gpu-7", "gpu-8")]
    report = do_import(tmp_path / "out", *given)
    assert {one.state for one in report.inputs} == {"imported"}
    window = Window((EVENING - 60) * NS, (EVENING + 120) * NS)
    for node in ("gpu-7", "gpu-8"):
        found = queries.series(Recording.open(tmp_path / "out" / node), "memcg.tracked", window)
        assert [one.values.tolist() for one in found] == [[352]], node


def test_a_clock_is_said_to_come_from_where_it_does(tmp_path: Path) -> None:
    tied = f"### {EVENING} uptime=5.5\n{CGROUPS}"
    made.write(tmp_path / "in/tied.log", tied)
    made.write(tmp_path / "in/plain.log", f"### {EVENING}\n0.16 0.03 0.01 4/79 179\n")
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in"), node="gpu-7"))
    assert "uptime in tied.log" in report["tied.log"].clock
    assert report["plain.log"].clock == "its times are wall times"


def test_counts_of_two_logs_make_zombies(tmp_path: Path) -> None:
    tracked = "".join(
        f"### {EVENING + s}\n" + CGROUPS.replace("352", str(240 + s)) for s in range(0, 60, 10)
    )
    live = "".join(f"### {EVENING + s}.4\n240\n" for s in range(0, 60, 10))
    paths = [
        made.write(tmp_path / "cgroups.log", tracked),
        made.write(tmp_path / "cgroup_dirs.log", live),
    ]
    do_import(tmp_path / "out", *paths)
    window = Window(EVENING * NS, (EVENING + 60) * NS)
    (found,) = queries.series(Recording.open(tmp_path / "out"), "memcg.zombies", window)
    assert found.values.tolist() == list(range(0, 60, 10))


def test_status_says_that_it_was_imported_and_from_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        made.write(tmp_path / "mpstat (1), a.txt", table(range(30))),
        made.write(tmp_path / "proc_stat.log", stat(range(30))),
    ]
    do_import(tmp_path / "out", *paths)
    assert main(["status", "--data", str(tmp_path / "out"), "--utc"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "imported at" in out
    assert "from 2 files" in out
    assert "mpstat (1), a.txt, proc_stat.log" in out
    assert "gpu-7" in out
    assert "never" not in out
    assert main(["status", "--data", str(tmp_path / "nothing")]) == 1
    assert "never recorded" in capsys.readouterr().out


def test_samples_that_do_not_say_their_core_show_a_question_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(
        f"worker    70 {1000 + i / 100:.6f}:   10000000 cpu-clock: \n"
        "\tffffffff81003004 memcg_numa_stat_show+0x4 ([kernel.kallsyms])\n\n"
        for i in range(100)
    )
    path = made.write(tmp_path / "out.txt", text)
    do_import(tmp_path / "out", path, offset_ns=EVENING * NS)
    words = ["--data", str(tmp_path / "out"), "--from", str(EVENING + 1000)]
    assert main(["top", *words, "--to", str(EVENING + 1001)]) == 0
    out = capsys.readouterr().out
    assert "65535" not in out
    assert "?" in next(line for line in out.splitlines() if line.rstrip().endswith("worker"))
