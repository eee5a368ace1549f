from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.perf.symbols.cache import cached, path_of
from exhume.perf.symbols.capture import CaptureResult, capture, read_table
from exhume.perf.symbols.image import BytesImage
from exhume.perf.symbols.mapped import VDSO, MappedFile, identify
from exhume.perf.symbols.table import SymbolTable
from tests.perf.symbols.made_elf import TEXT_VADDR, MadeElf, Symbol
from tests.perf.symbols.real_programs import C_SOURCE, compiled, run, running, text_mapping

pytestmark = pytest.mark.kernel
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
HOST = Host()


@pytest.fixture(autouse=True)
def _no_descriptor_is_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def mapping_of(pid: int, name: str) -> MappedFile:
    start, end, path, _ = text_mapping(pid, name)
    identity = identify(HOST, pid, path, start, end)
    assert identity is not None
    return MappedFile(identity.key, identity.build_id, path, pid, start, end)


def names(cache: Path, key: str) -> set[str]:
    table = cached(cache, key)
    assert table is not None
    return {table.name(index) for index in range(len(table))}


def check(cache: Path, mapping: MappedFile, *expected: str) -> CaptureResult:
    before = len(os.listdir("/proc/self/fd"))
    result = capture(HOST, mapping, cache)
    assert len(os.listdir("/proc/self/fd")) == before
    assert result.stored, result.reason
    assert set(expected) <= names(cache, mapping.key)
    return result


