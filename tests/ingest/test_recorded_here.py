from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.ingest.recorded_here import is_recorded_here
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity
from tests.ingest.made import write


def machine(root: Path) -> Host:
    for name, text in (("hostname", "here"), ("osrelease", "5.4.0")):
        write(root / "proc" / "sys" / "kernel" / name, f"{text}\n")
    for name in "abc":
        write(root / "lib" / name, name)
    return Host(proc=root / "proc", root=root)


def mapped(host: Host, name: str, other: int = 0) -> FileIdentity:
    inode = (host.root / "lib" / name).stat().st_ino
    return FileIdentity(f"/lib/{name}", b"", (254, 0, inode + other, 0))


@pytest.mark.parametrize(
    ("hostname", "release", "expected"),
    [("here", "5.4.0", True), ("here", "6.1.0", False), ("there", "5.4.0", False)],
)
def test_who_says_his_host_is_believed(
    tmp_path: Path, hostname: str, release: str, expected: bool
) -> None:
    host = machine(tmp_path)
    files = [mapped(host, name) for name in "abc"]
    assert is_recorded_here(host, Features(hostname, release), files) is expected


def test_who_does_not_say_it_is_known_by_his_files(tmp_path: Path) -> None:
    host = machine(tmp_path)
    gone = FileIdentity("/lib/gone", b"", (254, 0, 7, 0))
    anonymous = FileIdentity("//anon", b"", (0, 0, 0, 0))
    both = [mapped(host, "a"), mapped(host, "b")]
    assert is_recorded_here(host, Features(), [*both, gone, anonymous])
    assert is_recorded_here(host, Features(), [*both, mapped(host, "c", other=1)])


def test_one_file_is_not_enough_and_most_must_agree(tmp_path: Path) -> None:
    host = machine(tmp_path)
    assert not is_recorded_here(host, Features(), [])
    assert not is_recorded_here(host, Features(), [mapped(host, "a")])
    others = [mapped(host, name, other=1) for name in "abc"]
    assert not is_recorded_here(host, Features(), others)
    assert not is_recorded_here(host, Features(), [*others, mapped(host, "a"), mapped(host, "b")])


def test_paths_that_cannot_be_are_not_here(tmp_path: Path) -> None:
    strange = [FileIdentity(path, b"", (1, 1, 1, 1)) for path in ("/a\0b", "/" + "x" * 9999, "")]
    assert not is_recorded_here(machine(tmp_path), Features(), strange)
