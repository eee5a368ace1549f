from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.derive.stamps import some_years
from exhume.host import Host
from exhume.ingest.importing import Options, run
from exhume.ingest.journal import host_of
from exhume.ingest.log_hosts import is_same_machine, only_host, wanted_host
from exhume.ingest.report import ImportReport
from exhume.ingest.streams import Source
from exhume.ingest.syslog import SystemLog
from tests.ingest import made
from tests.ingest.log_made import journal_fields, journal_json

PAUSED = (
    "ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 6596000 usec. napi scheduled: 1"
)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}(\.[a-z]{1,4}){0,2}", fullmatch=True)


def line(host: str, second: int, text: str = PAUSED) -> str:
    return f"2026-11-16T03:00:{second:02}.000000+00:00 {host} kernel: {text}\n"


SERVED = "".join(line(host, second) for second in range(20) for host in ("web-1", "gpu-7", "db-2"))


def imported(tmp_path: Path, node: str = "", log: str = SERVED, host: str = "") -> ImportReport:
    (tmp_path / "served.log").write_text(log)
    files = [str(tmp_path / "served.log")]
    if host:
        (tmp_path / "a.data").write_bytes(made.capture(1, host=host).file())
        files.append(str(tmp_path / "a.data"))
    return run(Options(tuple(files), tmp_path / "out", node, offset_ns=0), Host())


def paused(tmp_path: Path) -> int:
    found = [event for one in made.segments(tmp_path / "out") for event in one.events()]
    return sum(event.count for event in found if event.kind == "kernel-log")


@pytest.mark.parametrize("spelled", ["gpu-7", "gpu-7.example.org"])
def test_of_a_log_servers_file_the_lines_of_the_recorded_node_are_taken(
    tmp_path: Path, spelled: str
) -> None:
    report = imported(tmp_path, host=spelled)
    assert [one.node for one in report.recordings] == [spelled]
    log = next(one for one in report.inputs if one.path.endswith("served.log"))
    (problem,) = log.problems
    assert problem.startswith("40 lines are of other machines than gpu-7, and are left out")
    assert "web-1" in problem
    assert "db-2" in problem
    assert paused(tmp_path) == 20


def test_a_name_chooses_the_machine(tmp_path: Path) -> None:
    report = imported(tmp_path, node="db-2")
    assert [one.node for one in report.recordings] == ["db-2"]
    assert "other machines than db-2" in report.inputs[0].problems[0]
    assert paused(tmp_path) == 20


def test_a_name_that_no_line_has_renames_the_first_machine_and_that_is_said(
    tmp_path: Path,
) -> None:
    report = imported(tmp_path, node="ours")
    assert [one.node for one in report.recordings] == ["ours"]
    missed, others = report.inputs[0].problems
    assert missed.startswith("no line is of ours: those of web-1 were taken in its place")
    assert "other machines than web-1, and are left out: gpu-7, db-2" in others


def test_a_name_for_a_log_of_one_machine_is_a_name(tmp_path: Path) -> None:
    report = imported(tmp_path, node="ours", log=line("web-1", 1))
    assert [one.node for one in report.recordings] == ["ours"]
    assert report.inputs[0].problems == ()


def test_a_node_that_others_only_speak_of_is_not_the_logs(tmp_path: Path) -> None:
    log = "".join(line("web-1", second, f"{PAUSED} by gpu-7") for second in range(5))
    report = imported(tmp_path, node="gpu-7", log=log)
    assert report.inputs[0].problems == ()
    assert "5 of 5 lines" in " ".join(report.inputs[0].notes)


def test_a_node_whose_lines_come_late_is_found(tmp_path: Path) -> None:
    log = "".join(line("web-1", n % 60, f"{PAUSED} {n}") for n in range(3000)) + line("gpu-7", 59)
    report = imported(tmp_path, node="gpu-7", log=log)
    assert report.inputs[0].problems[0].startswith("3000 lines are of other machines than gpu-7")
    assert paused(tmp_path) == 1


def test_a_journal_of_several_machines_says_no_host_at_once() -> None:
    mixed = [journal_fields(PAUSED, _HOSTNAME=host) for host in ("web-1", "gpu-7")]
    assert host_of(journal_json(*mixed).encode()) == ""
    assert host_of(journal_json(mixed[0], mixed[0]).encode()) == "web-1"


@given(NAMES, NAMES)
@settings(max_examples=40, deadline=None)
def test_machines_are_the_same_both_ways_or_neither(one: str, other: str) -> None:
    assert is_same_machine(one, other) == is_same_machine(other, one)
    assert is_same_machine(one, f"{one}.{other}")
    assert only_host([one, f"{one}.x"]) == one


@given(st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=12), NAMES)
@settings(max_examples=25, deadline=None)
def test_the_host_found_is_one_that_has_lines(
    tmp_path_factory: pytest.TempPathFactory, hosts: list[tuple[str, bool]], node: str
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.log"
    path.write_text("".join(line(node if mine else host, 1) for host, mine in hosts))
    found = wanted_host(Source.of(path), SystemLog(path, some_years()), (node,))
    written = [node if mine else host for host, mine in hosts]
    assert found == next((host for host in written if is_same_machine(host, node)), "")
