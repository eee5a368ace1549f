"""The columns of mpstat's tables: where they stand, and the numbers in them."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.ingest.mpstat_table import ALIASES, COLUMNS, MAX_CORE
from exhume.model.arrays import I64

Octets = NDArray[np.uint8]

_TOKEN = re.compile(rb"\S+")
_ZERO, _NINE, _SPACE = ord("0"), ord("9"), ord(" ")
_POINT = 10
_MOST_DIGITS = 7
# What each byte of a number is worth: a blank nothing, a point or comma _POINT, all else too much.
_DIGITS: Octets = np.full(256, 255, np.uint8)
_DIGITS[_ZERO : _NINE + 1] = np.arange(10)
_DIGITS[_SPACE], _DIGITS[[ord("."), ord(",")]] = 0, _POINT


class Layout(Struct, frozen=True):
    """Where the columns of a table stand, by the ends of their names."""

    length: int
    """Of a line, with its end."""
    time_end: int
    time_words: int
    """20:15:17 is one, 08:15:17 PM are two."""
    core_end: int
    columns: tuple[tuple[int, int, int], ...]
    """Which of COLUMNS, from where, to where."""
    width: int
    """Number of columns behind the core, known or not."""
    places: tuple[tuple[int, int], ...]
    """Which of COLUMNS stands how many from the right."""


def layout_of(line: bytes) -> tuple[Layout, str] | None:
    """And the time in the header; None for tables of something else, and for averages."""
    tokens = [(m[0], m.start(), m.end()) for m in _TOKEN.finditer(line)]
    at = next((i for i, token in enumerate(tokens) if token[0] == b"CPU"), 0)
    if at == 0 or not line[:1].isdigit():
        return None
    names = [token[0].decode("ascii", "replace") for token in tokens]
    known = [ALIASES.get(name, name) for name in names]
    columns, places = [], []
    for index in range(at + 1, len(tokens)):
        if known[index] in COLUMNS:
            column = COLUMNS.index(known[index])
            columns.append((column, tokens[index - 1][2], tokens[index][2]))
            places.append((column, len(tokens) - index))
    if not {"%usr", "%sys", "%idle"} <= set(known[at + 1 :]):
        return None
    layout = Layout(
        length=len(line) + 1,
        time_end=tokens[at - 1][2],
        time_words=at,
        core_end=tokens[at][2],
        columns=tuple(columns),
        width=len(tokens) - at - 1,
        places=tuple(places),
    )
    return layout, line[: layout.time_end].decode("utf-8", "replace")


def percent(table: Octets, layout: Layout) -> tuple[I64, int] | None:
    """None where a column is no number, or its point is not always at one place."""
    begin, end = layout.columns[0][1], layout.columns[-1][2]
    digits = _DIGITS[table[:, begin:end]]
    weights = np.zeros((end - begin, len(COLUMNS)), np.float32)
    unit: int | None = None
    last = []
    for column, left, right in layout.columns:
        first = table[0, left:right].tobytes().replace(b",", b".")
        point = first.find(b".")
        decimals = 0 if point < 0 else len(first) - 1 - point
        if unit not in (None, 10**decimals) or right - left - (point >= 0) > _MOST_DIGITS:
            return None
        unit = 10**decimals
        places = [at for at in range(right - left) if at != point]
        for power, at in enumerate(reversed(places)):
            weights[left - begin + at, column] = 10**power
        if point >= 0:
            at = left - begin + point
            if (digits[:, at] != _POINT).any():
                return None
            digits[:, at] = 0
        last.append(right - begin - 1)
    is_blank = table[:, begin:end][:, last] == _SPACE
    if (digits > 9).any() or is_blank.any():
        return None
    # As a product of matrices: numbers of seven digits are exact in a float.
    found = (digits.astype(np.float32) @ weights).astype(np.int64)
    has = [column for column, _, _ in layout.columns]
    found[:, [column for column in range(len(COLUMNS)) if column not in has]] = -1
    return found, unit or 1


def cores(cells: Octets) -> I64:
    """-1 for `all`."""
    core = np.zeros(len(cells), np.int64)
    is_core = (cells[:, -1] >= _ZERO) & (cells[:, -1] <= _NINE)
    for place in range(cells.shape[1]):
        octet = cells[:, place]
        is_digit = (octet >= _ZERO) & (octet <= _NINE)
        is_core &= is_digit | (octet == _SPACE)
        core = np.where(is_digit, core * 10 + (octet.astype(np.int64) - _ZERO), core)
    return np.where(is_core & (core < MAX_CORE), core, -1)


def tokens_of(line: bytes, layout: Layout) -> tuple[str, int, list[int], int] | None:
    """Time, core (-1 for `all`), percentages and their unit."""
    tokens = line.decode("utf-8", "replace").split()
    at = layout.time_words
    if len(tokens) < at + 1:
        return None
    name, values = tokens[at], tokens[at + 1 :]
    if len(values) > layout.width or len(values) < max(place for _, place in layout.places):
        return None
    if name == "all":
        core = -1
    elif name.isascii() and name.isdigit() and len(name) < 6:
        core = int(name)
    else:
        return None
    found, units = [-1] * len(COLUMNS), set()
    for column, place in layout.places:
        whole, _, part = values[-place].replace(",", ".").partition(".")
        if not (whole + part).isascii() or not (whole + part).isdigit() or len(whole + part) > 9:
            return None
        units.add(10 ** len(part))
        found[column] = int(whole + part)
    if len(units) > 1:
        return None  # all have as many decimals: one that has fewer was cut off
    (unit,) = units
    return " ".join(tokens[:at]), core if core < MAX_CORE else -1, found, unit
