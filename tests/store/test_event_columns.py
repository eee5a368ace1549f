from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.event import Event
from exhume.store.column_types import NULL, Texts
from exhume.store.event_columns import EventColumns

TEXTS = st.text(max_size=3) | st.sampled_from(["\udc80", "null"])
NUMBERS = st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False)
EVENTS = st.lists(
    st.builds(
        Event,
        st.integers(0, 1 << 40),
        st.sampled_from(["exec", "exit", "kernel-log"]),
        st.text(max_size=5),
        st.text(max_size=5),
        st.none() | st.integers(0, 255),
        st.none() | st.integers(0, 1 << 22),
        st.integers(1, 1000),
        st.dictionaries(TEXTS, TEXTS | NUMBERS, max_size=3),
    ),
    max_size=20,
)


def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    lists = {
        name: [column.values[n] for n in column.number]
        if isinstance(column, Texts)
        else column.tolist()
        for name, column in columns.items()
    }
    lists["fields"] = [json.loads(text) if text else {} for text in lists["fields"]]
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def row_of(event: Event, start_ns: int) -> dict[str, Any]:
    return {
        "time": event.time_ns - start_ns,
        "kind": event.kind,
        "subject": event.subject,
        "text": event.text,
        "core": NULL if event.core is None else event.core,
        "pid": NULL if event.pid is None else event.pid,
        "count": event.count,
        "fields": dict(event.fields),
    }


@given(EVENTS, EVENTS)
@settings(deadline=None, max_examples=60)
def test_events_are_told_as_they_came_or_in_order_of_time(
    some: list[Event], more: list[Event]
) -> None:
    held = EventColumns()
    held.extend(some)
    held.extend(more)
    events = [*some, *more]
    assert len(held) == len(events)
    assert rows(held.columns(5)) == [row_of(event, 5) for event in events]
    by_time = sorted(events, key=lambda event: event.time_ns)
    assert rows(held.columns(5, by_time=True)) == [row_of(event, 5) for event in by_time]
    assert held.columns(5)["count"].dtype == np.int32  # type: ignore[union-attr]


def test_a_number_that_is_none_stays_one() -> None:
    held = EventColumns()
    held.extend([Event(0, "exec", "x", fields={"a": float("nan"), "b": 1})])
    assert str(rows(held.columns(0))[0]["fields"]) == "{'a': nan, 'b': 1}"
