"""Functions of stripped programs: where they begin, without names."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.model.stack import FrameKind
from exhume.perf.symbolize import FrameTable, Symbolizer
from exhume.perf.symbols import ehframe, elf
from exhume.perf.symbols.build import Symbols
from exhume.perf.symbols.capture import read_table
from exhume.perf.symbols.image import BytesImage
from tests.perf.symbols.made_elf import TEXT_BYTES, TEXT_VADDR, MadeElf, Symbol
from tests.perf.symbols.real_programs import C_SOURCE, compiled, run

USUAL = (1, 0x1B, 0x03, 0x3B)


def table(*starts: int, order: str = "<", head: tuple[int, ...] = USUAL, count: int = -1) -> bytes:
    """The section lies at address 0, so offsets from it are addresses."""
    count = len(starts) if count < 0 else count
    pairs = b"".join(struct.pack(order + "ii", start, 0) for start in starts)
    return bytes(head) + struct.pack(order + "iI", 0, count) + pairs


def read(section: bytes, order: str = "<") -> Symbols | None:
    data = MadeElf(order=order, extra={".eh_frame_hdr": section}).data()
    return ehframe.read(BytesImage(data), elf.parse(data, "x"), "x")


@pytest.mark.parametrize("order", ["<", ">"])
def test_functions_in_code_are_taken_and_end_with_their_section(order: str) -> None:
    starts = 0x10, TEXT_VADDR, TEXT_VADDR + 0x20, TEXT_VADDR + TEXT_BYTES
    found = read(table(*starts, order=order), order)
    assert found is not None
    assert found.start.tolist() == [TEXT_VADDR, TEXT_VADDR + 0x20]
    assert found.limit.tolist() == [TEXT_VADDR + TEXT_BYTES] * 2


@pytest.mark.parametrize("head", [(2, 0x1B, 3, 0x3B), (1, 0x1B, 3, 0x1B), (1, 0xFF, 0xFF, 0xFF)])
def test_what_is_written_otherwise_is_left_alone(head: tuple[int, ...]) -> None:
    assert read(table(TEXT_VADDR, head=head)) is None


def test_more_functions_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(ParseError, match="a table of 9 functions"):
        read(table(TEXT_VADDR, count=9))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    try:
        found = read(bytes(USUAL) + tail)
    except ParseError:
        return
    assert found is None or (found.start < found.limit).all()


def test_names_win_over_functions_without_and_all_of_a_function_is_one_frame() -> None:
    known = [Symbol("known", TEXT_VADDR + 0x40, 0x20)]
    starts = [TEXT_VADDR + at for at in (0x10, 0x40, 0x48, 0x60)]
    data = MadeElf(dynamic=known, extra={".eh_frame_hdr": table(*starts)}).data()
    made = read_table(BytesImage(data), "x")
    assert made.named == 1
    symbolizer = Symbolizer(FrameTable(), lambda _: made, None)
    segment = made.load_segments[0]
    places = [0x08, 0x10, 0x3F, 0x40, 0x4A, 0x5F, 0x60, 0xF00]
    offsets = np.array(places, np.uint64) + np.uint64(segment.offset + TEXT_VADDR - segment.vaddr)
    frames = [symbolizer.frames.frames[n] for n in symbolizer.user("k", "/bin/x", offsets).tolist()]
    assert [frame.name for frame in frames] == [
        "x+0x401008", "x+0x401010", "x+0x401010", "known", "known", "known", "x+0x401060",
        "x+0x401060",
    ]  # fmt: skip
    kinds = {frame.name: frame.kind for frame in frames}
    assert kinds["known"] == FrameKind.USER
    assert kinds["x+0x401010"] == FrameKind.UNKNOWN


def test_a_stripped_program_has_the_functions_that_nm_saw_before(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE)
    lines = [line.split() for line in run("nm", "-S", program).splitlines()]
    functions = {
        words[3]: (int(words[0], 16), int(words[1], 16))
        for words in lines
        if len(words) == 4 and words[2] in "tT"
    }
    run("strip", program)
    found = read_table(BytesImage(program.read_bytes()), str(program))
    for name in ("hidden", "visible", "main"):
        start, size = functions[name]
        inside = np.arange(start, start + size, dtype=np.uint64)
        assert set(found.start[found.lookup(inside)].tolist()) == {start}, name
