"""Captures that do not say which node they are of, beside files of several."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from exhume.ingest.report import ImportReport
from tests.ingest import made
from tests.ingest.made import NS, by_name, do_import, write
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE
from tests.perf.records_encoder import Mapped

NOW = 1_794_773_717
DAY = 86_400
UPTIMES = {"gpu-7": 3 * DAY, "gpu-8": 50 * DAY}
LOAD = "0.10 0.20 0.30 1/400 4242\n"


def written_at(path: str, seconds: int) -> str:
    os.utime(path, (seconds, seconds))
    return path


def capture(node: str, after: int = 0, programs: Sequence[int] = ()) -> bytes:
    """Two seconds of it; `programs`: where those lie that ran already."""
    found = made.capture(2.0, start_ns=(UPTIMES[node] + after) * NS, host=node)
    maps = [
        enc.mmap2(SHAPE, Mapped(pid=9 + i, start=start, path=b"/usr/bin/old"))
        for i, start in enumerate(programs)
    ]
    return replace(found, records=[*maps, *found.records]).file()


def cut(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def uptimes(folder: Path, name: str = "loadavg.log") -> None:
    """Of gpu-8, which its name does not say."""
    up = UPTIMES["gpu-8"]
    marks = (f"### {NOW + i}.250 uptime={up + i}.20\n{LOAD}" for i in range(10))
    write(folder / name, "".join(marks))


def imported(tmp_path: Path) -> ImportReport:
    return do_import(tmp_path / "out", str(tmp_path / "in"))


def seconds_off(report: ImportReport, name: str, told: int = NOW) -> float:
    window = by_name(report)[name].window
    assert window is not None
    return window.start_ns / NS - told


def test_a_cut_capture_is_not_on_the_clock_of_who_knows_what_node(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for node in UPTIMES:
        written_at(write(folder / f"{node}.data", capture(node)), NOW + 2)
    uptimes(folder)
    written_at(write(folder / "cut.data", cut(capture("gpu-7", 5))), NOW + 7)
    report = imported(tmp_path)
    one = by_name(report)["cut.data"]
    assert one.clock.startswith("guessed: it ended when the file was last written")
    assert seconds_off(report, "cut.data") == pytest.approx(6, abs=1)
    assert "which of gpu-7, gpu-8 it is of" in one.notes[0]
    assert any("does not say which machine it is of" in problem for problem in one.problems)
    assert any("offset 1" in p and "copy it again" in p for p in one.problems)
    # Nor is a whole one of another node.
    assert by_name(report)["gpu-7.data"].clock.startswith("guessed")
    assert seconds_off(report, "gpu-7.data") == pytest.approx(0, abs=0.1)
    # What agrees with those readings by itself is on that clock.
    assert "loadavg.log" in by_name(report)["gpu-8.data"].clock
    assert {one.node for one in report.recordings} == {"gpu-7", "gpu-8", "imported"}


def test_a_log_without_any_wall_time_says_on_whose_clock_it_is_put(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for node in UPTIMES:
        written_at(write(folder / f"{node}.data", capture(node)), NOW + 2)
    uptimes(folder)
    up = UPTIMES["gpu-8"] + 3
    line = f"[{up}.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]\n"
    write(folder / "dmesg.txt", line * 2)
    report = imported(tmp_path)
    clock = by_name(report)["dmesg.txt"].clock
    assert clock.startswith("guessed: as if both were of one node, by 10 readings")
    assert seconds_off(report, "dmesg.txt") == pytest.approx(3, abs=0.1)


def test_the_programs_that_a_cut_capture_found_tell_its_node(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    programs = {"gpu-7": (0x5555_0000_0000, 0x5666_0000_0000), "gpu-8": (0x5777_0000_0000,) * 2}
    for node in UPTIMES:
        name = f"perf-{node}-20261115-201517-2s.data"
        written_at(write(folder / name, capture(node, 0, programs[node])), NOW + 9 * DAY)
    whole = cut(capture("gpu-7", 5, programs["gpu-7"]))
    written_at(write(folder / "cut.data", whole), NOW + 9 * DAY)
    report = imported(tmp_path)
    one = by_name(report)["cut.data"]
    assert one.notes[0].startswith("of gpu-7, by the programs")
    assert seconds_off(report, "cut.data") == pytest.approx(5, abs=0.1)
    assert {one.node for one in report.recordings} == {"gpu-7", "gpu-8"}


def test_a_capture_beside_those_of_one_node_is_said_to_be_taken_for_its(tmp_path: Path) -> None:
    write(tmp_path / "in" / "whole.data", capture("gpu-7"))
    write(tmp_path / "in" / "cut.data", cut(capture("gpu-7", 5)))
    report = imported(tmp_path)
    assert [one.node for one in report.recordings] == ["gpu-7"]
    assert (
        by_name(report)["cut.data"]
        .notes[0]
        .startswith("it does not say which node it is of: taken for gpu-7")
    )
    assert not any("which node" in note for note in by_name(report)["whole.data"].notes)


def test_nodes_that_only_show_when_a_file_is_unpacked_count_too(tmp_path: Path) -> None:
    for node in UPTIMES:
        write(tmp_path / "in" / f"{node[-1]}.data.gz", gzip.compress(capture(node)))
    write(tmp_path / "in" / "cut.data", cut(capture("gpu-7", 5)))
    report = imported(tmp_path)
    assert "which of gpu-7, gpu-8 it is of" in by_name(report)["cut.data"].notes[0]
    paths = {one.node: Path(one.path).name for one in report.recordings}
    assert paths == {"gpu-7": "gpu-7", "gpu-8": "gpu-8", "imported": "imported"}
