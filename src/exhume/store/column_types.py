"""How a column of a Parquet file looks to a reader, and what can be written as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import U32

Array: TypeAlias = NDArray[Any]

NULL = np.iinfo(np.int64).min
"""Stands for null in memory."""


class ColumnType(Struct, frozen=True):
    """How a column looks to a reader, and how its values are laid out in the file."""

    name: str
    type: str
    """`uint16`, `int64`, … or `string`."""
    encoding: str
    """`delta` for what rises slowly, `dictionary` for what repeats, `split` for noise, `plain`."""
    nullable: bool = False
    """Whole numbers only: the lowest int64 stands for null in memory."""


class Texts(Struct, frozen=True):
    """Text that repeats, each once and by number."""

    values: Sequence[str]
    number: U32
    """Of each row."""

    def __len__(self) -> int:
        return len(self.number)

    @staticmethod
    def of(rows: Sequence[str]) -> Texts:
        numbers = numbering()
        number = np.fromiter(map(numbers.__getitem__, rows), np.uint32, len(rows))
        return Texts(tuple(numbers), number)


def numbering() -> defaultdict[str, int]:
    """Texts by number, as they come first: asking for a new one numbers it."""
    return defaultdict(count().__next__)


Column: TypeAlias = Array | Sequence[str] | Texts
