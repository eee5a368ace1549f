"""Kernel files gone wrong, for hypothesis: cut, flipped, shuffled, or nothing like them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from exhume.errors import ParseError


def garbled(good: bytes) -> st.SearchStrategy[bytes]:
    """The good text after one to three accidents, or any bytes at all."""
    accident = st.one_of(
        st.integers(0, len(good)).map(_cut),
        st.tuples(st.integers(0, max(0, len(good) - 1)), st.integers(0, 255)).map(_flip),
        st.integers(0, 50).map(_drop_line),
        st.integers(0, 50).map(_repeat_line),
        st.randoms(use_true_random=False).map(_shuffle_lines),
        st.tuples(st.integers(0, 50), st.randoms(use_true_random=False)).map(_shuffle_columns),
        st.tuples(st.integers(0, 200), st.sampled_from(ODD_TOKENS)).map(_replace_token),
    )
    broken = st.lists(accident, min_size=1, max_size=3).map(lambda todo: _apply(good, todo))
    return st.one_of(broken, st.binary(max_size=400))


ODD_TOKENS = (
    b"", b"-1", b"1_0", b"+5", b"0x10", b"\xd9\xa3", b"99999999999999999999999", b"1e9", b"nan",
    b"\x00", b"\xff\xfe", b":", b"cpu", b"a" * 300, b"9" * 5000,
)  # fmt: skip

Accident = Callable[[bytes], bytes]


def survives(parse: Callable[[bytes], object], text: bytes) -> object | None:
    """What the parser makes of it; None for ParseError. Anything else fails the test."""
    try:
        return parse(text)
    except ParseError:
        return None


def _apply(text: bytes, todo: list[Accident]) -> bytes:
    for accident in todo:
        text = accident(text)
    return text


def _cut(at: int) -> Accident:
    return lambda text: text[:at]


def _flip(place: tuple[int, int]) -> Accident:
    at, value = place
    return lambda text: text[:at] + bytes([value]) + text[at + 1 :]


def _drop_line(number: int) -> Accident:
    def drop(text: bytes) -> bytes:
        lines = text.split(b"\n")
        del lines[number % len(lines)]
        return b"\n".join(lines)

    return drop


def _repeat_line(number: int) -> Accident:
    def repeat(text: bytes) -> bytes:
        lines = text.split(b"\n")
        lines.insert(number % len(lines), lines[number % len(lines)])
        return b"\n".join(lines)

    return repeat


def _shuffle_lines(random: object) -> Accident:
    def shuffle(text: bytes) -> bytes:
        lines = text.split(b"\n")
        random.shuffle(lines)  # type: ignore[attr-defined]
        return b"\n".join(lines)

    return shuffle


def _shuffle_columns(place: tuple[int, object]) -> Accident:
    number, random = place

    def shuffle(text: bytes) -> bytes:
        lines = text.split(b"\n")
        columns = lines[number % len(lines)].split()
        random.shuffle(columns)  # type: ignore[attr-defined]
        lines[number % len(lines)] = b" ".join(columns)
        return b"\n".join(lines)

    return shuffle


def _replace_token(place: tuple[int, bytes]) -> Accident:
    number, token = place

    def replace(text: bytes) -> bytes:
        tokens = text.split(b" ")
        tokens[number % len(tokens)] = token
        return b" ".join(tokens)

    return replace
