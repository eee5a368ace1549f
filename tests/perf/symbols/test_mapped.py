from __future__ import annotations

import os
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.perf.symbols.files import open_regular
from exhume.perf.symbols.mapped import (
    MappedFile,
    Way,
    build_id_of,
    identify,
    is_mapped,
    no_file_reason,
    same_build_id,
)
from tests.perf.symbols.made_elf import MadeElf
from tests.perf.symbols.real_programs import C_SOURCE, compiled, run, running, text_mapping

BUILD_ID = bytes(range(20))


@pytest.mark.parametrize(
    "path",
    ["", "//anon", "[heap]", "[stack]", "[anon:libc_malloc]", "[vsyscall]", "anon_inode:[io_uring]",
     "/dev/zero (deleted)", "/dev/nvidia0", "/SYSV00000000 (deleted)", "/anon_hugepage (deleted)",
     "relative/path"],
)  # fmt: skip
def test_mappings_that_are_no_files_say_so(path: str) -> None:
    assert no_file_reason(path)


@pytest.mark.parametrize("path", ["/usr/bin/x", "/memfd:jit (deleted)", "/opt/a b (deleted)"])
def test_mappings_that_may_be_files_are_tried(path: str) -> None:
    assert not no_file_reason(path)


def test_a_build_id_is_the_same_up_to_what_the_kernels_record_holds() -> None:
    assert same_build_id(BUILD_ID, BUILD_ID)
    assert same_build_id(BUILD_ID + b"more", BUILD_ID)
    assert not same_build_id(BUILD_ID, BUILD_ID[:8])
    assert not same_build_id(BUILD_ID[:8], BUILD_ID)
    assert not same_build_id(None, BUILD_ID)


def check(tmp_path: Path, *, build_id: bytes | None, key: str, path: str, exact: bool) -> bool:
    file = tmp_path / "file"
    file.write_bytes(MadeElf(build_id=BUILD_ID).data())
    mapping = MappedFile(key, build_id, path, 1, 0, 0)
    with open_regular(file) as opened:
        if key == "its own":
            mapping = MappedFile(opened.key, build_id, path, 1, 0, 0)
        way = Way("exe" if exact else "root", exact, open_regular(file))
        return is_mapped(way, opened, mapping)


def test_a_known_build_id_decides(tmp_path: Path) -> None:
    for exact in (True, False):
        assert check(tmp_path, build_id=BUILD_ID, key="k", path="/x (deleted)", exact=exact)
        assert not check(tmp_path, build_id=b"2" * 20, key="k", path="/x", exact=exact)


def test_without_a_build_id_a_path_must_lead_to_the_file_of_the_key(tmp_path: Path) -> None:
    assert check(tmp_path, build_id=None, key="its own", path="/x", exact=False)
    assert not check(tmp_path, build_id=None, key="1-2-3-4", path="/x", exact=False)
    assert check(tmp_path, build_id=None, key="1-2-3-4", path="/x", exact=True)


def test_once_the_process_is_gone_a_path_must_lead_to_the_mapped_inode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"what is called so here")
    inode = file.stat().st_ino
    with open_regular(file) as opened:
        for name, told, expected in (
            ("host", inode, True),
            ("host", inode + 1, False),
            ("host", 0, True),  # nobody said which
            ("root", inode + 1, True),  # it lives: its own path leads there
        ):
            way = Way(name, False, open_regular(file))
            assert is_mapped(way, opened, MappedFile("k", None, "/x", 1, 0, 0, told)) == expected


def test_a_deleted_file_is_never_taken_by_its_path_alone(tmp_path: Path) -> None:
    assert check(tmp_path, build_id=None, key="other", path="/x", exact=False)
    assert not check(tmp_path, build_id=None, key="other", path="/x (deleted)", exact=False)


@pytest.mark.kernel
def test_the_identity_of_a_running_program_is_its_build_id(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id=sha1")
    with running(program) as pid:
        start, end, path, _ = text_mapping(pid, "program")
        found = build_id_of(Host(), pid, path, start, end)
        assert found is not None
        assert found.hex() in run("readelf", "-n", program)
        identity = identify(Host(), pid, path, start, end)
        assert identity is not None
        assert (identity.key, identity.build_id) == (found.hex(), found)


@pytest.mark.kernel
def test_a_program_without_a_build_id_is_named_by_its_file(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", C_SOURCE, "-Wl,--build-id=none")
    with running(program) as pid:
        mapping = text_mapping(pid, "program")
        found = identify(Host(), pid, mapping[2], mapping[0], mapping[1])
    assert found is not None
    assert found.build_id is None
    assert f"-{program.stat().st_ino:x}-" in found.key


def test_nothing_is_known_of_a_process_that_is_gone() -> None:
    assert identify(Host(), (1 << 22) + 1, "/no/such/program", 0, 4096) is None
    assert build_id_of(Host(), os.getpid(), "[heap]", 0, 4096) is None
