"""Local times of a zone that was told, on one axis: as if its clocks had never been changed."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache

NS = 1_000_000_000
_STEP_S = 900
"""Clocks are changed at whole quarters of an hour."""


class ZoneAxis:
    """Summer time begins and ends at night, when most logs of a night run.

    A time keeps the distance from UTC that the axis has; of the hour that comes twice, it is where
    the time before it says.
    """

    def __init__(self, zone: tzinfo, east_s: int | None = None) -> None:
        self._zone = zone
        self._last_s: int | None = None
        """UTC, of the time before."""
        self.east_s = east_s
        """Its distance from UTC; where none is given, that of the first time."""

    def at(self, local_s: int) -> int:
        early, late = (local_s - east_s for east_s in _easts(self._zone, local_s // _STEP_S))
        if self.east_s is None:
            self.east_s = local_s - early
        is_late = self._last_s is not None and abs(late - self._last_s) < abs(early - self._last_s)
        self._last_s = late if is_late else early
        return self._last_s + self.east_s

    def at_ns(self, local_ns: int) -> int:
        return self.at(local_ns // NS) * NS + local_ns % NS


def east_s(zone: tzinfo, local_s: int) -> int:
    """How far from UTC it is then."""
    return _easts(zone, local_s // _STEP_S)[0]


@lru_cache(maxsize=256)
def _easts(zone: tzinfo, step: int) -> tuple[int, int]:
    """Seconds east of UTC then, the first and the second time that such a time comes."""
    local = datetime.fromtimestamp(step * _STEP_S, UTC).replace(tzinfo=None)
    found = [zone.utcoffset(local.replace(fold=fold)) for fold in (0, 1)]
    first, second = (round(east.total_seconds()) if east else 0 for east in found)
    return first, second
