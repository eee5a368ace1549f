"""Counters by name, of which only so many are shown; the rest is one sum. Pure.

A shown counter never falls, and neither does the sum. So a name that earns a place late begins to
be counted by itself from then on (what it had before stays in the sum), and one that loses its
place and gets it back goes on where it stood. What it gained since anybody was told goes to the
sum, so that every rise is told of once.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

Name = TypeVar("Name")
MAX_KNOWN = 2000
"""Names that are told apart. Beyond that a new one only adds to the sum."""
_TAKES_OVER = 2
"""How many times the least of the shown one must have to take its place: places change seldom."""


class _Count(Struct):
    total: float = 0.0
    shown: float = 0.0
    told: float = 0.0
    """What was shown when somebody last asked."""
    is_shown: bool = False


class TopCounter(Generic[Name]):
    def __init__(self, limit: int, always: tuple[Name, ...] = ()) -> None:
        """`always`: shown from the start, as 0, so that the first event is a rise."""
        self._limit = limit
        self._counts: dict[Name, _Count] = {name: _Count(is_shown=True) for name in always}
        self._shown: set[Name] = set(always)
        self.rest = 0.0

    def add(self, name: Name, amount: float) -> None:
        if amount <= 0:
            return
        count = self._counts.get(name)
        if count is None:
            if len(self._counts) >= MAX_KNOWN:
                self.rest += amount
                return
            count = self._counts[name] = _Count()
        count.total += amount
        if count.is_shown or self._takes_place(name, count):
            count.shown += amount
        else:
            self.rest += amount

    def tell(self) -> dict[Name, float]:
        found: dict[Name, float] = {}
        for name, count in self._counts.items():
            if count.is_shown:
                found[name] = count.told = count.shown
        return found

    def _takes_place(self, name: Name, count: _Count) -> bool:
        if len(self._shown) >= self._limit:
            least = min(self._shown, key=lambda one: self._counts[one].total)
            if count.total <= _TAKES_OVER * self._counts[least].total:
                return False
            self._drop(least)
        count.is_shown = True
        self._shown.add(name)
        return True

    def _drop(self, name: Name) -> None:
        count = self._counts[name]
        self.rest += count.shown - count.told
        count.shown, count.is_shown = count.told, False
        self._shown.discard(name)


def largest(values: dict[str, float], limit: int) -> tuple[dict[str, float], float]:
    """Of gauges: the largest, and the sum of the rest."""
    order = sorted(values, key=lambda name: (-values[name], name))
    return {name: values[name] for name in order[:limit]}, sum(values[n] for n in order[limit:])
