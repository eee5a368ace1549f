"""Functions of stripped programs: where they begin, without names."""

from __future__ import annotations

import re
import struct
import subprocess
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


ENTRIES_AT = 0x800000
"""Where .eh_frame is said to be in memory; the table is at 0, so what it says are addresses."""


def table(*starts: int, order: str = "<", head: tuple[int, ...] = USUAL, count: int = -1) -> bytes:
    count = len(starts) if count < 0 else count
    pairs = b"".join(
        struct.pack(order + "ii", start, ENTRIES_AT + 16 * n) for n, start in enumerate(starts)
    )
    return bytes(head) + struct.pack(order + "iI", 0, count) + pairs


def entries(*functions: tuple[int, int], order: str = "<") -> bytes:
    """Of (begin, length)."""
    return b"".join(
        struct.pack(order + "IIiI", 12, 4, begin - (ENTRIES_AT + 16 * n + 8), length)
        for n, (begin, length) in enumerate(functions)
    )


def made(
    functions: list[tuple[int, int]], order: str = "<", dynamic: tuple[Symbol, ...] = ()
) -> bytes:
    starts = [begin for begin, _ in functions]
    extra = {
        ".eh_frame_hdr": table(*starts, order=order),
        ".eh_frame": entries(*functions, order=order),
    }
    return MadeElf(order=order, dynamic=dynamic, extra=extra, at={".eh_frame": ENTRIES_AT}).data()


def read(data: bytes) -> Symbols | None:
    return ehframe.read(BytesImage(data), elf.parse(data, "x"), "x")


def with_table(section: bytes) -> bytes:
    return MadeElf(extra={".eh_frame_hdr": section, ".eh_frame": entries((TEXT_VADDR, 8))}).data()


@pytest.mark.parametrize("order", ["<", ">"])
def test_functions_in_code_are_taken_and_end_with_their_section(order: str) -> None:
    end = TEXT_VADDR + TEXT_BYTES
    found = read(made([(0x10, 8), (TEXT_VADDR, 0x18), (end - 4, 9), (end, 8)], order))
    assert found is not None
    assert found.start.tolist() == [TEXT_VADDR, end - 4]
    assert found.limit.tolist() == [TEXT_VADDR + 0x18, end]


def test_an_entry_that_is_of_another_function_tells_nothing() -> None:
    functions = [(TEXT_VADDR, 8), (TEXT_VADDR + 16, 8)]
    data = made(functions)
    at = data.index(entries(*functions)) + 16 + 8
    found = read(data[:at] + b"\1" + data[at + 1 :])
    assert found is not None
    assert found.start.tolist() == [TEXT_VADDR]


@pytest.mark.parametrize("head", [(2, 0x1B, 3, 0x3B), (1, 0x1B, 3, 0x1B), (1, 0xFF, 0xFF, 0xFF)])
def test_what_is_written_otherwise_is_left_alone(head: tuple[int, ...]) -> None:
    assert read(with_table(table(TEXT_VADDR, head=head))) is None


def test_more_functions_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(ParseError, match="a table of 9 functions"):
        read(with_table(table(TEXT_VADDR, count=9)))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    try:
        found = read(with_table(bytes(USUAL) + tail))
    except ParseError:
        return
    assert found is None or (found.start < found.limit).all()


def test_names_win_over_functions_without_and_all_of_a_function_is_one_frame() -> None:
    known = Symbol("known", TEXT_VADDR + 0x40, 0x20)
    places = ((0x10, 0x30), (0x40, 0x20), (0x48, 8), (0x60, 0x10), (0x80, 0x800))
    data = made([(TEXT_VADDR + at, length) for at, length in places], dynamic=(known,))
    found = read_table(BytesImage(data), "x")
    assert found.named == 1
    symbolizer = Symbolizer(FrameTable(), lambda _: found, None)
    segment = found.load_segments[0]
    asked = [0x08, 0x10, 0x3F, 0x40, 0x4A, 0x5F, 0x60, 0x6F, 0x70, 0x87F, 0x880]
    offsets = np.array(asked, np.uint64) + np.uint64(segment.offset + TEXT_VADDR - segment.vaddr)
    frames = [symbolizer.frames.frames[n] for n in symbolizer.user("k", "/bin/x", offsets).tolist()]
    assert [frame.name for frame in frames] == [
        "x+0x401008", "x+0x401010", "x+0x401010", "known", "known", "known", "x+0x401060",
        "x+0x401060", "x+0x401070", "x+0x401080", "x+0x401880",
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


def test_lengths_are_those_that_readelf_tells() -> None:
    libc = next(Path("/usr/lib").glob("*-linux-gnu/libc.so.6"))
    # It also looks for a debug file, and fails where there is none; what it shows is whole.
    command = ["readelf", "--debug-dump=frames", str(libc)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    told = {
        (int(begin, 16), int(end, 16))
        for begin, end in re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", shown)
    }
    found = read(libc.read_bytes())
    assert found is not None
    assert len(found) > 0.99 * len(told) > 1000
    assert set(zip(found.start.tolist(), found.limit.tolist(), strict=True)) <= told
