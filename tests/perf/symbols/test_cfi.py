from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.perf.symbols.cfi import Cfi, read
from exhume.perf.symbols.cfi_rules import NO_RULE, OUTERMOST, Base, Rule
from exhume.perf.symbols.image import BytesImage
from tests.perf.symbols.real_programs import compiled, run

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

# Frames of every kind: with and without a frame pointer, of a size known when it runs, many
# registers saved, and a call that does not come back.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile long sink;
__attribute__((noinline)) static void of_any_size(int n) {
    char room[n * 16 + 16];
    memset(room, n, sizeof room);
    sink += room[n];
}
__attribute__((noinline))
static long of_many(long a, long b, long c, long d, long e, long f, long g) {
    char text[300];
    snprintf(text, sizeof text, "%ld %ld %ld %ld %ld %ld %ld", a, b, c, d, e, f, g);
    of_any_size((int)strlen(text));
    return a * b + c * d + e * f + g + text[3];
}
__attribute__((noinline, noreturn)) static void gone(void) { puts("gone"); exit(0); }
int main(int count, char **words) {
    (void)words;
    for (long i = 0; i < count; i++) sink += of_many(i, 1, 2, 3, 4, 5, 6);
    gone();
}
"""
_FUNCTION = re.compile(r"FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
_COMMON = re.compile(r"^([0-9a-f]+) \S+ 00000000 CIE \"([^\"]*)\"")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("cfi"), "frames", SOURCE, "-fomit-frame-pointer")


def cfi_of(path: Path) -> Cfi:
    found = read(BytesImage(path.read_bytes()), str(path))
    assert found is not None
    return found


def told_by_readelf(path: Path) -> Iterator[tuple[int, dict[str, str], bool]]:
    """Address, columns and whether it is a signal's frame, of each row of each function."""
    names: list[str] = []
    signals: dict[str, bool] = {}
    is_function = is_signal = False
    command = ["readelf", "--debug-dump=frames-interp", str(path)]
    # Not all is well in its eyes where a debug file is not installed.
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in told.splitlines():
        if found := _COMMON.match(line):
            signals[found[1]] = "S" in found[2]
            is_function = False
        elif found := _FUNCTION.search(line):
            is_function, is_signal = True, signals[found[1]]
        elif line.split()[:1] == ["LOC"]:
            names = line.split()[1:]
        elif is_function and re.match(r"[0-9a-f]{16} ", line):
            address, *values = re.sub(r" \(\w+\)", "", line).split()  # `r9 (r9)`: in a register
            yield int(address, 16), dict(zip(names, values, strict=True)), is_signal


def as_rule(columns: dict[str, str]) -> Rule | None:
    """What the columns say; None where they do not tell."""
    if columns["ra"] == "u":
        return OUTERMOST
    found = re.fullmatch(r"(\w+)([+-]\d+)", columns["CFA"])
    if not found or not columns["ra"].startswith("c"):
        return None
    bases = {"rsp": Base.STACK_POINTER, "rbp": Base.FRAME_POINTER}
    if found[1] not in bases:
        return NO_RULE
    frame = columns.get("rbp", "u")
    saved = int(frame[1:]) if frame.startswith("c") else 0
    return Rule(bases[found[1]], int(found[2]), int(columns["ra"][1:]), saved)


@pytest.mark.parametrize("which", ["compiled", "libc"])
def test_every_row_is_the_one_that_readelf_sees(which: str, program: Path) -> None:
    path = program
    if which == "libc":
        libc = re.search(r"(/\S*libc\.so\S*) \(", run("ldd", program))
        if libc is None:
            pytest.skip("no shared C library")
        path = Path(libc[1])
    cfi, count = cfi_of(path), 0
    for address, columns, is_signal in told_by_readelf(path):
        wanted = NO_RULE if is_signal else as_rule(columns)
        if wanted is not None:
            assert cfi.rule(address) == wanted, hex(address)
            count += 1
    assert count > (30 if which == "compiled" else 1000)


def test_stubs_of_the_plt_have_pushed_a_number_from_some_byte_on(program: Path) -> None:
    lines = run("objdump", "-d", "-j", ".plt", program).splitlines()
    pushes = [int(line.split(":")[0], 16) for line in lines if re.search(r"\tpush +\$0x", line)]
    if not pushes:
        pytest.skip("this linker makes no stubs that push")
    cfi = cfi_of(program)
    for address in pushes:
        assert cfi.rule(address) == Rule(Base.STACK_POINTER, 8, -8)
        assert cfi.rule(address + 5) == Rule(Base.STACK_POINTER, 16, -8)


def test_outside_of_all_functions_there_is_no_rule(program: Path) -> None:
    cfi = cfi_of(program)
    assert cfi.rule(0) is NO_RULE
    assert cfi.rule(1 << 40) is NO_RULE


def test_a_program_without_tables_has_none(tmp_path: Path, program: Path) -> None:
    bare = tmp_path / "bare"
    run("objcopy", "-R", ".eh_frame_hdr", "-R", ".eh_frame", program, bare)
    assert read(BytesImage(bare.read_bytes()), "bare") is None
    with pytest.raises(ParseError):
        read(BytesImage(b"no program"), "none")


def test_a_hostile_table_takes_no_time(program: Path) -> None:
    good = cfi_of(program)
    size = 8 << 20
    long = struct.pack("<II", size, 0) + b"\x01zR\0" + b"\x80" * size
    cfi = Cfi(good._begin, good._begin * 0 + 100, long + long, 0, good.load_segments)
    assert cfi.rule(int(good._begin[0])) is NO_RULE
    entry = struct.pack("<III", size, 4, 0) + b"\x0a" * size
    cfi = Cfi(good._begin, good._begin * 0, entry, 0, good.load_segments)
    assert cfi.rule(int(good._begin[0])) is NO_RULE


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_damaged_tables_give_rules_or_none_but_no_errors(
    program: Path, data: st.DataObject
) -> None:
    good = cfi_of(program)
    damaged = bytearray(good._data)
    for _ in range(data.draw(st.integers(1, 30))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    cfi = Cfi(good._begin, good._entry, bytes(damaged[:cut]), good._address, good.load_segments)
    for begin in good._begin.tolist():
        assert isinstance(cfi.rule(begin), Rule)
        assert isinstance(cfi.rule(begin + 7), Rule)
