"""When the rows of mpstat were: clocks, dates and zones."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from exhume.ingest import mpstat
from exhume.ingest.piece import ClockKind
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.mpstat_read import BUSY, EVENING, NS, at, read, shares
from tests.ingest.sysstat import IDLE, SYSTEM, heading, row
from tests.ingest.sysstat import mpstat as text_of


@pytest.mark.parametrize(
    "twelve", [None, ("AM", "PM"), ("午前", "午後"), ("a.m.", "p.m."), ("AM IST", "PM IST")]
)
@pytest.mark.parametrize("comma", [False, True])
def test_clocks_and_numbers_of_several_countries_are_the_same(
    tmp_path: Path, twelve: tuple[str, str] | None, comma: bool
) -> None:
    cores: list[dict[int, Sequence[int]]] = [{0: BUSY, 1: SYSTEM}] * 4
    text = text_of(cores, start=12 * 3600 - 2, twelve=twelve, comma=comma)
    found = shares(read(tmp_path, text))
    noon = EVENING - 8 * 3600
    assert (found.end_ns // NS).tolist() == [noon - 1, noon, noon + 1, noon + 2]
    assert at(found, 1, 3)["system"] == 100


def test_a_zone_behind_a_clock_of_24_hours_is_no_half_of_the_day(tmp_path: Path) -> None:
    text = text_of([{0: BUSY}] * 4, start=20 * 3600, twelve=("AM", "IST"))
    text = re.sub(r"\b08:(?=\d\d:\d\d IST)", "20:", text)
    assert "20:00:01 IST" in text
    found = shares(read(tmp_path, text))
    assert (found.end_ns // NS).tolist() == [EVENING + more for more in (1, 2, 3, 4)]


@pytest.mark.parametrize("twelve", [None, ("AM", "PM")])
def test_midnight_is_crossed(tmp_path: Path, twelve: tuple[str, str] | None) -> None:
    text = text_of([{0: BUSY}] * 4, start=86_398, twelve=twelve)
    pieces = read(tmp_path, text)
    found = shares(pieces)
    midnight = EVENING + 4 * 3600
    assert (found.end_ns // NS).tolist() == [midnight + more for more in (-1, 0, 1, 2)]
    assert len([piece for piece in pieces if piece.blocks]) == 2  # ten minutes each
    assert np.isfinite(found.busy).all()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("11/15/26", ["2026-11-15"]), ("11/15/2026", ["2026-11-15"]),
        ("2026-11-15", ["2026-11-15"]),
        ("15.11.2026", ["2026-11-15"]), ("15/11/26", ["2026-11-15"]), ("15-11-26", ["2026-11-15"]),
        ("2026年11月15日", ["2026-11-15"]), ("03/04/22", ["2022-03-04", "2022-04-03"]),
        ("04.03.22", ["2022-03-04"]), ("99/99/99", []), ("some day", []),
        ("Sunday 15 November 2026", ["2026-11-15"]), ("15 nowhere 2026", []),
    ],
)  # fmt: skip
def test_dates_of_several_countries(text: str, days: list[str]) -> None:
    from exhume.ingest.mpstat_header import days_of

    assert [str(day) for day in dict.fromkeys(days_of(text))] == days


@pytest.mark.parametrize("date", ["15/11/2569", "الأحد 15 نوفمبر 2026"])
def test_a_date_in_no_known_form_is_that_of_the_file_and_told(tmp_path: Path, date: str) -> None:
    path = tmp_path / "mpstat-2026-11-15.txt"
    made.write(path, text_of([{0: BUSY}] * 4, date=date))
    pieces = list(mpstat.read(Source.of(path), made.context(tmp_path)))
    assert (shares(pieces).end_ns // NS).tolist() == [EVENING + more for more in (1, 2, 3, 4)]
    assert "taken as 2026-11-15" in pieces[-1].facts.notes[0]


@pytest.mark.parametrize("hours", [8, 0, -5, 5.5, 13])
@pytest.mark.parametrize("late_s", [0, 200])
def test_the_times_before_its_lines_tell_the_zone(
    tmp_path: Path, hours: float, late_s: int
) -> None:
    lines = text_of([{0: BUSY}] * 3).splitlines(keepends=True)
    text = ""
    for line in lines:
        clock = line[:8] if re.match(r"\d\d:\d\d:\d\d ", line) else "20:00:00"
        came = datetime.fromisoformat(f"2026-11-15T{clock}+00:00")
        came += timedelta(seconds=late_s, hours=-hours)
        text += f"{came:%Y-%m-%dT%H:%M:%S}.003Z {line}"
    (piece,) = [piece for piece in read(tmp_path, text) if piece.blocks]
    assert piece.claim is not None
    assert piece.claim.offset_ns == -hours * 3600 * NS
    assert "by the times before its lines" in piece.claim.how
    # Hours late, they tell nothing.
    text = re.sub(r"(?m)^2026-11-1\dT\d\d:\d\d", "2026-11-15T23:52", text)
    (piece,) = [piece for piece in read(tmp_path, text) if piece.blocks]
    assert piece.claim is not None
    assert "guessed" in piece.claim.how


def test_a_date_that_may_be_two_days_is_told_and_the_other_one_kept(tmp_path: Path) -> None:
    pieces = read(tmp_path, text_of([{0: BUSY}], date="03/04/22"))
    (one,) = [piece for piece in pieces if piece.blocks]
    assert "may be 2022-04-03" in pieces[-1].facts.notes[0]
    april = (datetime(2022, 4, 3) - datetime(2022, 3, 4)).days * 86_400 * NS
    assert april in {guess.offset_ns for guess in one.guesses}


def test_local_times_that_no_other_file_meets_may_be_of_another_zone(tmp_path: Path) -> None:
    table = made.write(tmp_path / "mpstat.txt", text_of([{0: BUSY}] * 5))
    report = made.do_import(tmp_path / "alone", table)
    assert not any("--zone" in note for one in report.inputs for note in one.notes)
    window = report.inputs[0].window
    assert window is not None
    for hours, is_told in ((0, False), (5, True), (30, False)):
        then = datetime.fromtimestamp(window.start_ns // 10**9 + hours * 3600, UTC)
        line = f"{then:%Y-%m-%dT%H:%M:%SZ} node kernel: NETDEV WATCHDOG: eth0: transmit timed out\n"
        log = made.write(tmp_path / f"{hours}.log", line)
        report = made.do_import(tmp_path / f"out{hours}", table, log, node="node")
        notes = made.by_name(report)["mpstat.txt"].notes
        assert any("with --zone" in note for note in notes) is is_told, hours


def test_the_users_zone_counts(tmp_path: Path) -> None:
    pieces = read(tmp_path, text_of([{0: BUSY}]), zone=timezone(timedelta(hours=2)))
    (one,) = [piece for piece in pieces if piece.blocks]
    assert one.claim is not None
    assert (one.claim.offset_ns, one.guesses) == (-7200 * NS, ())
    assert "UTC+02:00" in one.claim.how


def test_seconds_since_1970_need_no_guess(tmp_path: Path) -> None:
    lines = ["Linux 6 (a) \t06/01/20 \t_x_\t(1 CPU)\n\n", heading("1591016000")]
    lines += [row("1591016001", "0", SYSTEM), row("1591016002", "0", IDLE)]
    pieces = read(tmp_path, "".join(lines))
    (one,) = [piece for piece in pieces if piece.blocks]
    assert (one.clock, one.claim) == (ClockKind.WALL, None)
    assert one.blocks[0].tick_ns.tolist() == [1591016000 * NS, 1591016001 * NS, 1591016002 * NS]


def test_where_it_stopped_and_went_on_nothing_is_known(tmp_path: Path) -> None:
    first = text_of([{0: SYSTEM}] * 2)
    second = text_of([{0: SYSTEM}] * 2, start=20 * 3600 + 60).split("\n", 1)[1]
    pieces = read(tmp_path, first + second)
    found = shares(pieces)
    known = np.isfinite(found.busy[0])
    assert known.sum() == 4
    assert (found.busy[0][known] == 100).all()
    assert "stopped and went on 1 times" in pieces[-1].facts.notes[-1]


def test_a_clock_that_is_set_back_goes_on(tmp_path: Path) -> None:
    first = text_of([{0: SYSTEM}] * 2)
    second = text_of([{0: SYSTEM}] * 2, start=19 * 3600).split("\n", 1)[1]
    pieces = read(tmp_path, first + second)
    assert (np.diff(shares(pieces).start_ns) > 0).all()
    assert "set back" in pieces[-1].facts.notes[-1]


def test_a_log_without_its_first_line_is_of_the_day_it_was_written(tmp_path: Path) -> None:
    text = text_of([{0: SYSTEM}] * 2).split("\n", 2)[2]
    path = Path(made.write(tmp_path / "tail.txt", text))
    os.utime(path, (EVENING + 100, EVENING + 100))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "mpstat"
    pieces = list(mpstat.read(Source.of(path), made.context(tmp_path)))
    assert pieces[0].blocks[0].tick_ns[0] == EVENING * NS


@pytest.mark.parametrize("clock", ["{}時{}分{}秒", "{}时{}分{}秒", "{}시 {}분 {}초"])
def test_clocks_that_spell_their_units(tmp_path: Path, clock: str) -> None:
    plain = text_of([{0: BUSY, 1: SYSTEM}, {0: IDLE, 1: BUSY}])
    text = re.sub(r"(?m)^(\d\d):(\d\d):(\d\d)", lambda m: clock.format(*m.groups()), plain)
    found = shares(read(tmp_path, text.replace("11/15/26", "2026年11月15日")))
    assert (found.start_ns // NS).tolist() == [EVENING, EVENING + 1]
    assert at(found, 1, 0)["system"] == 100


def test_a_header_of_before_sysstat_8_has_the_date_too(tmp_path: Path) -> None:
    text = text_of([{0: BUSY, 1: SYSTEM}]).replace("%usr", "%user")
    text = text.replace(" \t_x86_64_\t(2 CPU)", "").replace("   %user", "  %user")
    pieces = read(tmp_path, text)
    assert (shares(pieces).start_ns // NS).tolist() == [EVENING]
    assert pieces[0].hints.node == "gpu-7"


def test_a_later_run_in_the_same_file_is_of_its_own_day(tmp_path: Path) -> None:
    # Two days later, and later in the day: no clock went back.
    first = text_of([{0: BUSY}])
    second = text_of([{0: SYSTEM}], date="11/17/26", start=21 * 3600)
    found = shares(read(tmp_path, first + "\n" + second))
    assert (found.start_ns[[0, -1]] // NS).tolist() == [EVENING, EVENING + 49 * 3600]


@pytest.mark.parametrize(("day", "start", "ago"), [("13", 20, 48), ("15", 17, 3)])
def test_runs_may_stand_newest_first(tmp_path: Path, day: str, start: int, ago: int) -> None:
    newest = text_of([{0: BUSY}, {0: IDLE}])
    older = text_of([{0: SYSTEM}, {0: IDLE}], date=f"11/{day}/26", start=start * 3600)
    pieces = read(tmp_path, newest + "\n" + older)
    found = shares(pieces)
    known = np.isfinite(found.busy[0])
    before = EVENING - ago * 3600
    assert (found.start_ns[known] // NS).tolist() == [before, before + 1, EVENING, EVENING + 1]
    assert at(found, 0, 0)["system"] == 100
    assert not any("set back" in note for note in pieces[-1].facts.notes)


def test_a_date_that_may_be_two_is_the_one_near_the_run_before(tmp_path: Path) -> None:
    first = text_of([{0: BUSY}], date="31/10/26")
    second = text_of([{0: SYSTEM}], date="01/11/26")
    found = shares(read(tmp_path, first + "\n" + second))
    assert (np.diff(found.start_ns[[0, -1]]) // NS).tolist() == [86_400]


def test_a_day_that_is_not_told_is_taken_from_the_name_and_said(tmp_path: Path) -> None:
    text = text_of([{0: BUSY}]).split("\n", 2)[2]
    path = Path(made.write(tmp_path / "mpstat-2026-11-15.txt", text))
    pieces = list(mpstat.read(Source.of(path), made.context(tmp_path)))
    assert (shares(pieces).start_ns // NS).tolist() == [EVENING]
    assert "2026-11-15" in pieces[-1].facts.notes[0]


def test_an_average_below_the_last_row_moves_no_times(tmp_path: Path) -> None:
    # `mpstat -P 3 1` has one header; the average stands in the same table.
    rows = [row(f"20:00:0{second}", "3", SYSTEM) for second in (1, 2, 3)]
    head = "Linux 3.10.0 (w1) \t2026-11-15 \t_x86_64_\t(8 CPU)\n\n" + heading("20:00:00")
    pieces = read(tmp_path, head + "".join(rows) + row("Average:", "3", SYSTEM))
    found = shares(pieces)
    assert (found.end_ns // NS).tolist() == [EVENING + 1, EVENING + 2, EVENING + 3]
    assert pieces[-1].facts.notes == ()
    assert pieces[-1].facts.problems == ()


def test_the_mean_of_all_cores_with_its_average_keeps_the_clock(tmp_path: Path) -> None:
    rows = [row(f"20:00:0{second}", "all", SYSTEM) for second in (1, 2)]
    head = "Linux 3.10.0 (w1) \t2026-11-15 \t_x86_64_\t(8 CPU)\n\n" + heading("20:00:00")
    pieces = read(tmp_path, head + "".join(rows) + row("Average:", "all", SYSTEM))
    assert not any("set back" in note for note in pieces[-1].facts.notes)
