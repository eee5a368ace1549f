"""What the parsers share: strict numbers out of kernel text, and the place where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from exhume.errors import ParseError
from exhume.model.arrays import I64

_INT64_MAX = np.iinfo(np.int64).max
_MAX_DIGITS = 18
"""What surely fits an int64. The kernel's own counters are far from it."""
_MAX_CORE = 1 << 16


def number(token: str | bytes, path: str, where: int | str, expected: str = "a number") -> int:
    """A non-negative decimal. `int()` alone would take `1_0`, `+1`, `１` and 4,000 digits."""
    if not (token.isascii() and token.isdigit() and len(token) <= _MAX_DIGITS):
        raise ParseError(path, where, expected)
    return int(token)


def whole_numbers(tokens: Sequence[str]) -> bool:
    """Whether `number` would take each of them: asked at once, since one by one takes longer."""
    text = "".join(tokens)
    if not tokens:
        return True
    return (
        text.isascii()
        and text.isdigit()
        and 0 < min(map(len, tokens)) <= max(map(len, tokens)) <= _MAX_DIGITS
    )


def numbers(row: bytes, count: int, path: str, where: int | str) -> I64:
    """A row of `count` numbers, in bulk: a file of 200 rows × 96 cores is read every second."""
    # fromstring makes numbers up where there are too few (numpy 2.4), so count first.
    if row.translate(None, b"0123456789 ") or len(row.split()) != count:
        raise ParseError(path, where, f"{count} numbers")
    if count == 0:
        return np.zeros(0, np.int64)
    values = np.fromstring(row, np.int64, sep=" ")
    if values.max() == _INT64_MAX:
        raise ParseError(path, where, "numbers that fit 63 bits")
    return values


@lru_cache(maxsize=8)
def core_columns(header: bytes, path: str) -> tuple[int, ...]:
    """`CPU0 CPU2 …` of /proc/interrupts and /proc/softirqs: cores that are off may be missing."""
    cores = []
    for name in header.split():
        if not name.startswith(b"CPU"):
            raise ParseError(path, 1, "a header of CPU columns")
        cores.append(number(name[3:], path, 1, "a header of CPU columns"))
    if not cores or cores != sorted(set(cores)) or cores[-1] >= _MAX_CORE:
        raise ParseError(path, 1, "ascending CPU columns")
    return tuple(cores)


@lru_cache(maxsize=8)
def core_names(cores: tuple[int, ...]) -> tuple[str, ...]:
    """Instances of what there is one of for each core; the same object, tick after tick."""
    return tuple(map(str, cores))


def core_list(text: str, path: str) -> tuple[int, ...]:
    """`0-3,8`: the kernel's way to list cores. Empty text is an empty list."""
    cores: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        low = number(first, path, 1, "a list of cores such as 0-3,8")
        high = number(last, path, 1, "a list of cores such as 0-3,8") if dash else low
        if high >= _MAX_CORE or high < low:
            raise ParseError(path, 1, "a list of cores such as 0-3,8")
        cores.update(range(low, high + 1))
    return tuple(sorted(cores))


def pairs(text: str, path: str) -> dict[str, str]:
    """`key value` lines."""
    return dict(zip(*key_values(text, path), strict=True))


def key_values(text: str, path: str) -> tuple[list[str], list[str]]:
    """The same, apart."""
    tokens = text.split()
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    if len(tokens) != 2 * lines:
        raise ParseError(path, _first_odd_line(text), "`key value`")
    return tokens[::2], tokens[1::2]


def _first_odd_line(text: str) -> int:
    odd = (i for i, line in enumerate(text.split("\n"), 1) if len(line.split()) != 2)
    return next(odd, 1)
