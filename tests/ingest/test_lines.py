from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.lines import MAX_LINE, lines_of, unpasted


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
    assert list(lines_of(io.BytesIO(b"a\x1b(B\x1b[m\x1b]0;title\x07b"))) == ["ab"]
    assert list(lines_of(io.BytesIO(b"a\xff\xfe\n"))) == ["a\ufffd\ufffd"]


def test_the_mark_that_windows_begins_a_text_with_goes() -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-16-be"):
        data = "[  298.261679] a\r\nb\r\n".encode(encoding)
        assert list(lines_of(io.BytesIO(data)))[:2] == ["[  298.261679] a", "b"]


def test_what_a_progress_bar_wrote_over_is_a_line_of_its_own() -> None:
    assert list(lines_of(io.BytesIO(b" 1%\r 2%\r2026-11-15 x\r\ny\n"))) == [
        " 1%",
        " 2%",
        "2026-11-15 x",
        "y",
    ]
    endless = list(lines_of(io.BytesIO(b"0123456789\r" * 200_000)))
    assert set(endless) == {"0123456789"}
    assert len(endless) == 200_000


def test_what_is_quoted_is_bare_again() -> None:
    for before in (
        "> ",
        ">> ",
        "> > ",
        "    ",
        "\t",
        "kern.log:",
        "/var/log/kern.log.1:",
        "12:",
        "7-",
    ):
        for line in ("[    1.5] x", "[Sun Nov 15", "Nov 15 20:20:10 a", "2026-11-15T20:20:10Z a"):
            assert unpasted(before + line) == line
            assert unpasted(line) == line
    for line in (" SUBSYSTEM=usb", " ? f+0x1/0x2", "x: y", "    at com.example.Main"):
        assert unpasted(line) == line
