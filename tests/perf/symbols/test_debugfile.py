from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.perf.symbols import elf
from exhume.perf.symbols.build import Symbols
from exhume.perf.symbols.debugfile import places, read_minidebug, read_separate
from exhume.perf.symbols.image import BytesImage
from tests.perf.symbols.made_elf import TEXT_VADDR, MadeElf, Symbol
from tests.perf.symbols.real_programs import C_SOURCE, compiled, run


def names(symbols: Symbols | None) -> set[str]:
    assert symbols is not None
    spans = zip(symbols.name_start.tolist(), symbols.name_end.tolist(), strict=True)
    return {symbols.blob[begin:end].decode() for begin, end in spans}


def test_the_places_are_those_of_gdb() -> None:
    link = elf.DebugLink("prog.debug", 0)
    assert list(places(bytes.fromhex("abcdef01"), link, "/opt/app/prog")) == [
        "/usr/lib/debug/.build-id/ab/cdef01.debug",
        "/opt/app/prog.debug",
        "/opt/app/.debug/prog.debug",
        "/usr/lib/debug/opt/app/prog.debug",
    ]


def stripped_with_debug(folder: Path, *flags: str) -> tuple[Path, Path]:
    program = compiled(folder, "prog", C_SOURCE, *flags)
    debug = folder / "prog.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    run("objcopy", f"--add-gnu-debuglink={debug}", program)
    return program, debug


@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",)])
def test_by_build_id_below_the_processes_root(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program, debug = stripped_with_debug(tmp_path, "-Wl,--build-id", *flags)
    found = elf.parse(program.read_bytes(), "x")
    assert found.build_id is not None
    root = tmp_path / "root"
    place = root / next(places(found.build_id, None, "")).lstrip("/")
    place.parent.mkdir(parents=True)
    shutil.move(debug, place)
    assert {"main", "hidden", "visible"} <= names(read_separate(found, "/prog", [root]))


@pytest.mark.parametrize("place", ["prog.debug", ".debug/prog.debug"])
def test_by_debug_link_and_checksum_where_there_is_no_build_id(tmp_path: Path, place: str) -> None:
    program, debug = stripped_with_debug(tmp_path, "-Wl,--build-id=none")
    found = elf.parse(program.read_bytes(), "x")
    assert found.build_id is None
    target = tmp_path / "root" / "opt" / place
    target.parent.mkdir(parents=True)
    shutil.copy(debug, target)
    assert "hidden" in names(read_separate(found, "/opt/prog", [tmp_path / "root"]))
    with target.open("ab") as file:
        file.write(b"!")  # another file: its checksum is not the one the program names
    assert read_separate(found, "/opt/prog", [tmp_path / "root"]) is None


def test_a_debug_file_of_another_build_is_not_taken(tmp_path: Path) -> None:
    def made(build_id: bytes, *symbols: Symbol) -> MadeElf:
        return MadeElf(symbols=symbols, build_id=build_id)

    program = elf.parse(made(b"1" * 20).data(), "x")
    place = tmp_path / next(places(program.build_id, None, "")).lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_bytes(made(b"2" * 20, Symbol("wrong", TEXT_VADDR)).data())
    assert read_separate(program, "/prog", [tmp_path]) is None
    place.write_bytes(made(b"1" * 20, Symbol("right", TEXT_VADDR)).data())
    assert names(read_separate(program, "/prog", [tmp_path])) == {"right"}


def test_roots_that_are_gone_or_hold_garbage_are_passed_over(tmp_path: Path) -> None:
    program = elf.parse(MadeElf(build_id=b"1" * 20).data(), "x")
    place = tmp_path / next(places(program.build_id, None, "")).lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"garbage")
    assert read_separate(program, "/prog", [tmp_path / "gone", tmp_path, tmp_path]) is None


def with_minidebug(body: bytes) -> tuple[BytesImage, elf.Elf]:
    image = BytesImage(MadeElf(extra={".gnu_debugdata": body}).data())
    return image, elf.parse(image, "x")


def test_minidebug_info_is_unpacked() -> None:
    inner = MadeElf(symbols=[Symbol("internal", TEXT_VADDR, 8)]).data()
    assert names(read_minidebug(*with_minidebug(lzma.compress(inner)), "x")) == {"internal"}
    image = BytesImage(MadeElf().data())
    assert read_minidebug(image, elf.parse(image, "x"), "x") is None


@settings(deadline=2000)
@given(st.binary(max_size=100))
def test_minidebug_info_that_is_no_xz_is_refused(body: bytes) -> None:
    with pytest.raises(ParseError):
        read_minidebug(*with_minidebug(body + b"x"), "x")


def test_minidebug_info_that_unpacks_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exhume.perf.symbols.debugfile._MAX_MINIDEBUG_BYTES", 1 << 16)
    bomb = lzma.compress(bytes(8 << 20))
    with pytest.raises(ParseError):
        read_minidebug(*with_minidebug(bomb), "x")
