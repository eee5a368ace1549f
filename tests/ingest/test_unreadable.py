from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.unreadable import known_as
from tests.ingest import made


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("perf.data"), io.BytesIO(b""))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("perf.data", b"x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (tar(), "tar archive"),
        (zipped(), "zip archive"),
        (b"\x7fELF\x02\x01\x01", "--symfs"),
        (b"# To display the perf.data header info, please use --header\n#\n", "perf report"),
        (b"java;start;run 12\nswapper;idle 3\n", "folded stacks"),
        (b"WARNING: restricted\nPERFILE2\x10", "tail -c +21"),
        (b"a letter\n", ""),
        (b"", ""),
    ],
)
def test_what_people_have_beside_captures_is_named(head: bytes, told: str) -> None:
    found = known_as(head)
    assert told in found if told else found == ""


@given(st.binary(max_size=400))
def test_any_bytes_are_harmless(head: bytes) -> None:
    known_as(head)


def test_an_archive_is_told_what_to_do_with(tmp_path: Path) -> None:
    path = made.write(tmp_path / "night.bin", tar())
    (report,) = made.do_import(tmp_path / "into", path).inputs
    assert report.state == "failed"
    assert "unpack it" in report.problems[0]
