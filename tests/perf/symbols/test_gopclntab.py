from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.perf.symbols import elf, gopclntab
from exhume.perf.symbols.build import Symbols, build
from exhume.perf.symbols.gopclntab import GO_1_2, GO_1_16, GO_1_18, GO_1_20
from exhume.perf.symbols.image import BytesImage
from tests.perf.symbols.made_elf import TEXT_AT, TEXT_VADDR, MadeElf
from tests.perf.symbols.made_pclntab import Function, MadePclntab
from tests.perf.symbols.real_programs import run

VERSIONS = st.sampled_from([GO_1_2, GO_1_16, GO_1_18, GO_1_20])
FUNCTIONS = st.lists(
    st.tuples(st.integers(0, 0xFFFF), st.text("abcXYZ.*()[]·/", min_size=1, max_size=12)),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[0],
).map(lambda rows: [(TEXT_VADDR + entry, name) for entry, name in sorted(rows)])


def listed(symbols: Symbols) -> list[Function]:
    table = build([symbols])
    return [(int(table.start[i]), table.name(i)) for i in range(len(table))]


@settings(deadline=2000)
@given(FUNCTIONS, VERSIONS, st.sampled_from([4, 8]), st.sampled_from("<>"))
def test_every_layout_reads_back_as_it_was_written(
    functions: list[Function], version: int, pointer_bytes: int, order: str
) -> None:
    end = functions[-1][0] + 5
    made = MadePclntab(functions, end, version, pointer_bytes, order, text_start=TEXT_VADDR)
    symbols = gopclntab.parse(made.data(), "x")
    assert listed(symbols) == functions
    assert int(build([symbols]).end[-1]) == end


@pytest.mark.parametrize("version", [GO_1_18, GO_1_20])
def test_a_table_that_does_not_say_where_the_code_starts_is_told(version: int) -> None:
    functions = [(TEXT_VADDR + 64, "main.main")]
    made = MadePclntab(
        functions, TEXT_VADDR + 99, version, text_start=TEXT_VADDR, states_text_start=False
    )
    assert listed(gopclntab.parse(made.data(), "x", text_start=TEXT_VADDR)) == functions


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_a_damaged_table_is_refused_or_read_but_never_worse(data: st.DataObject) -> None:
    made = MadePclntab(
        [(TEXT_VADDR + i * 16, f"main.f{i}") for i in range(8)],
        TEXT_VADDR + 128,
        data.draw(VERSIONS),
        data.draw(st.sampled_from([4, 8])),
        data.draw(st.sampled_from("<>")),
        TEXT_VADDR,
    )
    damaged = bytearray(made.data())
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        symbols = gopclntab.parse(cut, "x")
    except ParseError:
        return
    build([symbols])


@settings(deadline=2000)
@given(st.binary(max_size=300), VERSIONS)
def test_random_bytes_behind_a_magic_are_refused_or_read(tail: bytes, version: int) -> None:
    for data in (tail, version.to_bytes(4, "little") + b"\0\0\x01\x08" + tail):
        try:
            build([gopclntab.parse(data, "x")])
        except ParseError:
            continue


def test_a_table_of_a_million_million_functions_is_refused() -> None:
    made = MadePclntab([(TEXT_VADDR, "f")], TEXT_VADDR + 1, GO_1_20, text_start=TEXT_VADDR)
    data = bytearray(made.data())
    data[8:16] = (10**12).to_bytes(8, "little")
    with pytest.raises(ParseError, match="at most"):
        gopclntab.parse(bytes(data), "x")


@pytest.mark.parametrize("section", [".gopclntab", ".data.rel.ro.gopclntab"])
def test_the_table_is_found_by_the_name_of_its_section(section: str) -> None:
    functions = [(TEXT_VADDR, "main.main"), (TEXT_VADDR + 32, "main.work")]
    table = MadePclntab(functions, TEXT_VADDR + 64, GO_1_20, text_start=TEXT_VADDR).data()
    image = BytesImage(MadeElf(extra={section: table}).data())
    symbols = gopclntab.read(image, elf.parse(image, "x"), "x")
    assert symbols is not None
    assert listed(symbols) == functions


