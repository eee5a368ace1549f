"""Events on their way into a segment, as columns: an object with a dictionary each takes more."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.store.column_types import NULL, Column, Texts, numbering

_encode = msgspec.json.Encoder().encode


class _TextColumn:
    def __init__(self) -> None:
        self._numbers = numbering()
        self._rows = array("I")

    def extend(self, texts: Iterable[str]) -> None:
        self._rows.extend(map(self._numbers.__getitem__, texts))

    def column(self, order: I64) -> Texts:
        return Texts(tuple(self._numbers), np.frombuffer(self._rows, np.uint32)[order])


class EventColumns:
    def __init__(self) -> None:
        self._time, self._core, self._pid, self._count = (array("q") for _ in range(4))
        self._kind, self._subject, self._text, self._fields = (_TextColumn() for _ in range(4))

    def __len__(self) -> int:
        return len(self._time)

    def extend(self, events: Sequence[Event]) -> None:
        self._time.extend([event.time_ns for event in events])
        self._core.extend([NULL if event.core is None else event.core for event in events])
        self._pid.extend([NULL if event.pid is None else event.pid for event in events])
        self._count.extend([event.count for event in events])
        self._kind.extend([event.kind for event in events])
        self._subject.extend([event.subject for event in events])
        self._text.extend([event.text for event in events])
        self._fields.extend([_json(event.fields) if event.fields else "" for event in events])

    def columns(self, start_ns: int, *, by_time: bool = False) -> dict[str, Column]:
        """As they came, or in order of time, which counts from `start_ns`."""
        time = np.frombuffer(self._time, np.int64)
        order = np.argsort(time, kind="stable") if by_time else np.arange(len(time))
        return {
            "time": time[order] - start_ns,
            "kind": self._kind.column(order),
            "subject": self._subject.column(order),
            "text": self._text.column(order),
            "core": np.frombuffer(self._core, np.int64)[order],
            "pid": np.frombuffer(self._pid, np.int64)[order],
            "count": np.frombuffer(self._count, np.int64)[order].astype(np.int32),
            "fields": self._fields.column(order),
        }


def _json(fields: Mapping[str, str | int | float]) -> str:
    try:
        text = _encode(dict(fields)).decode()
    except UnicodeEncodeError:
        text = "null"
    # Lone surrogates, and numbers that are none, which it writes as null: Python's own knows them.
    return json.dumps(dict(fields)) if "null" in text else text
