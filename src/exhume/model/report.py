"""A case with the pictures of it: what a report that is sent to somebody shows."""

from __future__ import annotations

from msgspec import Struct

from exhume.model.answers import CoreMap, FlameTree
from exhume.model.arrays import I64
from exhume.model.case import Case


class ZombieCurve(Struct, frozen=True):
    wall_ns: I64
    counts: I64


class Report(Struct, frozen=True):
    case: Case
    cores: CoreMap | None
    """Around the symptom, or the whole window where there is none; None without times of cores."""
    flame: FlameTree | None
    """The symptom's seconds on its core; None where there are no samples of them."""
    flame_core: int | None
    """None: of all cores, since the symptom's is not known."""
    hot: tuple[str, ...]
    """Functions that the evidence names: to be marked in the flame graph."""
    zombies: ZombieCurve | None
    """Where dead cgroups play a part."""