def test_a_program_that_is_not_go_has_no_table() -> None:
    image = BytesImage(MadeElf(extra={".rodata": b"\xf1\xff\xff\xff\0\0\x01\x08" * 9}).data())
    assert gopclntab.read(image, elf.parse(image, "x"), "x") is None


def test_without_section_headers_the_table_is_found_by_its_magic() -> None:
    functions = [(TEXT_VADDR, "main.main"), (TEXT_VADDR + 32, "main.work")]
    table = MadePclntab(functions, TEXT_VADDR + 64, GO_1_20, text_start=TEXT_VADDR).data()
    decoy = b"\xf1\xff\xff\xff\0\0\x09\x09"
    data = bytearray(MadeElf().data())
    data[0x1100 : 0x1100 + len(decoy)] = decoy  # inside the loaded segment
    data[0x1200 : 0x1200 + len(table)] = table
    data[40:48] = bytes(8)  # e_shoff
    data[60:64] = bytes(4)  # e_shnum, e_shstrndx
    image = BytesImage(bytes(data))
    parsed = elf.parse(image, "x")
    assert parsed.sections == ()
    symbols = gopclntab.read(image, parsed, "x")
    assert symbols is not None
    assert listed(symbols) == functions


def test_where_a_c_linker_hid_the_table_its_magic_and_a_relocation_give_it_away() -> None:
    """cgo with -buildmode=pie: the table is somewhere in .data.rel.ro, and text_start is 0."""
    functions = [(TEXT_VADDR + 0x500, "main.main")]
    table = MadePclntab(
        functions, TEXT_VADDR + 0x600, GO_1_20, text_start=TEXT_VADDR + 0x400,
        states_text_start=False,
    ).data()  # fmt: skip
    relocation = struct.pack("<QQQ", TEXT_VADDR + 0x200 + 24, 8, TEXT_VADDR + 0x400)
    data = bytearray(MadeElf(extra={".go.buildinfo": b"x", ".rela.dyn": relocation}).data())
    data[TEXT_AT + 0x200 : TEXT_AT + 0x200 + len(table)] = table
    image = BytesImage(bytes(data))
    symbols = gopclntab.read(image, elf.parse(image, "x"), "x")
    assert symbols is not None
    assert listed(symbols) == functions


def test_since_go_1_26_the_module_data_says_where_the_code_starts() -> None:
    functions = [(TEXT_VADDR + 0x500, "main.main")]
    made = MadePclntab(
        functions, TEXT_VADDR + 0x600, GO_1_20, text_start=TEXT_VADDR + 0x400,
        states_text_start=False,
    )  # fmt: skip
    module = bytes(22 * 8) + (TEXT_VADDR + 0x400).to_bytes(8, "little")
    image = BytesImage(MadeElf(extra={".gopclntab": made.data(), ".go.module": module}).data())
    symbols = gopclntab.read(image, elf.parse(image, "x"), "x")
    assert symbols is not None
    assert listed(symbols) == functions
    stated = replace(made, states_text_start=True).data()
    assert listed(gopclntab.parse(stated, "x")) == functions


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go compiler here")
@pytest.mark.parametrize("mode", ["exe", "pie"])
def test_a_real_stripped_program_has_the_names_of_the_whole_one(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "main.go"
    source.write_text(
        'package main\nimport "os"\n//go:noinline\nfunc spin(n int) int { return n * n }\n'
        "func main() { os.Exit(spin(len(os.Args))) }\n"
    )
    env = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
    whole, stripped = tmp_path / "whole", tmp_path / "stripped"
    for target, flags in ((whole, ""), (stripped, "-s -w")):
        options = (f"-buildmode={mode}", "-ldflags", flags, "-o", str(target))
        subprocess.run(["go", "build", *options, str(source)], check=True, env=env)
    expected = {line.split()[2]: int(line.split()[0], 16) for line in
                run("nm", whole).splitlines() if " main." in line}  # fmt: skip
    image = BytesImage(stripped.read_bytes())
    symbols = gopclntab.read(image, elf.parse(image, "x"), "x")
    assert symbols is not None
    found = {name: start for start, name in listed(symbols)}
    assert {name: found.get(name) for name in ("main.main", "main.spin")} == {
        name: expected[name] for name in ("main.main", "main.spin")
    }
