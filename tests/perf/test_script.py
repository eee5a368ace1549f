from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

import exhume.perf.script as script
from exhume.errors import ParseError
from exhume.perf.records import Lost
from exhume.perf.script import ScriptReader
from exhume.perf.script_frames import StackReader
from exhume.perf.script_scan import NO_NUMBER

STACK = (
    "\tffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])\n\t 57ac3 main+0x1 (/bin/a b)\n"
)


class Row(Struct, frozen=True):
    """A sample as the text shows it; None where it does not."""

    comm: str
    pid: int
    tid: int
    cpu: int | None
    time_ns: int | None
    period: int | None
    event: str
    stack: str = STACK


def read(text: str | bytes) -> tuple[list[Row], ScriptReader]:
    data = text.encode() if isinstance(text, str) else text
    reader = ScriptReader(io.BytesIO(data), "out.txt")
    rows: list[Row] = []
    comms: list[bytes] = []
    events: list[bytes] = []
    stacks: list[bytes] = []
    for block in reader.blocks():
        columns = block.columns
        comms += columns.new_comms
        events += columns.new_events
        stacks = (stacks if not block.is_fresh else []) + columns.new_stacks
        rows += [
            Row(
                comms[columns.comm[i]].decode(), int(columns.pid[i]), int(columns.tid[i]),
                None if columns.cpu[i] < 0 else int(columns.cpu[i]),
                None if columns.time[i] == NO_NUMBER else int(columns.time[i]),
                None if columns.period[i] == NO_NUMBER else int(columns.period[i]),
                events[columns.event[i]].decode(), stacks[columns.stack[i]].decode(),
            )
            for i in range(len(columns))
        ]  # fmt: skip
    return rows, reader


def only(text: str) -> Row:
    (row,), reader = read(text)
    assert reader.odd_lines == 0
    return row


def test_a_sample_without_stacks_is_one_line_with_its_address() -> None:
    text = (
        "           false 39654 19115.489713:     1 cycles:u:  ffffffff9b201293 [unknown] (x)\n"
        "              dd 39654 19115.489719:     1 cycles:      7fa68b1f2d84 _dl+0x4 (/l.so)\n"
    )
    rows, reader = read(text)
    assert [(row.comm, row.stack) for row in rows] == [
        ("false", "ffffffff9b201293 [unknown] (x)\n"), ("dd", "7fa68b1f2d84 _dl+0x4 (/l.so)\n"),
    ]  # fmt: skip
    assert reader.odd_lines == 0


@pytest.mark.parametrize(
    ("rest", "event", "stack"),
    [
        ("cycles:                0     7f77990d9afb add (/x)", "cycles", "7f77990d9afb add (/x)"),
        ("9 cycles:     7f00 ffffffff8168c41e f ([k])", "cycles", "ffffffff8168c41e f ([k])"),
        ("cycles:     401000 add (/x)", "cycles", "401000 add (/x)"),
        ("cycles:     7f77990d9afb", "cycles", "7f77990d9afb"),
        (" 7f77990d9afb", "", "7f77990d9afb"),
        (" 7f77990d9afb f (/x)", "", "7f77990d9afb f (/x)"),
        ("           401000 main (/x)", "", "401000 main (/x)"),
        ("    2004008  ffffffff8168c41e f ([k])", "", "ffffffff8168c41e f ([k])"),
        ("9 cycles:     7f00         7f77990d9afb", "cycles", "7f77990d9afb"),
        ("9 cycles:     7f00         7f77990d9afb add", "cycles", "7f77990d9afb add"),
        # perf mem record: data, what it was, how long it took, and only then the code
        (
            "9 loads:     7ffd0c6a3c60         68100142 |OP LOAD|LVL L1 hit|TLB L1 hit|BLK  N/A"
            "               4            401136 add (/x)",
            "loads",
            "401136 add (/x)",
        ),
        (
            "9 loads: ffff88812  68100142 |OP LOAD|LCK No|BLK  N/A ffffffff8168c41e f ([k])",
            "loads",
            "ffffffff8168c41e f ([k])",
        ),
        (
            "9 faults:     7ffd0c6a3c60 [unknown] ([stack])            401136 a b (/x)",
            "faults",
            "401136 a b (/x)",
        ),
        (
            "9 cycles:  /system.slice/a b.service           401136 add (/x)",
            "cycles",
            "401136 add (/x)",
        ),
        (
            "9 cycles:     401136 add (/x)         1f2e3d4c 4K 4K",
            "cycles",
            "401136 add (/x)         1f2e3d4c 4K 4K",
        ),
        (
            "1 branches:uH:   tr strt             401136 add (/x) =>     7f77990d9afb sub (/y)",
            "branches:uH",
            "401136 add (/x) =>     7f77990d9afb sub (/y)",
        ),
        (
            "1 branches:     401136 add (/x) =>     7f77990d9afb sub (/y)",
            "branches",
            "401136 add (/x) =>     7f77990d9afb sub (/y)",
        ),
        (
            "sched:sched_stat_runtime: comm=a b runtime=62634 [ns] ffffffff813ad60a f+0x4 ([k])",
            "sched:sched_stat_runtime",
            "ffffffff813ad60a f+0x4 ([k])",
        ),
        (
            "sched:sched_switch: prev_comm=a ==> next_comm=b next_prio=120 ffffffff813ad60a f",
            "sched:sched_switch",
            "ffffffff813ad60a f",
        ),
        (
            "vpa-dtl: timebase: 21403600 reason:H_CEDE,       ready:120 c0000000000fcd28 f ([k])",
            "vpa-dtl",
            "c0000000000fcd28 f ([k])",
        ),
        (
            "9 sdt_app:x: (4004a0) arg1=12 face     7f77990d9afb do it(int) (/opt/a b (deleted))",
            "sdt_app:x",
            "7f77990d9afb do it(int) (/opt/a b (deleted))",
        ),
    ],
)
def test_the_code_of_a_sample_without_a_stack_is_told_from_what_stands_before_it(
    rest: str, event: str, stack: str
) -> None:
    row = only(f"dd 29776 [001] 666709.771979: {rest}\n")
    assert (row.event, row.stack) == (event, f"{stack}\n")


