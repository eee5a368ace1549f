from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from exhume.ingest import pidstat
from exhume.ingest.mpstat_clock import DayClock
from exhume.ingest.piece import Piece
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.series import MISSING
from tests.ingest import made
from tests.ingest.test_snapshots import NS, START, values

TEXT = """Linux 5.4.0-1146-aws (gpu-node-54) \t11/15/26 \t_x86_64_\t(2 CPU)

20:15:17      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
20:15:22        0       165    3.50   13.20    0.00    6.60   16.70     0  perf
20:15:22        0       169   43.30    0.20    0.00    6.02   43.50     0  trainer one

20:15:22      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
20:15:27        0       169   48.80    0.00    0.00    0.60   48.80     1  trainer one

20:15:27      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
20:15:32        0       165    0.00    2.00    0.00    0.00    2.00     0  perf

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:        0       169   46.00    0.10    0.00    0.10   46.10     -  trainer one
"""


def read(folder: Path, text: str) -> list[Piece]:
    path = Path(made.write(folder / "pidstat.txt", text))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "pidstat"
    return list(pidstat.read(Source.of(path), made.context(folder)))


def test_processes_have_readings_around_the_intervals_that_show_them(tmp_path: Path) -> None:
    pieces = read(tmp_path, TEXT)
    user, system = values(pieces, "process.user"), values(pieces, "process.system")
    assert pieces[0].blocks[0].tick_ns.tolist() == [(START + s) * NS for s in (0, 5, 10, 15)]
    # 43.3 % and 48.8 % of 500 jiffies each.
    assert user["169 trainer one"] == [0, 217, 461, MISSING]
    assert system["165 perf"] == [0, 66, 66, 76]
    assert values(pieces, "process.core")["169 trainer one"][1:3] == [0, 1]
    assert pieces[0].hints.node == "gpu-node-54"


def test_a_table_that_was_pasted_without_its_first_line_has_its_files_day(tmp_path: Path) -> None:
    pieces = read(tmp_path, TEXT.partition("\n\n")[2])
    assert values(pieces, "process.user")["169 trainer one"] == [0, 217, 461, MISSING]
    assert "its date is not told" in pieces[-1].facts.notes[0]


def test_commas_and_twelve_hours_do_no_harm(tmp_path: Path) -> None:
    text = TEXT.replace(".", ",").replace("5,4,0", "5.4.0")
    for old, new in (("20:15:", "08:15:"), (":17 ", ":17 PM "), (":22 ", ":22 PM ")):
        text = text.replace(old, new)
    text = text.replace(":27 ", ":27 PM ").replace(":32 ", ":32 PM ")
    pieces = read(tmp_path, text)
    assert values(pieces, "process.user")["169 trainer one"] == [0, 217, 461, MISSING]
    assert pieces[0].blocks[0].tick_ns[0] == START * NS


def test_it_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    for end in range(TEXT.index("Command") + 8, len(TEXT), 11):
        for piece in read(tmp_path, TEXT[:end]):
            for block in piece.blocks:
                assert (block.tick_ns[1:] > block.tick_ns[:-1]).all()


@given(st.binary(max_size=200))
@example(b"0 165 .50 13.20 0.00 6.60 16.70 0 perf")
@example(b"0 165 3. 13.20 0.00 6.60 16.70 0 perf")
def test_no_line_is_too_odd(damage: bytes) -> None:
    intervals = pidstat._Intervals(DayClock(0))
    for line in TEXT.encode().split(b"\n")[2:5]:
        intervals.line(line)
        for part in (damage, b"20:15:22 " + damage, line[:30] + damage):
            intervals.line(part)
    intervals.finish()


MEMORY = """
{0}      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
{1}        0       165      9.00      0.00    5000     900   0.10  perf
{1}        0       169     77.00      0.00  215428   63324   0.26  trainer one
"""
EXPECTED = [0, 217, 461, MISSING]


def test_tables_of_memory_in_between_are_passed_over(tmp_path: Path) -> None:
    # `pidstat -u -r`: each has the times of the interval again. Without %wait, as older ones have
    # it, both tables are of one width.
    old = TEXT.replace("   %wait", "").replace("    6.60", "").replace("    6.02", "")
    old = old.replace("    0.60", "").replace("0    0.00    0.00    2.00", "0    0.00    2.00")
    for text in (TEXT, old):
        parts = text.split("\n\n20:15:2")
        mixed = MEMORY.format("20:15:17", "20:15:22").join([parts[0] + "\n", ""])
        pieces = read(tmp_path, mixed + "\n20:15:2" + "\n\n20:15:2".join(parts[1:]))
        assert pieces[-1].facts.problems == ()
        assert values(pieces, "process.user")["169 trainer one"] == EXPECTED


def test_names_of_users_and_threads_do_no_harm(tmp_path: Path) -> None:
    named = TEXT.replace("  UID", " USER").replace("        0       1", "     root       1")
    threads = TEXT.replace("       PID ", "      TGID       TID ")
    threads = threads.replace("       165 ", "       165         - ")
    threads = threads.replace("       169 ", "       169         - ")
    thread = (
        "20:15:22        0         -       170   40.00    0.00    0.00    0.00   40.00     0  |__x"
    )
    threads = threads.replace("  trainer one\n\n", f"  trainer one\n{thread}\n\n", 1)
    for text in (named, threads):
        pieces = read(tmp_path, text)
        assert pieces[-1].facts.problems == ()
        assert values(pieces, "process.user")["169 trainer one"] == EXPECTED


def test_one_line_each_has_no_time_in_its_heading(tmp_path: Path) -> None:
    # `pidstat -h`: what the first interval was is not told.
    lines = [line for line in TEXT.split("\n") if line and "Average" not in line]
    rows = [line for line in lines[1:] if "UID" not in line]
    text = "\n".join([lines[0], "", "#" + lines[1].replace("20:15:17", "   Time"), *rows]) + "\n"
    pieces = read(tmp_path, text)
    assert values(pieces, "process.user")["169 trainer one"] == [0, 244, MISSING]
    assert "first interval" in pieces[-1].facts.notes[-1]


def test_a_later_run_in_the_same_file_is_of_its_own_day(tmp_path: Path) -> None:
    second = TEXT.replace("11/15/26", "11/17/26").replace("20:15:", "21:15:")
    pieces = read(tmp_path, TEXT + "\n" + second)
    ticks = [b.tick_ns for p in pieces for b in p.blocks if b.field == "process.user"]
    last = max(int(tick.max()) for tick in ticks)
    assert last == (START + 15 + 49 * 3600) * NS


def test_runs_may_stand_newest_first(tmp_path: Path) -> None:
    older = TEXT.replace("11/15/26", "11/13/26")
    pieces = read(tmp_path, TEXT + "\n" + older)
    newest, oldest = (
        block.tick_ns for p in pieces for block in p.blocks if block.field == "process.user"
    )
    assert newest.tolist() == [(START + s) * NS for s in (0, 5, 10, 15)]
    assert (newest - oldest).tolist() == [2 * 86_400 * NS] * 4
