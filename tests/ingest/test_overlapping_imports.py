"""Captures of the same time, imported together or one after the other."""

from __future__ import annotations

from pathlib import Path

from tests.ingest import made
from tests.ingest.made import NS, by_name, do_import, segments, total, write

WALL_NS = 1794773400 * NS


def test_of_two_captures_of_one_machine_the_better_one_tells(tmp_path: Path) -> None:
    write(tmp_path / "in/long.txt", made.script(20.0))
    # As many a second, but a little later each: not the same samples.
    write(tmp_path / "in/short.txt", made.script(5.0, start_ns=10 * NS + 3_000_000))
    report = do_import(tmp_path / "out", str(tmp_path / "in"), offset_ns=WALL_NS)
    found = by_name(report)
    assert (found["long.txt"].kept, found["short.txt"].kept) == (2000, 0)
    assert "it would count twice" in found["short.txt"].notes[-1]
    assert total(tmp_path / "out") == 2000


def test_a_part_is_left_out_and_the_rest_kept(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", made.script(20.0))
    quicker = made.script(10.0, start_ns=20 * NS + 3_000_000).replace("10000000 cpu", "5000000 cpu")
    write(tmp_path / "in/b.txt", quicker)
    out = tmp_path / "out"
    found = by_name(do_import(out, str(tmp_path / "in"), offset_ns=WALL_NS))
    assert found["b.txt"].kept == 1000
    assert found["a.txt"].kept == 1501  # up to the first of the other
    assert found["a.txt"].notes[-1].startswith("5 s of its samples are left out: b.txt")
    assert total(out) == 2501
    assert [stretch.rate_hz for one in segments(out) for stretch in one.stretches] == [100, 200]
    again = by_name(do_import(out, str(tmp_path / "in"), offset_ns=WALL_NS))
    assert (again["a.txt"].state, again["a.txt"].kept) == ("known", 1501)


def test_what_measures_no_time_stays_out_of_what_does(tmp_path: Path) -> None:
    write(tmp_path / "in/cpu.txt", made.script(4.0))
    switches = made.script(9.0, start_ns=7 * NS + 1_000_000).replace("cpu-clock", "sched:switch")
    write(tmp_path / "in/switches.txt", switches)
    report = do_import(tmp_path / "out", str(tmp_path / "in"), offset_ns=WALL_NS)
    found = by_name(report)
    assert (found["cpu.txt"].kept, found["switches.txt"].kept) == (400, 0)
    assert "cpu-clock, which measures time better" in found["switches.txt"].notes[-1]


def test_what_is_written_stays_and_the_next_import_adds_what_is_missing(tmp_path: Path) -> None:
    first = write(tmp_path / "a.txt", made.script(10.0))
    second = write(tmp_path / "b.txt", made.script(10.0, start_ns=10 * NS + 3_000_000))
    out = tmp_path / "out"
    do_import(out, first, offset_ns=WALL_NS)
    report = do_import(out, second, offset_ns=WALL_NS)
    assert by_name(report)["b.txt"].kept == 500
    assert total(out) == 1500
