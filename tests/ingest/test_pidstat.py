from __future__ import annotations

from pathlib import Path

from hypothesis import given
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
def test_no_line_is_too_odd(damage: bytes) -> None:
    intervals = pidstat._Intervals(DayClock(0))
    for line in TEXT.encode().split(b"\n")[2:5]:
        intervals.line(line)
        for part in (damage, b"20:15:22 " + damage, line[:30] + damage):
            intervals.line(part)
    intervals.finish()
