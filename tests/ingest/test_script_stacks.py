"""Stacks put together from lines that are looked at once say what each says by itself."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume.perf.script as script
import exhume.perf.script_scan as script_scan
from exhume.ingest.script_stacks import ScriptStacks
from exhume.model.stack import Frame, Mode, StackTree
from exhume.perf.script import ScriptReader
from exhume.perf.script_frames import StackReader, frames_only
from exhume.perf.symbolize import LOST_STACK_FRAME

HEAD = "worker 7/7 [000] 1.000000: 1 cpu-clock:\n"
PLACE = st.integers(0x1000, 0x1004)
LINES = st.one_of(
    st.builds("\tffffffff8100{:04x} walk+{:#x} ([kernel.kallsyms])".format, PLACE, PLACE),
    st.builds("\t    7f{:06x} main+{:#x} (/bin/a b)".format, PLACE, PLACE),
    st.builds("\t    {:06x} [unknown] (/bin/stripped)".format, PLACE),
    st.builds("\t    {:06x} [unknown] ([unknown])".format, PLACE),
    st.builds("\tffffffff8200{:04x} [unknown] ([unknown])".format, PLACE),
    st.builds("\t    {:06x} outer (inlined)".format, PLACE),
    st.builds("\t    {:06x} a->b->c (/tmp/perf-7.map)".format, PLACE),
    st.builds("\t    {:06x} _ZN3foo3barEv+{:#x} (/bin/x)".format, PLACE, PLACE),
    st.just("\tgcmodule.c:488"),
    st.just("\tTHIS IS NO FRAME"),
    st.just(" ABI:2    AX:0x3b    BX:0x1"),
)
STACKS = st.lists(st.lists(LINES, min_size=1, max_size=9), min_size=1, max_size=40)


def tree_of(text: str) -> tuple[StackTree, list[int]]:
    """And the node of each sample."""
    reader, stacks = ScriptReader(io.BytesIO(text.encode()), "out.txt"), ScriptStacks()
    nodes: list[int] = []
    for block in reader.blocks():
        stacks.learn(block)
        numbers = block.columns.stack.astype(np.int64)
        nodes += stacks.nodes(np.zeros_like(numbers), numbers, ["worker"]).tolist()
    tree, renumbered = stacks.finish()
    return tree, renumbered[nodes].tolist()


def read(text: str) -> list[list[Frame]]:
    """The frames of each sample below its process, root first."""
    tree, nodes = tree_of(text)
    found = []
    for node in nodes:
        path = []
        while node > 0:
            path.append(tree.frames[tree.frame[node]])
            node = int(tree.parent[node])
        found.append(path[::-1][1:])
    return found


def expected(lines: list[str]) -> list[Frame]:
    return StackReader().read(frames_only("\n".join(lines).encode())) or [LOST_STACK_FRAME]


@given(STACKS, st.sampled_from([300, 4 << 20]), st.sampled_from([1, 1 << 19]))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_is_what_its_lines_say(
    monkeypatch: pytest.MonkeyPatch, stacks: list[list[str]], block_bytes: int, most: int
) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(script, "MAX_STACKS", most)
    text = "".join(HEAD + "\n".join(lines) + "\n\n" for lines in stacks)
    assert read(text) == [expected(lines) for lines in stacks]


def of_kernel(name: str) -> str:
    return f"\tffffffff81003004 {name}+0x4 ([kernel.kallsyms])"


IN_PROGRAM = "\t          401136 main+0x1 (/bin/x)"


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ([IN_PROGRAM], Mode.USER),
        ([of_kernel("do_syscall_64"), IN_PROGRAM], Mode.SYSTEM),
        ([of_kernel("f"), of_kernel("__do_softirq"), IN_PROGRAM], Mode.SOFTIRQ),
        ([of_kernel("g"), of_kernel("asm_sysvec_apic_timer_interrupt")], Mode.IRQ),
        (
            [
                of_kernel("g"),
                of_kernel("__do_softirq"),
                of_kernel("asm_sysvec_apic_timer_interrupt"),
            ],
            Mode.SOFTIRQ,
        ),
        ([IN_PROGRAM, of_kernel("__do_softirq")], Mode.USER),
        (["\t    7ffd0c6a3c60 [unknown] ([unknown])", of_kernel("f")], Mode.USER),
        (["\tffffffff81003004 [unknown] ([unknown])", IN_PROGRAM], Mode.SYSTEM),
    ],
)
def test_the_mode_is_what_the_innermost_telling_frame_says(lines: list[str], mode: Mode) -> None:
    others = [[IN_PROGRAM], [of_kernel("g"), of_kernel("__do_softirq")]]
    stacks = [*others, lines, *reversed(others)]
    tree, nodes = tree_of("".join(HEAD + "\n".join(stack) + "\n\n" for stack in stacks))
    assert tree.mode[nodes[2]] == mode


def test_more_lines_than_there_is_room_for_come_in_several_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script_scan, "LINE_ROOM", 1100)
    stacks = [[f"\t1 f{number}_{line} (/bin/x)" for line in range(90)] for number in range(20)]
    text = "".join(HEAD + "\n".join(lines) + "\n\n" for lines in stacks)
    assert read(text) == [expected(lines) for lines in stacks]


@pytest.mark.parametrize("depth", [1023, 1024, 1025, 3000])
def test_the_deepest_are_cut_where_they_always_were(depth: int) -> None:
    lines = [f"\t1 f{line} (/bin/x)" for line in range(depth)]
    (found,) = read(HEAD + "\n".join(lines) + "\n\n")
    assert found == expected(lines)
    assert len(found) == min(depth, 1024)


def test_a_line_that_is_no_frame_counts_once_however_often_numbers_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", 200)
    monkeypatch.setattr(script, "MAX_STACKS", 0)
    text = (HEAD + "\tTHIS IS NO FRAME\n\n") * 20
    reader, stacks = ScriptReader(io.BytesIO(text.encode()), "out.txt"), ScriptStacks()
    anew = 0
    for block in reader.blocks():
        stacks.learn(block)
        anew += block.is_fresh
    assert anew > 1
    assert stacks.odd_lines == 1
