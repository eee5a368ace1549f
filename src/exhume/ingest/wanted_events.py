"""Which of an input's events its samples are taken of: one measure, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from exhume.errors import ParseError
from exhume.perf import eventnames

_DUMMY = "dummy"
_SHOWN = 8
_FEW_OF = 10


class Wanted(Struct, frozen=True):
    measure: str
    """Their plain name; empty where there is none."""
    names: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.names


NONE = Wanted("", frozenset())


def choose(events: Mapping[str, str], asked: str) -> Wanted:
    """`events`: the plain name of each. `asked`: by the user; else what measures time best."""
    if not asked:
        real = [name for name in events if events[name] != _DUMMY] or list(events)
        if not real:
            return NONE
        best = events[min(real, key=lambda name: eventnames.preference(events[name]))]
        return Wanted(best, _alike(events, best))
    if asked in events:
        return Wanted(events[asked], frozenset((asked,)))
    for name, plain in events.items():
        if eventnames.plain(asked) in (eventnames.plain(name), plain, plain.rpartition(":")[2]):
            return Wanted(plain, _alike(events, plain))
    return Wanted(asked, frozenset())


def _alike(events: Mapping[str, str], plain: str) -> frozenset[str]:
    return eventnames.without_overlaps(name for name in events if events[name] == plain)


def instead(measure: str, seen: int, others: Mapping[str, int]) -> str:
    """The event to take instead of one with so few samples; empty where it stays.

    What measures time stays if it was hit at all. Of others the first that perf was told of does,
    but of `-e 'sched:*'` that is any.
    """
    most = max(others, key=others.__getitem__, default="")
    if not most or (seen and eventnames.is_time_like(measure)):
        return ""
    return most if seen * _FEW_OF < others[most] or not seen else ""


def none_such(path: str, asked: str, events: Iterable[str]) -> ParseError:
    """Nothing of the input is of the event that was asked for."""
    names = list(events)
    if not names:
        todo = "the file ends before any: it was cut off, or perf was; copy it, or record again"
        return ParseError(path, "its events", "a description of them", todo=todo)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    there = f"it has {', '.join(names[:_SHOWN])}{more}"
    return ParseError(path, "its events", f"{asked}, which --event asks for", todo=there)
