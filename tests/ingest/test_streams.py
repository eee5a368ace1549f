from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from exhume.ingest.streams import Inflated, Source

DATA = bytes(range(256)) * 5000
PACKED = {
    "": DATA,
    "gzip": gzip.compress(DATA),
    "xz": lzma.compress(DATA),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress(DATA),
    "bzip2": bz2.compress(DATA, 5),
}
TWICE = {
    "gzip": gzip.compress(DATA) * 2,
    "xz": lzma.compress(DATA) + bytes(8) + lzma.compress(DATA),
    "zstd": zstandard.compress(DATA) * 2,
    "bzip2": bz2.compress(DATA) * 2,
}


def source(folder: Path, data: bytes) -> Source:
    path = folder / "input.txt"  # the name says nothing
    path.write_bytes(data)
    return Source.of(path)


def everything(found: Source) -> tuple[bytes, str]:
    with found.open() as stream:
        parts = []
        while part := stream.read(100_000):
            assert len(part) <= 100_000
            parts.append(part)
        return b"".join(parts), stream.problem if isinstance(stream, Inflated) else ""


@pytest.mark.parametrize("how", PACKED)
def test_what_it_is_compressed_with_shows_in_its_first_bytes(how: str, tmp_path: Path) -> None:
    found = source(tmp_path, PACKED[how])
    assert found.compression == how
    assert everything(found) == (DATA, "")
    assert found.head(300) == DATA[:300]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstandard.compress])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-8", b"\xef\xbb\xbf")],
)
def test_a_text_that_windows_wrote_is_given_as_any_other(
    pack: Callable[[bytes], bytes], encoding: str, mark: bytes, tmp_path: Path
) -> None:
    text = "näme 7 [000] 1.5: cycles:\r\n" * 30_000
    found = source(tmp_path, pack(mark + text.encode(encoding)))
    assert everything(found) == (text.encode(), "")
    assert found.head(9) == text.encode()[:9]


def test_half_a_letter_at_the_end_of_a_text_is_marked_as_such(tmp_path: Path) -> None:
    found = source(tmp_path, b"\xff\xfe" + "ab".encode("utf-16-le") + b"c")
    assert everything(found) == ("ab\ufffd".encode(), "")


@pytest.mark.parametrize("how", TWICE)
def test_several_streams_one_after_the_other_are_one(how: str, tmp_path: Path) -> None:
    assert everything(source(tmp_path, TWICE[how]))[0] == DATA * 2


@pytest.mark.parametrize("how", ["gzip", "xz", "zstd", "bzip2"])
def test_cut_off_it_gives_what_there_is_and_says_so(how: str, tmp_path: Path) -> None:
    whole = PACKED[how]
    found, problem = everything(source(tmp_path, whole[: len(whole) // 2]))
    assert DATA.startswith(found)
    assert problem.startswith(f"offset {len(whole) // 2}: the compressed data is cut off")
    assert "copy the file again" in problem


@pytest.mark.parametrize("how", ["gzip", "xz", "zstd", "bzip2"])
def test_damage_ends_it(how: str, tmp_path: Path) -> None:
    whole = bytearray(PACKED[how])
    whole[len(whole) // 2 : len(whole) // 2 + 20] = b"\xff" * 20
    damaged = source(tmp_path, bytes(whole))
    found, problem = everything(damaged)
    assert len(found) <= len(DATA)
    near, offset = problem.split(":")[0].rsplit(" ", 1)
    assert near == "near offset"
    assert int(offset) <= len(whole)
    assert "is damaged (" in problem
    assert "copy the file again" in problem
    assert damaged.damage() == problem


@pytest.mark.parametrize("how", PACKED)
def test_of_what_is_whole_no_damage_is_told(how: str, tmp_path: Path) -> None:
    assert source(tmp_path, PACKED[how]).damage() == ""


def test_progress_counts_the_bytes_of_the_file_not_of_its_content(tmp_path: Path) -> None:
    seen: list[int] = []
    found = source(tmp_path, PACKED["gzip"])
    with found.open(seen.append) as stream:
        while stream.read(1 << 16):
            pass
    assert sum(seen) == len(PACKED["gzip"])


@pytest.mark.parametrize(
    ("pack", "most"), [(zstandard.compress, 20 << 20), (bz2.compress, 92 << 20)]
)
def test_a_bomb_comes_out_in_portions(
    pack: Callable[[bytes], bytes], most: int, tmp_path: Path
) -> None:
    found = source(tmp_path, pack(bytes(200 << 20)))
    with found.open() as stream:
        assert max(len(stream.read(200 << 20)) for _ in range(5)) <= most


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_blanks_of_web_pages_are_blanks(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    text = "20:15:17\u00a0\u00a0all\u202f3,00 \u00e9\u2026\n" * 30_000
    found = source(tmp_path, pack(text.encode()))
    plain = text.replace("\u00a0", " ").replace("\u202f", " ").encode()
    assert everything(found) == (plain, "")
    with found.open() as stream:
        assert b"".join(iter(lambda: stream.read(1), b""))[:40] == plain[:40]
    assert source(tmp_path, "only \u00c2 and \u2026\n".encode()).has_odd_blanks is False
    binary = b"\0\xc2\xa0" * 100
    assert everything(source(tmp_path, binary)) == (binary, "")
