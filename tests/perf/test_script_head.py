"""The first lines of samples in perf-script text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import exhume.perf.script as script
from exhume.perf.script_scan import BEYOND
from tests.perf.test_script import STACK, Row, only, read


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("swapper     0 [001]     7.020221:   10309278 cpu-clock: ",
         Row("swapper", 0, 0, 1, 7_020_221_000, 10309278, "cpu-clock")),
        ("iperf 27409/28744 [000] 441995.133575: cpu-clock: ",
         Row("iperf", 27409, 28744, 0, 441995133575000, None, "cpu-clock")),
        ("dd 29776 666709.771979:   10101010 cpu-clock:",
         Row("dd", 29776, 29776, None, 666709771979000, 10101010, "cpu-clock")),
        ("java 19983 cycles:", Row("java", 19983, 19983, None, None, None, "cycles")),
        ("node-v011 31912 cpu-clock: ",
         Row("node-v011", 31912, 31912, None, None, None, "cpu-clock")),
        ("V8 WorkerThread 123/124 [012] 1.000000001:   7 cycles:ppp: ",
         Row("V8 WorkerThread", 123, 124, 12, 1_000_000_001, 7, "cycles:ppp")),
        ("CPU 0/KVM  4711 [003]  12.5: 1 cycles: ",
         Row("CPU 0/KVM", 4711, 4711, 3, 12_500_000_000, 1, "cycles")),
        (":-1    -1 [000]   283.713000:   10309278 cpu-clock: ",
         Row(":-1", -1, -1, 0, 283_713_000_000, 10309278, "cpu-clock")),
        ("a b [c] 12: 9 [000] 1.5: 3 sched:sched_switch: prev_comm=x",
         Row("a b [c] 12:", 9, 9, 0, 1_500_000_000, 3, "sched:sched_switch")),
        ("x 12 34/35 1.5: cpu/event=0x3c,umask=0x1/: ",
         Row("x 12", 34, 35, None, 1_500_000_000, None, "cpu/event=0x3c,umask=0x1/")),
        ("825432/825433 339457.445933440:       1 cycles:u: ",
         Row("", 825432, 825433, None, 339_457_445_933_440, 1, "cycles:u")),
        ("123 4567 [002] 1.5: 3 cycles: ",
         Row("123", 4567, 4567, 2, 1_500_000_000, 3, "cycles")),
        ("a b 12 [003] K       9.5:    7 cycles:P: ",
         Row("a b", 12, 12, 3, 9_500_000_000, 7, "cycles:P")),
        ("a 12 Gg    9.5: cycles: ", Row("a", 12, 12, None, 9_500_000_000, None, "cycles")),
        ("a 12/13 [003] 2026-11-17 02:49:24.924079   9.5:    7 cycles: ",
         Row("a", 12, 13, 3, 9_500_000_000, 7, "cycles")),
        ("a 12 [003] U     2026-11-17 02:49:24.924079123 9.5: cycles: ",
         Row("a", 12, 12, 3, 9_500_000_000, None, "cycles")),
        ("a 12 [003] N/A   9.5: cycles: ",
         Row("a", 12, 12, 3, 9_500_000_000, None, "cycles")),
        ("a 12 [003] 9.5:  2004008 ", Row("a", 12, 12, 3, 9_500_000_000, 2004008, "")),
        ("a 12 [003] 9.5: 7 faults:      7f1234567890                0 ",
         Row("a", 12, 12, 3, 9_500_000_000, 7, "faults")),
        ("#1 worker 7 [000] 9.5: cycles: ",
         Row("#1 worker", 7, 7, 0, 9_500_000_000, None, "cycles")),
        ("com.example.maps\t21452/21453 [007] 9.5: 201198 cpu-clock:",
         Row("com.example.maps", 21452, 21453, 7, 9_500_000_000, 201198, "cpu-clock")),
        ("a 12 [-01] 9.5: cycles: ", Row("a", 12, 12, None, 9_500_000_000, None, "cycles")),
        ("pool [012] 7 cycles: ", Row("pool [012]", 7, 7, None, None, None, "cycles")),
        ("java 1234/1235 ", Row("java", 1234, 1235, None, None, None, "")),
        ("a 12 [000] 18446744069.414584: 7 offcpu-time: ",
         Row("a", 12, 12, 0, BEYOND, 7, "offcpu-time")),
        ("a 12 [000] 9.5: 18446744073709551615 cycles: ",
         Row("a", 12, 12, 0, 9_500_000_000, None, "cycles")),
    ],
)  # fmt: skip
def test_the_first_line_of_a_sample(line: str, row: Row) -> None:
    assert only(f"{line}\n{STACK}\n") == row


@pytest.mark.parametrize(
    "line",
    [
        "a 12 [003] 9,286793: cycles: ", "a 12 [003] 2026-11-17 02:49:24 cycles: ",
        "a [003] 9,286793: cycles: ", "a 9.286793 cycles: ",
        "> > a 12 [003]  9.286793:   7 cycles: ",
    ],
)  # fmt: skip
def test_what_stands_before_a_time_that_is_not_its_own_is_no_name(line: str) -> None:
    rows, reader = read(f"{line}\n{STACK}\n")
    assert rows == []
    assert reader.odd_lines > 0


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("a [003]  9.286793: 7 cycles: ", Row("a", -1, -1, 3, 9_286_793_000, 7, "cycles")),
        ("a  9.286793: cycles: ", Row("a", -1, -1, None, 9_286_793_000, None, "cycles")),
        ("a  9.286793: ", Row("a", -1, -1, None, 9_286_793_000, None, "")),
        ("   V8 Worker [x] [003] 9.5: 7 cycles: ",
         Row("V8 Worker [x]", -1, -1, 3, 9_500_000_000, 7, "cycles")),
        ("a-1 b [003] K   2026-11-17 02:49:24.924079 9.5: cycles: ",
         Row("a-1 b", -1, -1, 3, 9_500_000_000, None, "cycles")),
        ("K [-01] 9.5: cycles: ", Row("K", -1, -1, None, 9_500_000_000, None, "cycles")),
        ("[003] 9.5: 7 cycles: ", Row("", -1, -1, 3, 9_500_000_000, 7, "cycles")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("block", [200, 1 << 20])
def test_without_thread_ids_the_name_ends_where_core_or_time_begin(
    line: str, row: Row, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", block)
    # Once it is known how its lines are, a sample needs no stack.
    rows, reader = read(f"{line}\n{STACK}\n{line}\n\n{line}\n{STACK}\n")
    assert rows == [row, replace(row, stack=""), row]
    assert reader.odd_lines == 0


def test_without_thread_ids_and_stacks_a_sample_is_one_line_with_its_address() -> None:
    line = "   python [001]  2310.08624{}: cpu-clock:      7ffad5bcca45 slot{}\n"
    rows, reader = read("".join(line.format(one, one) for one in range(3)))
    assert [(row.comm, row.cpu, row.stack) for row in rows] == [
        ("python", 1, f"7ffad5bcca45 slot{one}\n") for one in range(3)
    ]
    assert reader.odd_lines == 0


@pytest.mark.parametrize(
    "text",
    [
        # trace-cmd, dmesg, a log
        "  <idle>-0     [001]  1234.567890: sched_switch:  prev_comm=a prev_pid=0\n",
        "[ 1234.567890] usb 1-1: new device\n", "step 12.5: done\n", "12.5: done\n\n",
    ],
)  # fmt: skip
def test_a_name_and_a_time_are_no_sample_without_a_frame(text: str) -> None:
    assert read(text * 5)[0] == []


def test_a_text_with_ids_has_none_without() -> None:
    odd = f"b [001] 1.5: cycles:\n{STACK}\n"
    rows, reader = read(odd + 30 * f"a 1 1.5: cycles:\n{STACK}\n" + odd)
    assert [row.comm for row in rows] == ["a"] * 30
    assert reader.odd_lines == 6


@pytest.mark.parametrize("first", ["worker 1 ", "b "])
def test_a_number_at_the_end_of_some_names_is_no_id_where_others_have_none(first: str) -> None:
    sample = "{}[003] 9.5: cycles:      7ffad5bcca45 f\n"
    rows, reader = read(sample.format(first) + sample.format("a ") + sample.format("worker 1 ") * 3)
    assert [row.comm for row in rows] == [first.strip(), "a", *["worker 1"] * 3]
    assert (reader.odd_lines, rows[0].tid) == (0, -1)


@pytest.mark.parametrize(
    "frame",
    [
        "401006 [unknown] (/bin/a)      addb %al, (%rax)", "401006 walk (/bin/a)  addb %al, %ah",
        "401006 w(int) (/bin/a b)           callq *0x8(%rdi)", "401006 (/bin/a)  addb (%rax), %al",
        "ffffffff81000000 walk ([kernel])           addb %al, (%rax)",
    ],
)  # fmt: skip
def test_an_instruction_behind_the_file_is_no_address(frame: str) -> None:
    line = f"a 12 [000] 9.5:            {frame}\n"
    assert [row.stack for row in read(line * 2)[0]] == [f"{frame}\n"] * 2
