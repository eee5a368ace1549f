"""Archives are looked at as the folders that they were made of, and unpacked within bounds."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from exhume.ingest import archives
from exhume.ingest.archives import Archives
from exhume.ingest.inputs import Input, Missing, expand
from exhume.ingest.report import ImportReport
from tests.ingest import made
from tests.ingest.made import do_import, write

NAME = "perf-gpu-7-20261115-201517-1s.data"
WRITTEN = 1_794_773_717
FILES = {NAME: made.capture(1.0).file(), "kallsyms": made.KALLSYMS.encode()}


def tar(files: dict[str, bytes], *others: tarfile.TarInfo, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), WRITTEN
            archive.addfile(member, io.BytesIO(content))
        for other in others:
            archive.addfile(other)
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """With times as Info-ZIP notes them down."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, (2026, 11, 15, 3, 4, 6))
            member.extra = b"UT\x05\x00\x01" + WRITTEN.to_bytes(4, "little")
            archive.writestr(member, content)
    return out.getvalue()


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def opened(tmp_path: Path, *paths: Path) -> tuple[list[Input], Archives]:
    folder, into = tmp_path / "out" / "import" / "piped", tmp_path / "out"

    def inside(given: str) -> tuple[list[Input], list[Missing]]:
        return expand((given,), into, folder)

    found = Archives(folder, inside, lambda _: None)
    return found.opened(expand([str(path) for path in paths], into)[0]), found


def states(report: ImportReport, root: Path) -> dict[str, str]:
    return {str(Path(one.path).relative_to(root)): one.state for one in report.inputs}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.tar", tar({f"evidence/{name}": content for name, content in FILES.items()})),
        ("e.tgz", tar(FILES, mode="w:gz")),
        ("e", tar(FILES, mode="w:xz")),
        ("e.zip", zipped({f"a/b/{name}": content for name, content in FILES.items()})),
    ],
)
def test_an_archive_is_imported_as_the_folder_it_was_made_of(
    name: str, content: bytes, tmp_path: Path
) -> None:
    packed = put(tmp_path / name, content)
    report = do_import(tmp_path / "out", str(packed))
    found = {Path(one.path).name: one for one in report.inputs}
    assert found[NAME].state == "imported"
    assert found[NAME].samples == 200
    assert found[NAME].path.startswith(f"{packed}/")
    assert found["kallsyms"].state == "names"
    assert found[name].notes == ("2 files were unpacked from it",)
    assert sorted(path.name for path in (tmp_path / "out" / "import").iterdir()) == [
        "lock", "manifest.jsonl",
    ]  # fmt: skip
    again = do_import(tmp_path / "out", str(packed))
    known = next(one for one in again.inputs if one.path.endswith(NAME))
    assert known.state == "known"
    assert "/piped/" not in str(known)


def test_files_keep_the_times_that_they_had(tmp_path: Path) -> None:
    for name, content in {"a.tar": tar(FILES), "b.zip": zipped(FILES)}.items():
        inputs, _ = opened(tmp_path, put(tmp_path / name, content))
        assert {one.modified_ns // 10**9 for one in inputs} == {WRITTEN}


def test_what_lies_in_a_folder_beside_other_files_is_unpacked_too(tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    for node in ("gpu-7", "gpu-8"):
        capture = made.capture(1.0, host=node).file()
        put(folder / f"{node}.tar.gz", tar({f"{node}.data": capture}, mode="w:gz"))
    write(folder / "kallsyms", made.KALLSYMS)
    report = do_import(tmp_path / "out", str(folder))
    assert {one.node for one in report.recordings} == {"gpu-7", "gpu-8"}
    assert states(report, folder) == {
        "gpu-7.tar.gz": "imported", "gpu-7.tar.gz/gpu-7.data": "imported",
        "gpu-8.tar.gz": "imported", "gpu-8.tar.gz/gpu-8.data": "imported", "kallsyms": "names",
    }  # fmt: skip


def test_its_name_tells_the_node_as_a_folders_does(tmp_path: Path) -> None:
    table = made.script(1.0, host="gpu-7").encode()
    log = b"[    5.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [a:1]\n"
    packed = put(tmp_path / "gpu-8.tar", tar({"dmesg": log}))
    capture = put(tmp_path / "gpu-7.txt", table)
    other = put(tmp_path / "gpu-8.txt", made.script(1.0, host="gpu-8", start_ns=9 * 10**9).encode())
    report = do_import(tmp_path / "out", str(packed), str(capture), str(other))
    assert {one.node for one in report.recordings} == {"gpu-7", "gpu-8"}


def test_archives_in_archives_are_opened_but_not_for_ever(tmp_path: Path) -> None:
    content = tar({"kallsyms": made.KALLSYMS.encode()})
    for _ in range(archives.MOST_DEPTH):
        content = tar({"inner.tar": content})
    inputs, found = opened(tmp_path, put(tmp_path / "outer.tar", content))
    assert [one.path.name for one in inputs] == ["inner.tar"]
    assert len(found.reports) == archives.MOST_DEPTH
    assert found.told(str(inputs[0].path)) == str(
        tmp_path / "outer.tar" / "inner.tar" / "inner.tar" / "inner.tar"
    )


def test_nothing_is_written_outside_and_only_plain_files_are(tmp_path: Path) -> None:
    device = tarfile.TarInfo("null")
    device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 3
    hostile = tar(
        {"../../../up": b"1", f"{tmp_path}/at": b"2", "way/in": b"3", "a" * 300: b"4"},
        link("way2", str(tmp_path)), link("hard", "way/in", tarfile.LNKTYPE), device,
    )  # fmt: skip
    before = {path for path in tmp_path.rglob("*") if "out" not in path.parts}
    packed = put(tmp_path / "hostile.tar", hostile)
    opened(tmp_path, packed)
    outside = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "out")}
    assert outside - before == {packed}
    there = [path for path in (tmp_path / "out").rglob("*") if not path.is_dir()]
    assert {path.name for path in there} == {"up", "at", "in"}
    assert all(path.is_file() and not path.is_symlink() for path in there)


