from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.perf.symbols import elf
from exhume.perf.symbols.build import Symbols, build
from exhume.perf.symbols.image import BytesImage, FileImage
from exhume.perf.symbols.table import SymbolTable
from tests.perf.symbols.made_elf import (
    AARCH64,
    ARM,
    FUNC,
    IFUNC,
    NOTYPE,
    OBJECT,
    TEXT_AT,
    TEXT_BYTES,
    TEXT_VADDR,
    MadeElf,
    Symbol,
)
from tests.perf.symbols.real_programs import C_SOURCE, CPP_SOURCE, compiled, run

BUILD_ID = bytes(range(20))


def names(symbols: Symbols | None) -> set[str]:
    assert symbols is not None
    spans = zip(symbols.name_start.tolist(), symbols.name_end.tolist(), strict=True)
    return {symbols.blob[begin:end].decode() for begin, end in spans}


def table_of(path: Path) -> SymbolTable:
    program = elf.parse(path.read_bytes(), str(path))
    pieces = [p for p in (program.symtab, program.dynsym, program.plt) if p]
    return build(pieces, program.load_segments)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_functions_build_id_and_segments_are_read_in_every_shape(bits: int, order: str) -> None:
    made = MadeElf(
        symbols=[Symbol("one", TEXT_VADDR, 16), Symbol("two", TEXT_VADDR + 16, 16)],
        dynamic=[Symbol("two", TEXT_VADDR + 16, 16)],
        build_id=BUILD_ID,
        bits=bits,
        order=order,
    )
    found = elf.parse(made.data(), "x")
    assert (found.bits, found.byte_order) == (bits, order)
    assert found.build_id == BUILD_ID
    assert names(found.symtab) == {"one", "two"}
    (segment,) = found.load_segments
    assert (segment.offset, segment.vaddr, segment.size_bytes) == (TEXT_AT, TEXT_VADDR, TEXT_BYTES)
    assert found.symtab is not None
    assert found.symtab.start.tolist() == [TEXT_VADDR, TEXT_VADDR + 16]


def test_the_dynamic_table_is_read_where_there_is_no_other() -> None:
    found = elf.parse(MadeElf(dynamic=[Symbol("only", TEXT_VADDR, 4)]).data(), "x")
    assert found.symtab is None
    assert names(found.dynsym) == {"only"}


def test_only_what_is_code_is_taken() -> None:
    made = MadeElf(
        symbols=[
            Symbol("function", TEXT_VADDR, 4, FUNC),
            Symbol("chosen_at_run_time", TEXT_VADDR + 8, 4, IFUNC),
            Symbol("assembler_label", TEXT_VADDR + 16, 0, NOTYPE),
            Symbol(".L_local_label", TEXT_VADDR + 20, 0, NOTYPE),
            Symbol("data", TEXT_VADDR + 24, 4, OBJECT),
            Symbol("undefined", 0, 0, FUNC, section=0),
            Symbol("absolute", 5, 0, NOTYPE, section=0xFFF1),
            Symbol("label_elsewhere", 5, 0, NOTYPE, section=2),
        ]
    )
    expected = {"function", "chosen_at_run_time", "assembler_label"}
    assert names(elf.parse(made.data(), "x").symtab) == expected


def test_mapping_symbols_of_arm_are_no_functions() -> None:
    symbols = [Symbol(n, TEXT_VADDR, 0, NOTYPE) for n in ("$x", "$d.12", "$xrv64", "real")]
    made = MadeElf(symbols=symbols, machine=AARCH64)
    assert names(elf.parse(made.data(), "x").symtab) == {"real"}


def test_the_thumb_bit_of_arm_is_not_part_of_the_address() -> None:
    made = MadeElf(symbols=[Symbol("thumb", TEXT_VADDR + 1, 4)], bits=32, machine=ARM)
    symbols = elf.parse(made.data(), "x").symtab
    assert symbols is not None
    assert symbols.start.tolist() == [TEXT_VADDR]


def test_a_size_that_runs_out_of_its_section_is_cut_at_its_end() -> None:
    made = MadeElf(symbols=[Symbol("liar", TEXT_VADDR + TEXT_BYTES - 8, 1 << 40)])
    symbols = elf.parse(made.data(), "x").symtab
    assert symbols is not None
    assert symbols.size.tolist() == [8]


def test_the_name_of_the_debug_file_is_read_but_never_a_path() -> None:
    def link(name: bytes) -> elf.DebugLink | None:
        body = name + b"\0" * (4 - len(name) % 4) + struct.pack("<I", 0xCAFE)
        return elf.parse(MadeElf(extra={".gnu_debuglink": body}).data(), "x").debuglink

    assert link(b"prog.debug") == elf.DebugLink("prog.debug", 0xCAFE)
    assert link(b"../../etc/shadow") is None
    assert link(b"..") is None
    assert link(b"") is None


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x03\x01" + bytes(80)])
def test_what_is_no_elf_file_is_refused_with_the_place(data: bytes) -> None:
    with pytest.raises(ParseError, match="offset"):
        elf.parse(data, "/some/file")


