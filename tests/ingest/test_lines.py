from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.lines import MAX_LINE, lines_of


class Slow(io.BytesIO):
    """Gives a few bytes at a time, as a pipe or a decompressor does."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7)


WORDS = st.text(st.characters(blacklist_characters="\n\r\0\x1b", codec="utf-8"), max_size=40)


@given(st.lists(WORDS, max_size=8))
def test_lines_are_the_same_however_they_come(words: list[str]) -> None:
    data = "\n".join(words).encode()
    expected = [line.decode() for line in data.split(b"\n")]
    expected = expected[:-1] if not expected[-1] else expected
    assert list(lines_of(Slow(data))) == expected
    assert list(lines_of(io.BytesIO(data))) == expected


def test_an_endless_line_is_cut_and_the_next_one_is_whole() -> None:
    found = list(lines_of(io.BytesIO(b"a" * (5 << 20) + b"\nnext\n")))
    assert [len(line) for line in found] == [MAX_LINE, 4]


def test_zero_bytes_and_colours_go() -> None:
    assert list(lines_of(io.BytesIO(b"\0\0\0a\x1b[31mb\x1b[0m\r\nc"))) == ["ab", "c"]
    assert list(lines_of(io.BytesIO(b"\xff\xfe\n"))) == ["\ufffd\ufffd"]
