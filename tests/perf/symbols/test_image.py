from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf.symbols.image import BytesImage, FileImage


@settings(deadline=2000)
@given(st.binary(max_size=64), st.integers(0, 1 << 70), st.integers(0, 1 << 70))
def test_a_read_gives_what_lies_there_and_nothing_behind_the_end(
    data: bytes, offset: int, length: int
) -> None:
    assert BytesImage(data).read(offset, length) == data[offset : offset + length]


def test_a_file_reads_like_its_bytes_and_short_behind_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        image = FileImage(file.fileno(), 10)
        assert image.read(2, 3) == b"234"
        assert image.read(8, 100) == b"89"
        assert image.read(10, 1) == b""
        assert image.read(1 << 80, 1) == b""
        longer = FileImage(file.fileno(), 100)  # cut short after its size was taken
        assert longer.read(5, 90) == b"56789"
