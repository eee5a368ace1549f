from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.script_text import is_script, plain, prefix_of
from tests.ingest import made
from tests.ingest.made import by_name, do_import, stacks

SCRIPT = made.script(0.2)
ONE_LINE_EACH = "".join(
    f"  worker pool    70 [000]     5.{at:06d}:   9 cycles:  ffffffff81003004 walk+0x4 ([k])\n"
    for at in range(20)
)
COMPLAINT = "Failed to open /tmp/perf-{}.map, continuing without symbols\n"


def prefixed(text: str, before: str) -> str:
    """`{}`: what differs from line to line."""
    lines = text.splitlines(keepends=True)
    return "".join(before.format(f"{at:02d}") + line for at, line in enumerate(lines))


CONTAINERS = (
    "[pod/perf-x7/perf] ",
    "perf-1  | ",
    "2026-11-15T20:15:17.1234{}Z ",
    "2026-11-15T20:15:17.1234{}+01:00 stdout F ",
    "[pod/perf-x7/perf] 2026-11-15T20:15:17.{}Z ",
)


@pytest.mark.parametrize(
    "before",
    [*CONTAINERS, "Nov 15 20:15:{} gpu-7 perf[771]: ", "{}: ", "{}:", "\t", "    {}\t", "{}\t"],
)
def test_what_stands_before_every_line_is_taken_off(before: str, tmp_path: Path) -> None:
    path = made.write(tmp_path / "x.log", prefixed(SCRIPT, before))
    bare = made.write(tmp_path / "bare.txt", SCRIPT)
    found = by_name(do_import(tmp_path / "a", path))["x.log"]
    expected = by_name(do_import(tmp_path / "b", bare))["bare.txt"]
    assert (found.format, found.samples, found.kept) == ("perf script", 40, expected.kept)
    assert found.problems == ()
    assert stacks(tmp_path / "a") == stacks(tmp_path / "b")


@pytest.mark.parametrize("before", CONTAINERS)
def test_a_process_is_not_called_by_it_where_there_are_no_stacks(before: str) -> None:
    text = prefixed(ONE_LINE_EACH, before).encode()
    found = prefix_of(text)
    assert found is not None
    assert found.stripped(text) == ONE_LINE_EACH.encode()


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT,
        ONE_LINE_EACH,
        prefixed(SCRIPT, "    "),
        "com.example.maps\t21452 [007] 9.5: 2 cpu-clock: 7f00 go (/x)\n" * 3,
    ],
)
def test_lines_as_perf_wrote_them_have_none(text: str) -> None:
    assert prefix_of(text.encode()) is None
    assert is_script(text.encode())


@given(st.integers(1, 70))
def test_it_goes_however_the_text_is_cut(size: int) -> None:
    text = prefixed(SCRIPT, CONTAINERS[2]).encode()
    stream, buffer = plain(io.BytesIO(text), prefix_of(text)), bytearray(size)
    parts = iter(lambda: bytes(buffer[: stream.readinto(buffer)]), b"")
    assert b"".join(parts) == SCRIPT.encode()


def test_a_piece_that_begins_in_the_middle_of_a_stack_is_still_one(tmp_path: Path) -> None:
    deep = "".join(f"\t          4001{at:02x} f{at}+0x3 (/opt/worker)\n" for at in range(100))
    text = f"{deep}\n" + f"worker    70 [000] 5.1: 9 cpu-clock: \n{deep}\n" * 3
    report = by_name(do_import(tmp_path / "out", made.write(tmp_path / "x.txt", text)))["x.txt"]
    assert (report.format, report.samples) == ("perf script", 3)
    assert report.problems[0].startswith("100 lines belong to no sample, the first at offset 0")


def test_complaints_of_perf_above_it_are_no_reason_to_refuse_it() -> None:
    above = "".join(map(COMPLAINT.format, range(300)))
    assert is_script(f"{above}{SCRIPT}".encode())
    assert not is_script(above.encode())


def test_what_perf_says_of_damage_is_no_reason_to_refuse_it() -> None:
    said = (
        "Warning:\n2 out of order events recorded.\nfailed to open /tmp/perf-1.map\n"
        "Processed 3 events and lost 1 chunks!\n\nCheck IO/CPU overload!\n\n"
        "12 instruction trace errors\n"
        " instruction trace error type 1 time 1.5 cpu 0 pid 7 tid 7 ip 0 code 8: Lost trace data\n"
    )
    assert is_script(f"{said}a 1 [000] 9.5: 1 cycles:\n".encode())
    assert not is_script(said.encode())


def test_a_sample_or_two_of_a_page_are_read_among_its_prompts_and_prose(tmp_path: Path) -> None:
    sample = (
        "worker 70 [000] 5.{}: 10101010 cpu-clock:pppH: \n"
        "        400123 main+0x3 (/opt/worker)\n        4001f0 [unknown] (/opt/worker)\n"
    )
    text = (
        "```\n# perf record -F 99 -a -g -- sleep 30\n"
        "[ perf record: Woken up 1 times to write data ]\n"
        "[ perf record: Captured and wrote 0.5 MB perf.data (2940 samples) ]\n# perf script\n"
        f"{sample.format(1)}[...]\n{sample.format(2)}[...]\n```\n"
    )
    report = by_name(do_import(tmp_path / "out", made.write(tmp_path / "x.txt", text)))["x.txt"]
    assert (report.format, report.samples) == ("perf script", 2)


def test_a_log_in_which_somebody_quotes_a_sample_is_a_log() -> None:
    log = "".join(f"2026-11-15T20:15:{at:02d}Z step {at} done\n" for at in range(60))
    sample = "worker 70 [000] 5.1: 9 cpu-clock: \n\t          400123 main+0x3 (/opt/worker)\n\n"
    assert not is_script(f"{log}{sample}".encode())


def test_a_table_of_numbers_is_none() -> None:
    """/proc/net/netfilter/nfnetlink_queue"""
    table = b"    0  29657     0 2 65531     0     0        0  1\n"
    assert not is_script(table + b"    1  -4270     0 2 65531     0     0        0  1\n")
    # `date; cat /proc/diskstats`
    disks = b"   7       0 loop0 0 0 0 0 0\n 254       0 vda 207 21 878 15\n"
    assert not is_script(2 * (b"Sun Nov 15 20:15:17 UTC 2026\n" + disks))
