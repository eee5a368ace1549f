"""Events whose samples can't be told apart: they do not say of which they are, or each elsewhere.

perf writes an id into samples where there are several events, since 3.12 at one place in all
(PERF_SAMPLE_IDENTIFIER). Before, it refused to record events of different layouts together; who
else writes such files may not.
"""

from __future__ import annotations

from collections.abc import Sequence

from exhume.errors import ParseError
from exhume.perf.attr import COUNT_SW_DUMMY, Attr, EventType, SampleType
from exhume.perf.datafile import PerfEvent

_BEFORE_ID = (SampleType.IP, SampleType.TID, SampleType.TIME, SampleType.ADDR)
_SHOWN = 8


def note(events: Sequence[PerfEvent]) -> str:
    """Of events that are laid out alike; empty where samples say of which they are."""
    real = _with_samples(events)
    if _are_told_apart(real):
        return ""
    return (
        f"its samples do not say of which of its events they are ({_listed(real)}): all count as "
        f"{events[0].name}"
    )


def refused(path: str, events: Sequence[PerfEvent]) -> ParseError | None:
    """Where samples of one would be read by the layout of another, as perf refuses to."""
    real = _with_samples(events)
    if _are_told_apart(real) or len({bytes(event.attr.layout()) for event in real}) < 2:
        return None
    return ParseError(
        path, "its events", f"samples that say of which they are ({_listed(real)})",
        todo="they are laid out differently and can't be read: record one event at a time, or "
        "with --sample-identifier",
    )  # fmt: skip


def _with_samples(events: Sequence[PerfEvent]) -> list[PerfEvent]:
    """A dummy only listens: what it is laid out like does not matter."""
    dummy = (EventType.SOFTWARE, COUNT_SW_DUMMY)
    return [one for one in events if (one.attr.type, one.attr.config) != dummy]


def _are_told_apart(events: Sequence[PerfEvent]) -> bool:
    if len(events) < 2:
        return True
    places = {_id_place(event.attr) for event in events}
    return len(places) == 1 and None not in places and all(event.ids for event in events)


def _id_place(attr: Attr) -> int | None:
    """How many words stand before the id in a sample; None where it has none."""
    if attr.sample_type & SampleType.IDENTIFIER:
        return 0
    if not attr.sample_type & SampleType.ID:
        return None
    return sum(bool(attr.sample_type & bit) for bit in _BEFORE_ID)


def _listed(events: Sequence[PerfEvent]) -> str:
    more = f" and {len(events) - _SHOWN} more" if len(events) > _SHOWN else ""
    return ", ".join(event.name for event in events[:_SHOWN]) + more
