"""The file behind a mapping of a living process, by whichever way still leads to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.perf.symbols import elf
from exhume.perf.symbols.files import OpenFile, open_in_root, open_regular

DELETED = " (deleted)"
OWN_ROOT = Path("/")
HOST_WAY = "host"
VDSO = "[vdso]"
_NO_FILE = ("//anon", "anon_inode:", "/anon_hugepage", "/dev/", "/SYSV", "/[aio]", "socket:", "[")
_MEMORY = "/memfd:"
_VSYSCALL = "[vsyscall]"
# As perf calls the code of a process that may have one.
JIT_MAP = re.compile(r"perf-\d+\.map")
# The kernel's MMAP2 records carry at most so much of a build id.
_RECORD_BUILD_ID_BYTES = 20


class MappedFile(Struct, frozen=True):
    key: str
    """Build id in hex, or `OpenFile.key` where there is none: names the file in the cache."""
    build_id: bytes | None
    path: str
    """As the kernel wrote it, ` (deleted)` included."""
    pid: int
    start: int
    end: int
    inode: int = 0
    """Of the mapped file, as the kernel wrote it; 0 where it is not known."""


class Identity(Struct, frozen=True):
    key: str
    build_id: bytes | None


class Way(Struct, frozen=True):
    name: str
    """`map_files`, `exe`, `root` or `host`."""
    exact: bool
    """The kernel leads to the mapped inode itself; a path may lead to its successor."""
    file: AbstractContextManager[OpenFile]


def no_file_reason(path: str) -> str:
    """Why a mapping of that name has no file with symbols; empty where it may have one."""
    if not path or path.startswith(_NO_FILE):
        return f"{path or 'an anonymous mapping'} is not a file"
    if not path.startswith("/"):
        return f"{path!r} is not a path"
    return ""


def is_made_code(path: str) -> bool:
    """Code that a program made while it ran, as a JIT does: where it lies says nothing.

    [vdso] and [vsyscall] are the kernel's, and offsets in them always mean the same.
    """
    is_map = JIT_MAP.fullmatch(path.rpartition("/")[2])
    return is_map is not None or (
        path.startswith((*_NO_FILE, _MEMORY)) and path not in (VDSO, _VSYSCALL)
    )


def ways(host: Host, pid: int, path: str, start: int, end: int) -> Iterator[Way]:
    """Best first. Opening may fail with OSError for each: the process can be gone any moment."""
    process = host.proc / str(pid)
    name = path.removesuffix(DELETED)
    # Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and the mapping as it was when we heard of it.
    yield Way("map_files", True, open_regular(process / "map_files" / f"{start:x}-{end:x}"))
    if _target(process / "exe") == name:
        yield Way("exe", True, open_regular(process / "exe"))
    if not path.startswith(_MEMORY):
        yield Way("root", False, open_in_root(process / "root", name))
        yield Way(HOST_WAY, False, open_in_root(OWN_ROOT, name))


def is_mapped(way: Way, file: OpenFile, mapping: MappedFile) -> bool:
    """Is this the file that was mapped, and not one that took its place?"""
    if mapping.build_id is not None:
        return same_build_id(_build_id(file, mapping.path), mapping.build_id)
    if way.exact or mapping.key == file.key:
        return True
    if way.name == HOST_WAY and mapping.inode:
        # Its process is gone, and may have seen another file by that path, as containers do.
        return file.inode == mapping.inode
    is_file_key = mapping.key.count("-") == 3
    return not is_file_key and not mapping.path.endswith(DELETED)


def same_build_id(found: bytes | None, expected: bytes) -> bool:
    return found is not None and (
        found == expected
        or (len(expected) == _RECORD_BUILD_ID_BYTES and found.startswith(expected))
    )


def identify(host: Host, pid: int, path: str, start: int, end: int) -> Identity | None:
    """The cache key of a mapped file, from its headers alone; None where it can't be reached."""
    if no_file_reason(path):
        return None
    for way in ways(host, pid, path, start, end):
        if not way.exact and path.endswith(DELETED):
            continue
        try:
            with way.file as file:
                build_id = _build_id(file, path)
                return Identity(build_id.hex() if build_id else file.key, build_id)
        except OSError:
            continue
    return None


def build_id_of(host: Host, pid: int, path: str, start: int, end: int) -> bytes | None:
    found = identify(host, pid, path, start, end)
    return None if found is None else found.build_id


def _build_id(file: OpenFile, path: str) -> bytes | None:
    try:
        return elf.read_build_id(file.image, path)
    except ParseError:
        return None


def _target(link: Path) -> str:
    try:
        return str(link.readlink()).removesuffix(DELETED)
    except OSError:
        return ""
