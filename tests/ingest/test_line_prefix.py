from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.line_prefix import chunks, plain, prefix_of

TABLE = b"""20:15:17     CPU    %usr   %nice    %sys   %idle
20:15:18       0    1.00    0.00    2.00   97.00
20:15:18       1    3.00    0.00    4.00   93.00
"""


@pytest.mark.parametrize(
    "before",
    [
        b"> ",
        b"    ",
        b"Nov 15 20:15:18 ",
        b"[2026-11-15 20:15:18] ",
        b"Nov 15 20:15:18 gpu-7 x[7]: ",
    ],
)
def test_what_stands_before_every_line_is_taken_off(before: bytes) -> None:
    assert plain(b"".join(before + line for line in TABLE.splitlines(keepends=True))) == TABLE


@pytest.mark.parametrize("width", [16, 24, 32, 40, 43, 46])
@pytest.mark.parametrize("step", [1, 7, 100, 10_000])
def test_lines_that_a_terminal_broke_are_whole_again(width: int, step: int) -> None:
    broken = b"".join(
        line[at : at + width] + b"\n"
        for line in (TABLE * 3).splitlines()
        for at in range(0, len(line), width)
    )
    prefix = prefix_of(broken)
    if width < 24:  # where each line was broken in three nobody knows its end
        assert prefix is None
        return
    assert plain(broken) == TABLE * 3
    stream = _Dribble(broken)
    stream.step = step
    assert b"".join(chunks(stream, prefix)) == TABLE * 3


def test_lines_as_the_tool_wrote_them_have_none() -> None:
    assert prefix_of(TABLE) is None
    assert prefix_of(b"no table at all\n") is None


@given(st.integers(1, 60))
def test_it_goes_however_the_text_is_cut(step: int) -> None:
    text = b"".join(b"Nov 15 20:15:18 " + line for line in TABLE.splitlines(keepends=True))
    found = prefix_of(text)
    assert found is not None
    parts = (text[at : at + step] for at in range(0, len(text), step))
    assert b"".join(found.lines(parts)) == TABLE


class _Dribble(io.BytesIO):
    """Gives no more than so many bytes at once."""

    step = 1

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.step)


@given(st.integers(1, 60))
def test_colours_go_however_the_text_is_cut(step: int) -> None:
    # As sysstat 12 prints with S_COLORS=always.
    text = TABLE.replace(b"   0.00", b"\x1b[34;22m   0.00\x1b[0m").replace(b"\n", b"\x1b[0m\n")
    assert plain(text) == TABLE
    stream = _Dribble(text)
    stream.step = step
    assert b"".join(chunks(stream, prefix_of(text))) == TABLE
