"""Which stacks, and which of their lines, the reader of perf-script text takes for one."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.model.stack import Frame
from exhume.perf.script import ScriptReader
from exhume.perf.script_frames import StackReader


def numbers_of(stacks: Sequence[str]) -> list[int]:
    """Of stacks, each of lines without their tabs: which of them the reader takes for one."""
    lines = ["\n".join(f"\t{line}" for line in stack.splitlines()) for stack in stacks]
    text = "".join(
        f"x 1 [000] {at}.000001: cpu-clock:\n{stack}\n\n" for at, stack in enumerate(lines)
    )
    (found,) = ScriptReader(io.BytesIO(text.encode()), "out.txt").blocks()
    return [int(number) for number in found.columns.stack]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ffffffff81000001 f+0x1 ([nf_nat])", "ffffffff81000009 f+0x9 ([nf_nat])"),
        ("401 main+0x1", "402 main+0x2"),
        ("7f00 [unknown] ([unknown])", "9a3cf639d8d533c7 [unknown] ([unknown])"),
        ("1 operator+(A) const+0x5 (/lib/a b+0x1 (deleted))",
         "2 operator+(A) const+0x6 (/lib/a b+0x1 (deleted))"),
        ("1 a+0x1 (/x)\n2 b+0x2 (/x)", "3 a+0x4 (/x)\n5 b+0x6 (/x)"),
    ],
)  # fmt: skip
def test_stacks_that_say_the_same_are_one(one: str, other: str) -> None:
    assert numbers_of([one, other]) == [0, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("401 main+0x1 (/bin/x)", "401 main+0x1 (/bin/y)"),
        ("401 main+0x1 (/bin/x)", "401 main+0x1z (/bin/x)"),
        ("401 [unknown] (/bin/x)", "402 [unknown] (/bin/x)"),  # named by where it is
        ("401 [unknown] ([unknown])", "ffffffff81000001 [unknown] ([unknown])"),
        ("401 f ([unknown])", "ffffffff81000001 f ([unknown])"),
        ("401 [unknown] ([unknown])", "c000000000a1b2c4 [unknown] ([unknown])"),
        ("1 ab+0x1 (/x)", "1 a+0x1 (/xb)"),
        ("1 a+0x1 (/x+0x1 (deleted))", "1 a+0x1 (/x+0x2 (deleted))"),
        ("1 a+0x1 (/x)\n2 b+0x2 (/x)", "2 b+0x2 (/x)\n1 a+0x1 (/x)"),
        ("1 a+0x1 (/x)\n2 b+0x2 (/x)", "1 a+0x1 (/x)"),
    ],
)
def test_stacks_that_say_something_else_are_two(one: str, other: str) -> None:
    assert numbers_of([one, other]) == [0, 1]


def test_a_function_that_calls_itself_is_another_stack_each_time() -> None:
    stacks = ["7f12 walk+0x1 (/bin/x)\n" * depth + "401 main+0x1 (/bin/x)" for depth in range(300)]
    assert numbers_of(stacks) == list(range(300))


@pytest.mark.parametrize(
    "line",
    [
        "{:>16x} walk+0x{:x} (/lib/x86_64-linux-gnu/libc.so.6)",
        "{:>16x} f+0x{:x} ([kernel.kallsyms])",
        "{:>16x} operator()(int) const+0x{:x} (/a b)",
        "{:>16x} a+0x{:x}",
    ],
)
@pytest.mark.parametrize("half", [0, 0xFFFF << 48, 0xC0 << 56])
def test_a_line_says_the_same_however_it_is_set_off(line: str, half: int) -> None:
    """perf's own columns are read by a shorter way than lines that others have changed."""
    usual = line.format(0x401000 + half, 0x1F)
    changed = [usual.lstrip(), f"  {usual}", f"{usual}\r", usual.replace("+0x1f", "+0x1F")]
    assert numbers_of([usual, *changed, line.format(0x402000 + half, 0x12345)]) == [0] * 6
    others = [usual.replace("+0x1f", "+0x1g"), f"{usual}/", f"g{usual[1:]}"]
    assert numbers_of([usual, *others]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("{:>16x} walk", True),
        ("{:>16x} walk (/bin/x)", True),
        ("{:>16x} outer (inlined)", True),
        ("{:>16x} [unknown] ([unknown])", True),
        ("{:>16x} [unknown]", False),
        ("{:>16x} [unknown] (/bin/x)", False),
        ("{:>16x} (/bin/x)", False),
        ("{:>16x}", False),
    ],
)
def test_an_address_tells_lines_apart_only_where_no_symbol_does(line: str, is_one: bool) -> None:
    lines = [line.format(0x401000), line.format(0x401000).lstrip(), line.format(0x402000)]
    assert numbers_of(lines) == [0, 0, 0 if is_one else 1]


FRAME_LINES = st.builds(
    "{} {}{}{}".format,
    st.sampled_from(
        ["401", "402", f"{'401':>16}", "ffffffff81000001", "ffffffff81000002", "9a3cf639d8d533c7"]
    ),
    st.sampled_from(["f", "g", "[unknown]", "f+0x1 (y)", "operator()(int)"]),
    st.sampled_from(["", "+0x1", "+0x2f"]),
    st.sampled_from(
        [
            "",
            " ([unknown])",
            " (/bin/x)",
            " ([kernel.kallsyms])",
            " (inlined)",
            " (z",
            " (/b+0x1 (x))",
            " (/b+0x2 (x))",
            " (/b+0x2 (deleted))",
        ]
    ),
)


@given(st.lists(st.lists(FRAME_LINES, min_size=1, max_size=4), min_size=2, max_size=6))
def test_stacks_that_are_one_have_the_same_frames(stacks: list[list[str]]) -> None:
    texts = ["\n".join(stack) for stack in stacks]
    frames: dict[int, list[Frame]] = {}
    for number, text in zip(numbers_of(texts), texts, strict=True):
        read_ = StackReader().read(text.encode())
        assert frames.setdefault(number, read_) == read_
