from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.ingest.capture_files import CaptureFiles
from exhume.ingest.same_path import Here, Inode, build_id_of
from exhume.ingest.symbols import Places
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity
from tests.ingest.made import write
from tests.ingest.test_symbols import program
from tests.perf.symbols.made_elf import TEXT_AT

A, B, C = (bytes([one]) * 20 for one in b"abc")
HOSTS: Inode = (254, 0, 1)
FIRST: Inode = (0, 40, 2)
SECOND: Inode = (0, 41, 3)
HERE = Here(1, A)


@pytest.mark.parametrize(
    ("own", "mapped", "told", "here", "found"),
    [
        (HOSTS, {HOSTS, FIRST}, [A, B], HERE, A),
        (FIRST, {HOSTS, FIRST}, [A, B], HERE, B),
        (FIRST, {HOSTS, FIRST}, [B, A], HERE, B),
        # No sample was in the container's, or it was gone before perf read its build id.
        (FIRST, {HOSTS, FIRST}, [A], HERE, None),
        # None was in the host's: then it is known by its inode alone.
        (HOSTS, {HOSTS, FIRST}, [B], HERE, b""),
        (FIRST, {HOSTS, FIRST}, [B], HERE, B),
        # One image, and so many containers.
        (SECOND, {FIRST, SECOND}, [B, B], None, B),
        (SECOND, {HOSTS, FIRST, SECOND}, [A, B, B], HERE, B),
        (FIRST, {HOSTS, FIRST}, [A, A], HERE, A),
        # Two images.
        (SECOND, {FIRST, SECOND}, [B, C], None, None),
        (SECOND, {HOSTS, FIRST, SECOND}, [A, B, C], HERE, None),
        (FIRST, {FIRST, SECOND}, [B], HERE, B),
    ],
)
def test_which_build_id_is_whose(
    own: Inode, mapped: set[Inode], told: list[bytes], here: Here | None, found: bytes | None
) -> None:
    assert build_id_of(own, mapped, told, here) == found


def test_functions_of_a_container_are_not_named_by_the_hosts_file_of_that_path(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "libc.so.6", program("of_the_host", A))
    cache = tmp_path / "cache" / ".build-id" / B.hex()[:2] / B.hex()[2:]
    write(cache / "elf", program("of_the_container", B))
    inode = Path(path).stat().st_ino
    host = Host()
    features = Features(hostname=host.hostname(), release=host.kernel_release())
    for build_id in (A, B):
        features.build_ids.setdefault(path, build_id)
        features.same_path.setdefault(path, []).append(build_id)
    places = Places(host, build_id_cache=tmp_path / "cache")
    files = CaptureFiles(places, features, recorded_ns=1 << 62)
    # Once as perf makes it up for a process that runs already, and once as the kernel says it.
    files.note({
        1: FileIdentity(path, b"", (254, 0, inode, 0)),
        2: FileIdentity(path, b"", (254, 0, inode, 77)),
        3: FileIdentity(path, b"", (0, 40, inode + 1, 5)),
    })  # fmt: skip
    files.settle()
    names = []
    for number in (1, 2, 3):
        table = files.table(files.by_hash[number].key)
        assert table is not None
        (at,) = table.lookup(table.vaddr_of_offset(np.array([TEXT_AT + 4], np.uint64))).tolist()
        names.append(table.name(at))
    assert names == ["of_the_host", "of_the_host", "of_the_container"]
    assert not any(files.doubts)
    # Two more containers, of which the table has one.
    files.note({4: FileIdentity(path, b"", (0, 41, inode + 2, 5))})
    features.same_path[path].append(C)
    files.note({5: FileIdentity(path, b"", (0, 42, inode + 3, 5))})
    assert not any(files.doubts), "nobody has asked for it"
    assert files.table(files.by_hash[5].key) is None
    assert len(files.doubts) == 1
    assert files.doubts[0].startswith(f"containers have other files at {path}: which of them")