@pytest.mark.parametrize(
    "rest",
    [
        "irq:irq_handler_entry: irq=24 name=eth0 (/dev/null)",
        "block:block_rq_issue: 8,0 W 4096 () 1234 + 8 [kworker/0:1]",
        "ext4:x: dev 8,1 ino      12 dead (/foo)",
        "kmem:kmalloc: call_site=ffffffff813ad60a ptr=0xffff888100c3a000 bytes_req=64",
        "kmem:x: x=1 7f77990d9afbface mode 12",
        "kmem:x: x=1 ffff888100c3a000 flags of it",
        "probe:f: (ffffffff812a3b40)",
        "probe:f: (ffffffff812a3b40) ffff888100c3a000",
    ],
)
def test_what_a_tracepoint_says_is_no_code(rest: str) -> None:
    assert only(f"dd 29776 [001] 666709.771979: {rest}\n").stack == ""


@pytest.mark.parametrize(
    "below",
    [
        "  bitops.h:207\n",
        "\tadd+0:\n\t0000000000401126\tinsn: 55\n\t000000000040112a\tinsn: eb 05 \t# PRED\n",
        " ABI:2    AX:0x1ab17\n",
    ],
)
def test_what_stands_below_a_sample_without_a_stack_is_not_its_stack(below: str) -> None:
    head = "dd 29776 [001] 6.771979: 9 cycles:           401136 add+0x10 (/x)\n"
    rows, reader = read(f"{head}{below}\n{head}{below}\n")
    assert [row.stack for row in rows] == ["401136 add+0x10 (/x)\n"] * 2
    assert reader.odd_lines == 0