def test_a_symbol_table_outside_the_file_is_refused() -> None:
    data = bytearray(MadeElf(symbols=[Symbol("f", TEXT_VADDR)]).data())
    at = struct.unpack_from("<Q", data, 40)[0] + 2 * 64  # the section header of .symtab
    struct.pack_into("<Q", data, at + 24, 1 << 60)
    with pytest.raises(ParseError, match="inside the file"):
        elf.parse(bytes(data), "x")


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_but_never_worse(data: st.DataObject) -> None:
    whole = MadeElf(
        symbols=[Symbol("one", TEXT_VADDR, 16), Symbol("two", TEXT_VADDR + 16, 16)],
        dynamic=[Symbol("three", TEXT_VADDR, 16)],
        build_id=BUILD_ID,
        bits=data.draw(st.sampled_from([32, 64])),
        order=data.draw(st.sampled_from("<>")),
        extra={".rela.plt": bytes(48), ".plt": bytes(48), ".gnu_debuglink": b"a.debug\0\1\2\3\4"},
    ).data()
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)), label="length")])
    # The headers, the first 200 bytes and those behind the code, are where damage hurts.
    places = [*range(min(200, len(damaged))), *range(TEXT_AT + TEXT_BYTES, len(damaged))]
    for _ in range(data.draw(st.integers(0, 8)) if places else 0):
        damaged[data.draw(st.sampled_from(places))] = data.draw(st.sampled_from([0, 1, 127, 255]))
    try:
        found = elf.parse(bytes(damaged), "x")
    except ParseError:
        return
    build([p for p in (found.symtab, found.dynsym, found.plt) if p], found.load_segments)


@settings(deadline=2000)
@given(st.binary(max_size=400))
def test_random_bytes_behind_a_header_are_refused_or_read(tail: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01", b"\x7fELF\x01\x02"):
        try:
            elf.parse(start + tail, "x")
        except ParseError:
            continue


def test_the_build_id_alone_needs_only_the_headers_and_the_notes() -> None:
    made = MadeElf(symbols=[Symbol("f", TEXT_VADDR)] * 1000, build_id=BUILD_ID).data()
    read: list[int] = []

    class Counting(BytesImage, frozen=True):
        def read(self, offset: int, length: int) -> bytes:
            read.append(length)
            return super().read(offset, length)

    assert elf.read_build_id(Counting(made), "x") == BUILD_ID
    assert sum(read) < 1024


@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",), ("-static",)])
def test_real_programs_resolve_as_nm_says(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, *flags)
    table = table_of(program)
    wrong = disagreements_with_nm(program, table)
    assert not wrong
    assert {"main", "visible", "hidden"} <= {table.name(i) for i in range(len(table))}


def test_libc_resolves_as_nm_says() -> None:
    libc = next(Path("/usr/lib").glob("*-linux-gnu/libc.so.6"))
    table = table_of(libc)
    assert len(table) > 1000
    assert not disagreements_with_nm(libc, table, "-D")


def disagreements_with_nm(path: Path, table: SymbolTable, *flags: str) -> list[str]:
    """Every sized function that nm lists must be found at its middle, under one of its names."""
    line = re.compile(r"([0-9a-f]+) ([0-9a-f]+) ([tTwWi]) ([^@\n]+)")
    rows = [
        (int(m[1], 16), int(m[2], 16), m[4])
        for m in line.finditer(run("nm", "-S", "--defined-only", *flags, path))
    ]
    assert rows
    aliases: dict[int, set[str]] = {}
    for start, _, name in rows:
        aliases.setdefault(start, set()).add(name)
    middles = np.array([start + size // 2 for start, size, _ in rows], np.uint64)
    found = table.lookup(middles).tolist()
    return [
        f"{name} at {start:x}: {table.name(index) if index >= 0 else None}"
        for (start, _, name), index in zip(rows, found, strict=True)
        if index < 0 or table.name(index) not in aliases.get(int(table.start[index]), set())
    ]


def test_file_offsets_lead_to_the_function_addr2line_names(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-g", "-pie", "-fPIE")
    table = table_of(program)
    for index in range(len(table)):
        name = table.name(index)
        if name not in ("main", "visible", "hidden"):
            continue
        start = int(table.start[index])
        segment = next(s for s in table.load_segments if 0 <= start - s.vaddr < s.size_bytes)
        offset = np.array([start - segment.vaddr + segment.offset + 1], np.uint64)
        vaddr = table.vaddr_of_offset(offset)
        assert table.name(int(table.lookup(vaddr)[0])) == name
        assert run("addr2line", "-fe", program, hex(int(vaddr[0]))).split()[0] == name


def test_calls_into_libraries_are_named_as_objdump_names_them(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE)
    labels = re.findall(r"^([0-9a-f]+) <(\w+@plt)>:", run("objdump", "-d", program), re.MULTILINE)
    # Through .plt.got, which no relocation of .rela.plt serves.
    expected = {name: int(address, 16) for address, name in labels if "cxa_finalize" not in name}
    assert expected
    plt = elf.parse(program.read_bytes(), "x").plt
    assert plt is not None
    table = build([plt])
    assert {table.name(i): int(table.start[i]) for i in range(len(table))} == expected


def test_a_stripped_program_keeps_only_its_dynamic_symbols(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-rdynamic")
    run("strip", program)
    found = elf.parse(program.read_bytes(), "x")
    assert found.symtab is None
    assert "visible" in names(found.dynsym)
    assert "hidden" not in names(found.dynsym)


def test_the_build_id_is_the_one_the_linker_wrote(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", CPP_SOURCE, "-Wl,--build-id=sha1", compiler="g++")
    shown = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program))
    assert shown is not None
    data = program.read_bytes()
    assert elf.read_build_id(BytesImage(data), "x") == bytes.fromhex(shown[1])
    assert elf.parse(data, "x").build_id == bytes.fromhex(shown[1])


def test_a_file_that_shrinks_while_it_is_read_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    made = MadeElf(symbols=[Symbol(f"f{i}", TEXT_VADDR + i) for i in range(500)]).data()
    path.write_bytes(made)
    with path.open("rb") as file:
        image = FileImage(file.fileno(), len(made))
        for length in (len(made) - 100, TEXT_AT + TEXT_BYTES, 100, 0):
            os.truncate(path, length)
            with pytest.raises(ParseError):
                elf.parse(image, "x")