def test_a_running_program_is_read_and_stored_under_its_key(tmp_path: Path, cache: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id")
    with running(program) as pid:
        result = check(cache, mapping_of(pid, "program"), "main", "hidden", "visible")
    assert "symtab" in result.sources
    assert result.symbol_count > 3
    assert result.reason == ""


@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",)])
def test_addresses_of_a_process_resolve_through_its_mapping(
    tmp_path: Path, cache: Path, flags: tuple[str, ...]
) -> None:
    """As a sample would: address → offset in the file → address in the file → name."""
    program = compiled(tmp_path, "program", C_SOURCE, *flags)
    with running(program) as pid:
        mapping = mapping_of(pid, "program")
        check(cache, mapping, "main")
        *_, page_offset = text_mapping(pid, "program")
    table = cached(cache, mapping.key)
    assert table is not None
    symbols = {fields[2]: int(fields[0], 16) for text in run("nm", program).splitlines()
               if len(fields := text.split()) == 3}  # fmt: skip
    is_pie = "-pie" in flags
    base = mapping.start - _text_page(table, page_offset) if is_pie else 0
    for name in ("main", "hidden", "visible"):
        address = symbols[name] + base + 2
        offset = np.array([address - mapping.start + page_offset], np.uint64)
        index = int(table.lookup(table.vaddr_of_offset(offset))[0])
        assert table.name(index) == name


def _text_page(table: SymbolTable, page_offset: int) -> int:
    return int(table.vaddr_of_offset(np.array([page_offset], np.uint64))[0])


def test_a_deleted_program_is_still_read_while_it_runs(tmp_path: Path, cache: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id")
    with running(program) as pid:
        program.unlink()
        mapping = mapping_of(pid, "program")
        assert mapping.path.endswith(" (deleted)")
        assert check(cache, mapping, "hidden").via in ("map_files", "exe")


def test_a_program_replaced_on_disk_never_lends_its_names_to_the_old_one(
    tmp_path: Path, cache: Path
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id")
    other = compiled(tmp_path, "other", C_SOURCE.replace("hidden", "newer"), "-Wl,--build-id")
    with running(program) as pid:
        before = mapping_of(pid, "program")
        program.unlink()
        shutil.move(other, program)
        assert check(cache, before, "hidden").via in ("map_files", "exe")
        assert "newer" not in names(cache, before.key)
    path_of(cache, before.key).unlink()
    result = capture(HOST, before, cache)  # the process is gone: only the path is left
    assert not result.stored
    assert "replaced" in result.reason


def test_a_path_that_became_something_else_is_told_from_the_program(
    tmp_path: Path, cache: Path
) -> None:
    text = tmp_path / "program"
    text.write_text("#!/bin/sh\n")
    mapping = MappedFile("ab" * 20, b"\xab" * 20, str(text), os.getpid(), 0, 4096)
    result = capture(HOST, mapping, cache)
    assert not result.stored
    assert "replaced" in result.reason


def test_a_process_that_is_gone_leaves_its_file_if_that_is_the_same(
    tmp_path: Path, cache: Path
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id")
    with running(program) as pid:
        mapping = mapping_of(pid, "program")
    assert check(cache, mapping, "hidden").via == "host"
    program.unlink()
    result = capture(HOST, mapping, cache)
    assert not result.stored
    assert "gone" in result.reason


@needs_root
def test_a_program_in_another_mount_namespace_is_reached_through_the_processes_root(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id", "-static")
    box = tmp_path / "box"
    box.mkdir()
    script = f"mount -t tmpfs none {box} && cp {program} {box}/inner && exec {box}/inner"
    with running("unshare", "--mount", "--propagation", "private", "sh", "-c", script) as pid:
        assert not (box / "inner").exists()  # not in our namespace
        mapping = mapping_of(pid, "inner")
        assert check(cache, mapping, "hidden").via == "map_files"
        path_of(cache, mapping.key).unlink()
        # Without the capability for map_files, and for a library instead of the program itself.
        elsewhere = MappedFile(
            mapping.key, mapping.build_id, mapping.path, pid, mapping.start + 4096, mapping.end
        )
        monkeypatch.setattr("exhume.perf.symbols.mapped._target", lambda _: "")
        assert check(cache, elsewhere, "hidden").via == "root"
    assert list(box.iterdir()) == []


@needs_root
def test_a_link_in_a_containers_root_does_not_lead_to_the_hosts_files(
    tmp_path: Path, cache: Path
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-static")
    secret = tmp_path / "host_secret"
    secret.write_bytes(MadeElf(symbols=[Symbol("secret", TEXT_VADDR)]).data())
    jail = tmp_path / "jail"
    jail.mkdir()
    shutil.copy(program, jail / "inner")
    (jail / "lib.so").symlink_to(os.path.relpath(secret, jail))
    with running("chroot", jail, "/inner") as pid:
        link = MappedFile("key", None, "/lib.so", pid, 0x1000, 0x2000)
        result = capture(HOST, link, cache)
    assert not result.stored


def test_a_stripped_program_with_a_debug_file_beside_it_gets_its_names(
    tmp_path: Path, cache: Path
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id")
    debug = tmp_path / "program.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    run("objcopy", f"--add-gnu-debuglink={debug}", program)
    with running(program) as pid:
        result = check(cache, mapping_of(pid, "program"), "hidden", "main")
    assert "debug" in result.sources
    assert "symtab" not in result.sources


def test_a_stripped_program_without_one_keeps_its_segments_and_says_why(
    tmp_path: Path, cache: Path
) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-static", "-Wl,--build-id")
    run("strip", program)
    with running(program) as pid:
        mapping = mapping_of(pid, "program")
        result = capture(HOST, mapping, cache)
    assert result.stored
    assert result.symbol_count == 0
    assert "stripped" in result.reason
    table = cached(cache, mapping.key)
    assert table is not None
    assert table.load_segments


def test_a_memfd_is_reached_where_the_kernel_lets_us(tmp_path: Path, cache: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-static", "-Wl,--build-id")
    loader = (
        "import os, sys\n"
        "fd = os.memfd_create('hidden_program', 0)\n"
        f"os.write(fd, open({str(program)!r}, 'rb').read())\n"
        "os.execve(fd, ['inner'], {})\n"
    )
    with running("python3", "-c", loader) as pid:
        mapping = mapping_of(pid, "memfd:hidden_program")
        assert check(cache, mapping, "hidden").via in ("map_files", "exe")


@pytest.mark.parametrize("path", ["//anon", "[heap]", "", "/dev/zero (deleted)", "[stack]"])
def test_what_is_no_file_is_a_reason(cache: Path, path: str) -> None:
    result = capture(HOST, MappedFile("key", None, path, os.getpid(), 0, 4096), cache)
    assert not result.stored
    assert "not a file" in result.reason
    assert not cache.exists()


def test_the_vdso_is_read_from_ourselves(cache: Path) -> None:
    result = capture(HOST, MappedFile("vdso", None, VDSO, os.getpid(), 0, 4096), cache)
    if not result.stored:
        pytest.skip(result.reason)
    assert result.via == "self"
    assert any("clock_gettime" in name for name in names(cache, "vdso"))
    other = MappedFile("vdso32", b"another build", VDSO, os.getpid(), 0, 4096)
    assert "another [vdso]" in capture(HOST, other, cache).reason


def test_a_mapped_file_that_is_no_elf_is_a_reason(tmp_path: Path, cache: Path) -> None:
    text = tmp_path / "font.dat"
    text.write_text("not a program")
    result = capture(HOST, MappedFile("key", None, str(text), os.getpid(), 0, 4096), cache)
    assert not result.stored
    assert "an ELF file" in result.reason


def test_a_mapping_named_like_a_fifo_does_not_make_us_wait(tmp_path: Path, cache: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    begin = time.monotonic()
    result = capture(HOST, MappedFile("key", None, str(fifo), os.getpid(), 0, 4096), cache)
    assert not result.stored
    assert time.monotonic() - begin < 5


def test_a_cache_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with running(program) as pid:
        result = capture(HOST, mapping_of(pid, "program"), blocked)
    assert not result.stored
    assert "can't be written" in result.reason


def test_a_file_with_all_that_belongs_to_it_can_be_read_without_a_process() -> None:
    made = MadeElf(symbols=[Symbol("f", TEXT_VADDR, 8)]).data()
    assert read_table(BytesImage(made), "/x").name(0) == "f"


COST = """
import sys, time
from pathlib import Path
from exhume.host import Host
from exhume.perf.symbols.capture import capture
from exhume.perf.symbols.mapped import MappedFile

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10

before, begin = peak(), time.perf_counter()
found = capture(Host(), MappedFile("key", None, sys.argv[1], 0, 0, 1), Path(sys.argv[2]))
seconds = time.perf_counter() - begin
stored = Path(sys.argv[2], "key.sym").stat().st_size >> 10
print(f"{found.symbol_count} symbols in {seconds:.3f} s, {stored} KiB, "
      f"peak RSS {before} -> {peak()} MiB")
"""


def test_the_largest_file_here_costs_this_much(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prints, and asserts nothing. In a process of its own: the memory is the capture's alone."""
    folders = (Path("/usr/bin"), *Path("/usr/lib").glob("*-linux-gnu"))
    files = (f for folder in folders for f in folder.iterdir() if f.is_file())
    largest = max(files, key=lambda f: f.stat().st_size)
    out = run(sys.executable, "-c", COST, largest, cache)
    with capsys.disabled():
        print(f"\n  {largest} ({largest.stat().st_size >> 20} MiB): {out}", end="")
