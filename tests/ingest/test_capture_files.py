from __future__ import annotations

from pathlib import Path

from exhume.host import Host
from exhume.ingest.capture_files import CaptureFiles
from exhume.ingest.symbols import Places
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity
from tests.ingest.made import write

KERNEL = FileIdentity("[kernel.kallsyms]_text", b"", (0, 0, 0, 0))


def test_whether_a_capture_was_made_here_shows_by_all_files_before_the_first_sample(
    tmp_path: Path,
) -> None:
    """Of one that was never closed; perf tells of the kernel first, often in a chunk of its own."""
    files = CaptureFiles(Places(Host(root=tmp_path)), Features(), recorded_ns=1 << 62)
    files.note({1: KERNEL})
    for number, name in enumerate("abc", 2):
        inode = Path(write(tmp_path / name, name)).stat().st_ino
        files.note({number: FileIdentity(f"/{name}", b"", (254, 0, inode, 0))})
    assert files.is_known(4)
    files.settle()
    assert files.is_local
    assert sorted(files.by_hash) == [1, 2, 3, 4]
    files.note({9: FileIdentity("/late", b"", (254, 0, 7, 0))})
    assert files.by_hash[9].path == "/late"


def test_who_unwinds_need_not_wait_for_names(tmp_path: Path) -> None:
    files = CaptureFiles(Places(Host(root=tmp_path)), Features(), recorded_ns=1 << 62)
    files.note({1: FileIdentity("/gone", b"", (254, 0, 7, 0))})
    assert files.cfi(1) is None
    assert list(files.by_hash) == [1]


def test_shared_memory_takes_no_room_from_programs(tmp_path: Path) -> None:
    """Each mapping of /dev/zero has an inode of its own: a program that makes thousands is not one
    of thousands of programs."""
    files = CaptureFiles(Places(Host(root=tmp_path)), Features(), recorded_ns=1 << 62)
    shared = range(100, 100 + (1 << 15))
    files.note({n: FileIdentity("/dev/zero (deleted)", b"", (0, 1, n, n)) for n in shared})
    assert not files.is_full
    files.note({1: FileIdentity("/late", b"", (254, 0, 7, 0))})
    files.settle()
    assert (files.by_hash[1].path, files.by_hash[100].path) == ("/late", "/dev/zero (deleted)")