@pytest.mark.parametrize(
    "complaint",
    [
        "Failed to open /tmp/perf-12.map, continuing without symbols\n",
        "addr2line: DWARF error: could not find abbrev number 1234\n",
        "no symbols found in /bin/x, maybe install a debug package?\naddr2line: x: y\n",
    ],
)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("block", [90, 1 << 20])
def test_what_perf_complains_of_in_a_stack_does_not_end_it(
    complaint: str, place: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", block)
    lines = STACK.splitlines(keepends=True)
    stack = "".join([*lines[:place], complaint, *lines[place:]])
    rows, reader = read(f"a 1 1.5: cycles:\n{stack}\na 1 2.5: cycles:\n{STACK}\n{complaint}")
    assert [(row.comm, row.stack) for row in rows] == [("a", stack), ("a", STACK)]
    assert StackReader().read(stack.encode()) == StackReader().read(STACK.encode())
    assert reader.odd_lines == complaint.count("\n")


@pytest.mark.parametrize("line", ["\t7f12\n", "\t            7f12 \n", "7f12 go (/x)\n"])
def test_a_thread_with_nothing_but_addresses_below_it_is_a_sample(line: str) -> None:
    assert only(f"java 12\n{line}\n").stack == line


def test_samples_without_times_need_no_empty_line_between_them() -> None:
    rows, _ = read(f"x 1 cycles:\n{STACK}y 2 cycles:\n{STACK}z 3\n{STACK}")
    assert [row.comm for row in rows] == ["x", "y", "z"]


@pytest.mark.parametrize("block", [60, 1 << 20])
def test_what_the_kernel_dropped_is_added_up(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", block)
    sample = f"a 1 [000] 1.5: cycles:\n{STACK}\n"
    text = (
        f"{sample}a 1 [000] 1.5: PERF_RECORD_LOST lost 88\n{sample}"
        f"PERF_RECORD_LOST lost 4\n{sample}a 1 [000] 1.6: PERF_RECORD_LOST_SAMPLES lost 7\n"
        f"PERF_RECORD_FINISHED_ROUND\n{sample}PERF_RECORD_LOST\n"
    )
    rows, reader = read(text)
    assert [row.event for row in rows].count("cycles") == 4
    assert (reader.lost, reader.odd_lines) == (Lost(92, 7), 0)
    assert read(sample)[1].lost == Lost()


def test_an_indented_text_has_comments_and_marks_of_rounds_too() -> None:
    text = (
        f"    # cmdline : perf 12 \n    PERF_RECORD_FINISHED_ROUND\n    a 1 1.0: cycles:\n{STACK}\n"
    )
    assert only(text).comm == "a"


def test_stacks_may_be_empty_follow_an_empty_line_or_stand_at_the_margin() -> None:
    text = (
        f"a 1 1.0: cycles:\n\nb 2 2.0: cycles:\n\n{STACK}\n"
        "c 3 3.0: cycles:\nffffffff8103d0ca native ([kernel.kallsyms])\n\n"
        "d 4 4.0: cycles:\n        7f0000 x (/bin/x)"
    )
    rows, _ = read(text)
    assert [row.stack for row in rows] == [
        "", STACK, "ffffffff8103d0ca native ([kernel.kallsyms])\n", "        7f0000 x (/bin/x)",
    ]  # fmt: skip


def test_an_empty_line_may_stand_above_a_stack_of_spaces_too() -> None:
    """As pages show it. A thread's name may look like an address where there are no stacks."""
    stack = "         7f0000 x (/bin/x)\n        7f0010 main+0x1 (/bin/x)\n"
    text = f"a 1 1.0: cycles:\n\n{stack}\n  bd 2 2.0: cycles:\n\n  dd 3 3.0: cycles:\n\n{stack}"
    rows, reader = read(text)
    assert [(row.comm, row.stack) for row in rows] == [("a", stack), ("bd", ""), ("dd", stack)]
    assert reader.odd_lines == 0


def test_comments_carriage_returns_and_odd_lines_cost_nothing_else() -> None:
    text = (
        f"# header\n#\na 1 1.0: cycles:\r\n{STACK}\r\n\r\nnonsense\n\nb 2 2.0: cycles:\n{STACK}\n"
    )
    rows, reader = read(text)
    assert [row.comm for row in rows] == ["a", "b"]
    assert reader.odd_lines == 1
    assert "'nonsense'" in reader.first_odd
    assert str(text.index("nonsense")) in reader.first_odd


def test_a_command_of_several_lines_is_part_of_the_header() -> None:
    head = "# ========\n# hostname : x\n# cmdline : sh -c \nfoo 1 2.0: cycles:\n# arch : y\n"
    rows, reader = read(f"{head}# ========\n#\na 1 1.0: cycles:\n{STACK}\n")
    assert [row.comm for row in rows] == ["a"]
    assert (reader.header.hostname, reader.header.architecture) == ("x", "y")
    assert reader.odd_lines == 0


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize(
    "above", ["root@gpu-7:~# perf script\n", "Warning:\nlost 3 chunks!\n\nCheck IO!\n\n"]
)
def test_a_header_below_what_a_terminal_or_perf_says_still_counts(
    above: str, indent: str, newline: str
) -> None:
    head = "# ========\n# hostname : x\n# cmdline : sh -c \nfoo 1 2.0: cycles:\n# arch : y\n"
    text = f"{above}{head}# ========\n#\na 1 1.0: cycles:\n{STACK}\n".replace("\n", newline)
    rows, reader = read("".join(indent + line for line in text.splitlines(keepends=True)))
    assert [row.comm for row in rows] == ["a"]
    assert (reader.header.hostname, reader.header.architecture) == ("x", "y")
    assert reader.odd_lines == len(above.split("\n")) - above.count("\n\n") - 1
    assert reader.first_odd.startswith(f"offset 0: '{above.split(chr(10))[0]}")


@pytest.mark.parametrize(
    "text",
    [
        "", "\n\n", "# only comments\n", "hello 12\n", "a\tb\n",
        # perf trace
        "     0.096 ( 0.007 ms): a/16442 close(fd: 3)    = 0\n" * 3,
    ],
)  # fmt: skip
def test_text_without_samples_has_none(text: str) -> None:
    assert read(text)[0] == []


NAMES = st.from_regex(r"[A-Za-z:<][\w:/<>\[\]. -]{0,13}[a-z]", fullmatch=True)
NUMBERS = st.integers(0, 10**9)
ROWS = st.builds(
    Row,
    comm=NAMES,
    pid=NUMBERS,
    tid=NUMBERS,
    cpu=st.none() | st.integers(0, 4096),
    time_ns=st.integers(0, 10**9).map(lambda us: us * 1000),
    period=st.none() | st.integers(0, 10**12),
    event=st.sampled_from(["cycles", "cpu-clock:uhH", "sched:sched_switch", "cpu/x=1/"]),
    stack=st.sampled_from(["", STACK, "\t1 a (b)\n", "\t1 a (b)\n\t2 c::d(int) (e)\n"]),
)


def written(row: Row) -> str:
    cpu = "" if row.cpu is None else f"[{row.cpu:03d}] "
    period = "" if row.period is None else f"{row.period:10d} "
    assert row.time_ns is not None
    seconds, rest = divmod(row.time_ns, 10**9)
    head = f"{row.comm} {row.pid:5d}/{row.tid:<5d} {cpu}{seconds:5d}.{rest // 1000:06d}: "
    return f"{head}{period}{row.event}: \n{row.stack}\n"


@given(st.lists(ROWS, max_size=12), st.sampled_from([64, 200, 1 << 20]))
@settings(deadline=None)
def test_what_perf_writes_reads_back_however_it_is_cut(rows: list[Row], block: int) -> None:
    before, script.BLOCK_BYTES = script.BLOCK_BYTES, block
    try:
        assert read("".join(map(written, rows)))[0] == rows
    finally:
        script.BLOCK_BYTES = before


@given(st.lists(ROWS, max_size=4), st.data())
@settings(deadline=None)
def test_no_damage_makes_the_reader_fail(rows: list[Row], data: st.DataObject) -> None:
    text = bytearray("".join(map(written, rows)).encode() or b"x")
    for _ in range(data.draw(st.integers(0, 6))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.sampled_from(b"\n\t 0[]:./-a#")
        )
    ScriptReader(io.BytesIO(bytes(text)), "x")
    for block in ScriptReader(io.BytesIO(bytes(text)), "x").blocks():
        assert len(block.columns) <= len(text)


@given(st.binary(max_size=300))
def test_any_bytes_are_harmless(data: bytes) -> None:
    for block in ScriptReader(io.BytesIO(data), "x").blocks():
        assert len(block.columns)


def test_many_distinct_stacks_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "MAX_STACKS", 10)
    monkeypatch.setattr(script, "BLOCK_BYTES", 256)
    text = "".join(f"a 1 {i}.0: cycles:\n\t{i:x} f{i} (x)\n\n" for i in range(200))
    rows, _ = read(text)
    assert [row.stack for row in rows] == [f"\t{i:x} f{i} (x)\n" for i in range(200)]


def test_a_stack_without_end_is_refused_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "MAX_SAMPLE_BYTES", 10_000)
    monkeypatch.setattr(script, "BLOCK_BYTES", 1024)
    with pytest.raises(
        ParseError, match=r"out\.txt, offset 0: expected the samples of perf script"
    ):
        read("a 1 1.0: cycles:\n" + "\t1 a (b)\n" * 20_000)


HEADER = "# ========\n# captured on    : Sun Nov 15 20:21:09 2026\n# hostname : {}\n# ========\n#\n"
SAMPLE = f"a 1 1.5: cycles:\n{STACK}\n"


def test_headers_are_counted() -> None:
    assert read(SAMPLE)[1].headers == 0
    assert read(HEADER + SAMPLE)[1].headers == 1
    rows, reader = read(2 * (HEADER + SAMPLE) + "#1 2 1.6: cycles:\n" + HEADER + SAMPLE)
    assert [row.comm for row in rows] == ["a", "a", "#1", "a"]
    assert (reader.headers, reader.odd_lines) == (3, 0)


@pytest.mark.parametrize("cut", [HEADER.index("# hostname"), HEADER.rindex("# ====")])
def test_samples_below_a_piece_of_a_header_are_read_where_another_header_follows(cut: int) -> None:
    other = HEADER.format("other") + SAMPLE
    rows, _ = read(HEADER[cut:] + SAMPLE + other)
    assert len(rows) == 2
    rows, reader = read(HEADER.format("first")[:cut] + "#\n" + SAMPLE + other)
    assert (len(rows), reader.headers) == (2, 2)
    assert reader.header.hostname != "other"
