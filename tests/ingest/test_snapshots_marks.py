"""Lines that say when what is below them was copied, through the reader of copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.ingest import snapshots
from exhume.ingest.piece import ClockKind, Trust
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.test_snapshots import LOADAVG, NS, SOFTIRQS, START, STAT, read, values

FORMS = (
    "{epoch}", "{epoch}.123456789", "{epoch}123", "--- {epoch} ---", "TIMESTAMP: {epoch}",
    "TIMESTAMP {epoch}.123", "epoch {epoch}", "timestamp={epoch}", "{iso}+00:00",
    "{iso},123456789+00:00", "=== {iso}Z ===", "# {iso}+0000", "===== gpu-7 {iso}Z =====",
    "{ctime}", "=== {ctime}", "zzz ***{ctime}", "## sample {i} {ctime}",
    "{epoch} {iso}Z uptime=7.5", "Every 2.0s: cat /proc/stat        gpu-7: {ctime}",
    "--- 15.11.2026 20:15:{second} UTC ---", "== 2026-11-15_20-15-{second}Z ==",
    "# 202611152015{second}Z",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_marks_as_people_make_them(tmp_path: Path, form: str) -> None:
    text = ""
    for i in range(3):
        iso = f"2026-11-15T20:15:{17 + i}"
        ctime = f"Sun Nov 15 20:15:{17 + i} UTC 2026"
        text += form.format(epoch=START + i, iso=iso, ctime=ctime, i=i, second=17 + i) + "\n"
        text += STAT.format(a=8 + i, b=243) + SOFTIRQS
    path = tmp_path / "copies.txt"
    path.write_text(text)
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copies"
    pieces = read(tmp_path, text)
    assert pieces[-1].facts.problems == ()
    assert pieces[-1].facts.notes == ("copies: 3 of stat, 3 of softirqs",)
    assert values(pieces, "cpu.user")["0"] == [8, 9, 10]
    assert {piece.clock for piece in pieces if piece.blocks} == {ClockKind.WALL}
    ticks = [b.tick_ns // NS for p in pieces for b in p.blocks if b.field == "cpu.user"]
    assert np.concatenate(ticks).tolist() == [START, START + 1, START + 2]


def test_of_a_loop_that_ends_with_date_each_copy_has_the_time_below_it(tmp_path: Path) -> None:
    """`while sleep 60; do cat /proc/stat; date; done`: else all were a minute early."""
    dates = [f"Sun Nov 15 20:{15 + i}:17 UTC 2026\n" for i in range(3)]
    copies = [STAT.format(a=8 + i, b=243) + f"{5 + 60 * i}.00 9.00\n" for i in range(3)]
    each = [copy + date for copy, date in zip(copies, dates, strict=True)]
    cut_off = STAT.format(a=11, b=243)
    for text in ("".join(each), "".join(each) + cut_off):
        pieces = read(tmp_path, text)
        assert values(pieces, "cpu.user")["0"] == [8, 9, 10]
        ticks = [b.tick_ns // NS for p in pieces for b in p.blocks if b.field == "cpu.user"]
        assert np.concatenate(ticks).tolist() == [START, START + 60, START + 120]
        assert "its times stand below" in " ".join(pieces[-1].facts.notes)
        claims = [piece.claim for piece in pieces if piece.claim is not None]
        assert max(claims, key=lambda one: one.trust).offset_ns == (START - 5) * NS
    cut_in = each[0].partition("\n")[2] + "".join(each[1:])
    for text in (cut_in, "uptime and stat\n" + "".join(dates[:1] + each[1:])):
        ticks = [b.tick_ns // NS for p in read(tmp_path, text) for b in p.blocks]
        assert START in np.concatenate(ticks).tolist(), text


def test_marks_without_a_zone_are_a_guess_that_other_files_may_settle(tmp_path: Path) -> None:
    pieces = read(tmp_path, f"2026-11-15 20:15:17\n{LOADAVG}2026-11-15 20:15:18\n{LOADAVG}")
    assert pieces[0].clock == ClockKind.OWN
    assert pieces[0].claim is not None
    assert "taken as UTC" in pieces[0].claim.how
    assert any("UTC+01:00" in guess.how for guess in pieces[0].guesses)


def test_copies_whose_times_are_not_understood_are_one_and_that_is_told(tmp_path: Path) -> None:
    text = "".join(
        f"----- 20:15:{s} -----\n{STAT.format(a=8 + s, b=243)}{SOFTIRQS}" for s in range(17, 20)
    )
    path = Path(made.write(tmp_path / "stat.log", text))
    *_, piece = snapshots.read_bare(Source.of(path), made.context(tmp_path))
    (problem,) = piece.facts.problems
    assert "3 of stat, 3 of softirqs" in problem
    assert "only the first counts; put one like `### " in problem
    (user,) = (block for block in piece.blocks if block.field == "cpu.user")
    assert user.values.tolist() == [[25, 7]]


def test_a_number_in_a_copy_is_no_mark(tmp_path: Path) -> None:
    # `btime` is seconds since 1970, and so may look a count of bytes.
    stat = STAT.format(a=8, b=243)
    text = f"20:15:17\n{stat}20:15:18\n{stat}"
    path = Path(made.write(tmp_path / "x.txt", text))
    assert recognise(Source.of(path)) is None
    text = "".join(f"{START + i}\n{LOADAVG}1234567890\n" for i in range(3))
    assert values(read(tmp_path, text), "system.running") == {"": [4, 4, 4]}


def test_seconds_of_date_and_the_uptime_below_tie_the_clocks(tmp_path: Path) -> None:
    # 5.05 s after boot it is 17.02 s past; `date` cuts off what is behind the point.
    text = "".join(f"{START + i}\n{5.05 + i * 1.013:.2f} 9.87\n{LOADAVG}" for i in range(20))
    clock = read(tmp_path, text)[-1]
    assert clock.claim is not None
    assert clock.claim.trust == Trust.UPTIME
    assert clock.claim.offset_ns == START * NS - 5_050_000_000


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("{} 0.16 0.03 0.01 4/79 179", "system.running", 4),
        ("{} memory\t4\t352\t1", "memcg.tracked", 352),
        ("{} tracked=352 live=240", "memcg.live", 240),
        ("[{}] memory cgroups: 352, live dirs: 240", "memcg.tracked", 352),
        ("{}: Percpu: 26112 kB", "memory.percpu_bytes", 26112 << 10),
    ],
)
@pytest.mark.parametrize("time", ["179477371{}", "2026-11-15T20:15:1{}Z"])
def test_a_reading_may_stand_on_the_line_of_its_time(
    tmp_path: Path, line: str, field: str, value: int, time: str
) -> None:
    text = "".join(line.format(time.format(second)) + "\n" for second in (7, 8, 9))
    path = Path(made.write(tmp_path / "x.log", text))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copies"
    pieces = read(tmp_path, text)
    assert values(pieces, field) == {"": [value] * 3}
    assert pieces[0].blocks[0].tick_ns.tolist() == [(START + s) * NS for s in range(3)]


@pytest.mark.parametrize(
    ("before", "clock"),
    [
        ("2026-11-15T20:15:{second}.123456789Z ", ClockKind.WALL),
        ("2026-11-15T20:15:{second}.123456789Z stdout F ", ClockKind.WALL),
        ("[pod/gpu-7-x/looks] 2026-11-15T20:15:{second}Z ", ClockKind.WALL),
        ("[1794773{epoch}.5] ", ClockKind.WALL),
        ("2026-11-15 20:15:{second} ", ClockKind.OWN),
        ("Nov 15 20:15:{second} ", ClockKind.OWN),
        ("Nov 15 20:15:{second} gpu-7 copies[812]: ", ClockKind.OWN),
    ],
)
def test_a_time_before_every_line_is_that_of_the_copy(
    tmp_path: Path, before: str, clock: ClockKind
) -> None:
    """As `kubectl logs --timestamps`, /var/log/pods, ts and a journal have them."""
    lines = []
    for i in range(3):
        copy = STAT.format(a=8 + i, b=243) + SOFTIRQS
        start = before.format(second=17 + i, epoch=717 + i)
        lines += [start + line for line in copy.splitlines()]
    text = "\n".join(lines) + "\n"
    made.write(tmp_path / "copies.log", text)
    found = recognise(Source.of(tmp_path / "copies.log"))
    assert found is not None
    assert found.name == "/proc copies"
    pieces = read(tmp_path, text)
    assert pieces[-1].facts.notes == ("copies: 3 of stat, 3 of softirqs",)
    assert values(pieces, "cpu.user")["0"] == [8, 9, 10]
    assert {piece.clock for piece in pieces if piece.blocks} == {clock}
    ticks = [b.tick_ns // NS for p in pieces for b in p.blocks if b.field == "cpu.user"]
    assert np.concatenate(ticks).tolist() == [START, START + 1, START + 2]


def test_marks_below_a_time_before_every_line_are_the_better_ones(tmp_path: Path) -> None:
    lines = []
    for i in range(3):
        copy = f"### {START + i} uptime={5 + i}.50\n" + STAT.format(a=8 + i, b=243)
        lines += [f"2026-11-15T22:30:00.123456789Z {line}" for line in copy.splitlines()]
    pieces = read(tmp_path, "\n".join(lines) + "\n")
    ticks = [b.tick_ns // NS for p in pieces for b in p.blocks if b.field == "cpu.user"]
    assert np.concatenate(ticks).tolist() == [START, START + 1, START + 2]


def test_a_log_that_shows_a_copy_once_stays_a_log(tmp_path: Path) -> None:
    copy = [f"2026-11-15T20:15:17Z {line}" for line in STAT.format(a=8, b=243).splitlines()]
    log = [f"2026-11-15T20:15:{18 + i}Z step {i} of the training" for i in range(40)]
    path = tmp_path / "train.log"
    path.write_text("\n".join([log[0], *copy, *log[1:]]) + "\n")
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "job log"


def test_times_and_counts_are_told_apart_by_the_name_of_the_file(tmp_path: Path) -> None:
    text = "".join(f"{START + i} {240 + i}\n" for i in range(3))
    live = Path(made.write(tmp_path / "live_cgroups.log", text))
    other = Path(made.write(tmp_path / "numbers.log", text))
    found = recognise(Source.of(live))
    assert found is not None
    assert found.name == "/proc copies"
    assert values(read(tmp_path, text, live.name), "memcg.live") == {"": [240, 241, 242]}
    found = recognise(Source.of(other))
    assert found is None or found.name != "/proc copies"


def test_a_log_in_which_some_lines_have_a_number_stays_a_log(tmp_path: Path) -> None:
    lines = ("INFO started", "live: 3", "ERROR health check timed out after 3.0s", "running=4")
    text = "".join(f"2026-11-15 20:15:1{i} {line}\n" for i, line in enumerate(lines))
    banner = f"=== 2026-11-15 20:15:20 ===\n{LOADAVG}"
    for more in ("", banner):
        found = recognise(Source.of(Path(made.write(tmp_path / "app.log", text + more))))
        assert found is not None
        assert found.name == "job log"
