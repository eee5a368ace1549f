"""Sets as arrays: numpy's own load its masked arrays first, 10 ms of a command's start."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exhume.model.arrays import Bool

Scalar = TypeVar("Scalar", bound=np.generic)


def distinct(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Each once, in order."""
    ordered = np.sort(values, axis=None)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def is_in(values: NDArray[Any], among: NDArray[Any]) -> Bool:
    """Of each value, whether it is one of those."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    known = distinct(among)
    place = np.searchsorted(known, values)
    place[place == len(known)] = 0
    return np.asarray(known[place] == values, np.bool_)
