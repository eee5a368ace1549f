from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.ingest.kernel_symbols import KERNEL, kernel_names
from exhume.ingest.recorded_here import is_recorded_here
from exhume.ingest.symbols import Places, ProgramSymbols
from exhume.perf.datachunk import KernelMap
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity
from tests.ingest.made import KALLSYMS, TEXT, write
from tests.perf.symbols.made_elf import TEXT_AT, TEXT_VADDR, MadeElf, Symbol

ID = bytes(range(20))
OTHER_ID = bytes(range(1, 21))


def program(name: str, build_id: bytes = b"") -> bytes:
    return MadeElf([Symbol(name, TEXT_VADDR, 0x100)], build_id=build_id).data()


def identity(path: str, build_id: bytes = b"", inode: int = 0) -> FileIdentity:
    return FileIdentity(path, build_id, (0, 0, inode, 0))


def name_of(
    symbols: ProgramSymbols, one: FileIdentity, build_ids: dict[str, bytes] | None = None
) -> str | None:
    table = symbols.find(symbols.code(one, (build_ids or {}).get(one.path, b"")).key)
    if table is None:
        return None
    (found,) = table.lookup(table.vaddr_of_offset(np.array([TEXT_AT + 4], np.uint64))).tolist()
    return table.name(found)


def test_perfs_own_cache_is_asked_by_build_id(tmp_path: Path) -> None:
    entry = tmp_path / ".build-id" / ID.hex()[:2] / ID.hex()[2:]
    write(entry / "elf", program("from_cache", ID))
    symbols = ProgramSymbols(Places(Host(), build_id_cache=tmp_path), is_local=False)
    assert name_of(symbols, identity("/gone/program", ID)) == "from_cache"
    assert name_of(symbols, identity("/gone/too"), {"/gone/too": ID}) == "from_cache"
    assert name_of(symbols, identity("/gone/other", OTHER_ID)) is None


def test_below_symfs_a_build_id_must_fit_and_none_is_believed(tmp_path: Path) -> None:
    write(tmp_path / "opt" / "a", program("below_symfs", ID))
    symbols = ProgramSymbols(Places(Host(), symfs=tmp_path), is_local=False)
    assert name_of(symbols, identity("/opt/a", ID)) == "below_symfs"
    assert name_of(symbols, identity("/opt/a", OTHER_ID)) is None
    assert name_of(symbols, identity("/opt/a")) == "below_symfs"
    assert name_of(symbols, identity("/opt/../../../etc/passwd")) is None


def test_a_file_of_this_machine_is_believed_only_if_it_was_recorded_here(tmp_path: Path) -> None:
    path = write(tmp_path / "a", program("here"))
    inode = Path(path).stat().st_ino
    here, elsewhere = (ProgramSymbols(Places(Host()), is_local) for is_local in (True, False))
    assert name_of(here, identity(path, inode=inode)) == "here"
    assert name_of(here, identity(path, inode=inode + 1)) is None
    assert name_of(elsewhere, identity(path, inode=inode)) is None
    write(tmp_path / "b", program("by_id", ID))
    assert name_of(elsewhere, identity(str(tmp_path / "b"), ID)) == "by_id"


def test_code_of_a_jit_is_named_by_a_map_among_the_inputs(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "perf-77.map", "7f0000001000 100 LazyCompile:~fib app.js:1\n"))
    symbols = ProgramSymbols(Places(Host(), perf_maps=(path,)), is_local=False)
    assert symbols.code(identity("//anon")).key == ""
    table = symbols.find("jit-77")
    assert table is not None
    (found,) = table.lookup(np.array([0x7F00_0000_1004], np.uint64)).tolist()
    assert table.name(found) == "LazyCompile:~fib app.js:1"
    assert symbols.find("jit-78") is None


def test_a_jit_is_named_by_the_map_beside_its_capture(tmp_path: Path) -> None:
    maps = tuple(
        Path(write(tmp_path / node / "perf-77.map", f"1000 100 fib_of_{node}\n"))
        for node in ("a", "b")
    )
    for node in ("a", "b"):
        places = Places(Host(), perf_maps=maps).near(tmp_path / node / "perf.data")
        symbols = ProgramSymbols(places, is_local=False)
        table = symbols.find("jit-77")
        assert table is not None
        assert table.name(0) == f"fib_of_{node}"
        assert not symbols.doubt("jit-77", 0)


def test_two_maps_that_lie_equally_near_are_doubtful_where_they_differ(tmp_path: Path) -> None:
    maps = [tmp_path / node / "perf-77.map" for node in ("a", "b")]
    for path in maps:
        write(path, "1000 100 fib\n")
    places = Places(Host(), perf_maps=tuple(maps)).near(tmp_path / "perf.data")
    symbols = ProgramSymbols(places, is_local=False)
    assert not symbols.doubt("jit-77", 0)
    write(maps[1], "1000 100 other\n")
    assert str(maps[1]) in symbols.doubt("jit-77", 0)
    assert not symbols.doubt("jit-78", 0)