def test_an_entry_below_a_link_or_a_file_does_no_harm(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(link("way", "/"))
        for name in ("way/through", "file", "file/below", "way"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    _, found = opened(tmp_path, put(tmp_path / "hostile.tar", out.getvalue()))
    (report,) = found.reports
    assert report.notes[0].startswith("2 files were unpacked from it, and 3 entries passed over")


def test_more_than_there_is_room_for_is_refused_and_the_others_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = os.statvfs(tmp_path)
    most = free.f_bavail * free.f_frsize - (4 << 20)
    monkeypatch.setattr(archives, "LEFT_FREE_BYTES", most)
    bomb = put(tmp_path / "bomb.tgz", tar({"zeros": bytes(64 << 20)}, mode="w:gz"))
    capture = put(tmp_path / NAME, FILES[NAME])
    report = do_import(tmp_path / "out", str(bomb), str(capture))
    found = {Path(one.path).name: one for one in report.inputs}
    assert found[NAME].state == "imported"
    assert found["bomb.tgz"].state == "failed"
    assert "more than there is room for" in found["bomb.tgz"].problems[0]
    assert "--into" in found["bomb.tgz"].problems[0]


@pytest.mark.parametrize("pack", [tar, zipped])
def test_of_too_many_entries_the_first_count_or_none(
    pack: Callable[[dict[str, bytes]], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_ENTRIES", 2)
    monkeypatch.setattr(archives, "_MOST_DIRECTORY_BYTES", 200)
    packed = pack({str(number): b"" for number in range(5)})
    _, found = opened(tmp_path, put(tmp_path / "a", packed))
    (report,) = found.reports
    assert "more than" in report.problems[0]
    assert report.notes == (("2 files were unpacked from it",) if pack is tar else ())


def test_a_header_that_claims_megabytes_is_not_read(tmp_path: Path) -> None:
    long = tarfile.TarInfo("long")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 64 << 20
    packed = long.tobuf(tarfile.GNU_FORMAT) + bytes(64 << 20)
    _, found = opened(tmp_path, put(tmp_path / "a.tar.gz", gzip.compress(packed)))
    assert "a header of 67108864 bytes" in found.reports[0].problems[0]


def test_of_one_that_is_cut_off_what_came_before_counts(tmp_path: Path) -> None:
    second = tar({NAME: FILES[NAME], "late": os.urandom(1 << 20)}, mode="w:gz")
    cut = put(tmp_path / "cut.tar.gz", second[: -(1 << 19)])
    report = do_import(tmp_path / "out", str(cut))
    found = {Path(one.path).name: one for one in report.inputs}
    assert found[NAME].state == "imported"
    (problem,) = found["cut.tar.gz"].problems
    assert "is damaged" in problem
    assert "copy it again" in problem


def test_one_with_a_password_is_told(tmp_path: Path) -> None:
    secret = bytearray(zipped({NAME: FILES[NAME]}))
    for mark, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        secret[secret.index(mark) + flags_at] |= 1
    locked = put(tmp_path / "locked.zip", bytes(secret))
    report = do_import(tmp_path / "out", str(locked))
    (one,) = report.inputs
    assert (one.format, one.state) == ("zip archive", "failed")
    assert "password" in one.problems[0]


def test_one_that_takes_long_to_unpack_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_LONG_BYTES", 1)
    told: list[str] = []
    found = Archives(tmp_path / "piped", lambda given: expand((given,), tmp_path), told.append)
    found.opened(expand([str(put(tmp_path / "a.tar", tar(FILES)))], tmp_path / "out")[0])
    assert told == ["unpacking a.tar, 0 MiB"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    whole=st.sampled_from([tar(FILES), tar(FILES, mode="w:gz"), zipped(FILES)]),
    changes=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=8),
    end=st.integers(0, 1 << 16),
)
@example(whole=gzip.compress(zipped(FILES)), changes=[], end=1 << 16)
def test_damage_never_ends_an_import(
    whole: bytes, changes: list[tuple[int, int]], end: int, tmp_path: Path
) -> None:
    damaged = bytearray(whole[:end])
    for place, byte in changes:
        if place < len(damaged):
            damaged[place] = byte
    _, found = opened(tmp_path, put(tmp_path / f"{time.time_ns()}.bin", bytes(damaged)))
    assert all(one.problems or one.notes for one in found.reports)
