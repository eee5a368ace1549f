"""One tick of one field: what a source hands to the recorder, which makes a `Block` of ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64
from exhume.model.series import MISSING


class Reading(Struct, frozen=True):
    field: str
    """Id in the catalogue, `model.fields`."""
    instances: tuple[str, ...]
    """What the field was read of: core numbers, devices; `("",)` for the whole node."""
    values: I64
    """Shape (instances,): as the kernel gave them; MISSING where it gave none."""

    @staticmethod
    def of_node(field: str, value: int | None) -> Reading:
        return Reading(field, ("",), np.array([MISSING if value is None else value], np.int64))

    @staticmethod
    def of_nodes(values: Mapping[str, int | None]) -> tuple[Reading, ...]:
        """Several fields of the whole node; one array for all of them is made in no time."""
        filled = [MISSING if value is None else value for value in values.values()]
        array = np.array(filled, np.int64)
        return tuple(Reading(one, ("",), array[i : i + 1]) for i, one in enumerate(values))

    @staticmethod
    def of_each(field: str, instances: tuple[str, ...], values: Sequence[int | None]) -> Reading:
        filled = [MISSING if value is None else value for value in values]
        return Reading(field, instances, np.array(filled, np.int64))