def test_a_jit_that_is_gone_is_named_by_the_map_it_left_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exhume.ingest.symbols.OWN_ROOT", tmp_path)
    write(tmp_path / "tmp" / "perf-77.map", "1000 100 fib\n")
    (tmp_path / "proc").mkdir()
    places = Places(Host(proc=tmp_path / "proc"))
    assert ProgramSymbols(places, is_local=True).find("jit-77") is not None
    assert ProgramSymbols(places, is_local=False).find("jit-77") is None


def kernel_name(places: Places, features: Features, text: int = TEXT) -> tuple[str, str]:
    maps = [KernelMap(text, 0x4000, text, f"{KERNEL}_text")]
    is_local = is_recorded_here(places.host, features)
    found = kernel_names(places, features, maps, is_local=is_local)
    if found.table is None:
        return "", found.how
    (row,) = found.table.lookup(np.array([text + 0x2004], np.uint64)).tolist()
    return (found.table.name(row) if row >= 0 else ""), found.how


def test_the_kernels_names_come_from_perfs_cache_where_there_is_no_copy(tmp_path: Path) -> None:
    write(tmp_path / KERNEL / ID.hex() / "kallsyms", KALLSYMS)
    places = Places(Host(), build_id_cache=tmp_path)
    assert kernel_name(places, Features(build_ids={KERNEL: ID}))[0] == "do_syscall_64"
    assert kernel_name(places, Features(build_ids={KERNEL: OTHER_ID}))[0] == ""


def test_a_vmlinux_below_symfs_must_be_of_that_kernel(tmp_path: Path) -> None:
    symbols = [Symbol("_text", TEXT_VADDR), Symbol("do_syscall_64", TEXT_VADDR + 0x200, 0x100)]
    write(tmp_path / "boot" / "vmlinux-5.4.0", MadeElf(symbols, build_id=ID).data())
    places = Places(Host(), symfs=tmp_path)
    features = Features(release="5.4.0", build_ids={KERNEL: ID})
    found = kernel_names(places, features, [KernelMap(TEXT, 9, TEXT, f"{KERNEL}_text")])
    assert found.table is not None
    (row,) = found.table.lookup(np.array([TEXT + 0x210], np.uint64)).tolist()
    assert found.table.name(row) == "do_syscall_64"
    features.build_ids[KERNEL] = OTHER_ID
    assert kernel_name(places, features)[0] == ""


def machine(folder: Path, release: str = "5.4.0", notes: bytes = b"") -> Host:
    """One called `here`, whose kernel's functions are called `own_…`."""
    for name, text in (("hostname", "here"), ("osrelease", release)):
        write(folder / "proc" / "sys" / "kernel" / name, f"{text}\n")
    write(folder / "proc" / "kallsyms", KALLSYMS.replace(" do_", " own_"))
    write(folder / "sys" / "kernel" / "notes", notes)
    return Host(proc=folder / "proc", sys=folder / "sys")


def note_of(build_id: bytes) -> bytes:
    return struct.pack("=III", 4, len(build_id), 3) + b"GNU\0" + build_id


def test_of_the_kernels_names_the_surest_are_taken(tmp_path: Path) -> None:
    given = Path(write(tmp_path / "kallsyms", KALLSYMS.replace(" do_", " given_")))
    write(tmp_path / "cache" / KERNEL / ID.hex() / "kallsyms", KALLSYMS)
    here = machine(tmp_path, notes=note_of(ID))
    places = Places(here, build_id_cache=tmp_path / "cache", kallsyms=(given,))
    features = Features(hostname="here", release="5.4.0", build_ids={KERNEL: ID})
    assert kernel_name(places, features)[0] == "do_syscall_64"
    without_cache = Places(here, kallsyms=(given,))
    assert kernel_name(without_cache, features)[0] == "own_syscall_64"
    features.build_ids[KERNEL] = OTHER_ID  # the machine has another kernel by now
    assert kernel_name(without_cache, features)[0] == "given_syscall_64"
    other = Features(hostname="there", release="5.4.0")
    assert kernel_name(without_cache, other)[0] == "given_syscall_64"


def test_a_copy_of_another_kernel_is_not_used_and_that_is_said(tmp_path: Path) -> None:
    other = KALLSYMS + f"{TEXT + 0x3800:016x} T _etext\n"
    given = Path(write(tmp_path / "kallsyms", other))
    name, how = kernel_name(Places(Host(), kallsyms=(given,)), Features())
    assert not name
    assert how.startswith("no kernel names")
    assert f"{given} is not used, it is of another kernel" in how


def test_each_capture_is_named_by_the_copy_beside_it(tmp_path: Path) -> None:
    copies = tuple(
        Path(write(tmp_path / node / "kallsyms", KALLSYMS.replace(" do_", f" {node}_")))
        for node in ("a", "b")
    )
    for node in ("a", "b"):
        places = Places(Host(), kallsyms=copies).near(tmp_path / node / "perf.data")
        assert kernel_name(places, Features())[0] == f"{node}_syscall_64"


def test_hidden_or_damaged_copies_are_no_reason_to_fail(tmp_path: Path) -> None:
    hidden = Path(write(tmp_path / "hidden", "0000000000000000 T _text\n" * 3))
    broken = Path(write(tmp_path / "broken", KALLSYMS + "nonsense\n"))
    places = Places(Host(), kallsyms=(hidden, broken, tmp_path / "missing"))
    assert "no kernel names" in kernel_name(places, Features())[1]
