"""The events of a view column by column: of thousands of execs only what is asked for is decoded.

A busy node makes ten execs and exits a second, 400,000 in twelve hours. To make an `Event` of each
takes 10 s; to look at their kinds takes 0.2 s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.store import layout
from exhume.store.files import DamagedFileError, read_checked
from exhume.store.segment import Segment
from exhume.store.view import SegmentView

Load = Callable[[str], "list[Any]"]
"""A column of events.parquet by its name, for the chosen rows; None where a reading is absent."""


class EventRows:
    """Some events of a view: columns of one length, each decoded when it is first asked for."""

    def __init__(self, length: int, start_ns: int, load: Load) -> None:
        self._length = length
        self._start_ns = start_ns
        self._load = load

    def __len__(self) -> int:
        return self._length

    @cached_property
    def time_ns(self) -> I64:
        """Monotonic."""
        return np.array(self._load("time"), np.int64) + self._start_ns

    @cached_property
    def kind(self) -> list[str]:
        return self._load("kind")

    @cached_property
    def subject(self) -> list[str]:
        return self._load("subject")

    @cached_property
    def count(self) -> list[int]:
        return self._load("count")

    @cached_property
    def fields(self) -> list[str]:
        """JSON, or nothing."""
        return self._load("fields")

    @cached_property
    def pid(self) -> list[int | None]:
        return self._load("pid")

    @cached_property
    def _rest(self) -> tuple[list[str], list[int | None]]:
        return self._load("text"), self._load("core")

    def event(self, row: int) -> Event:
        text, core = self._rest
        return Event(
            int(self.time_ns[row]),
            self.kind[row],
            self.subject[row],
            text[row],
            core[row],
            self.pid[row],
            self.count[row],
            decoded(self.fields[row]),
        )


def event_rows(
    view: SegmentView, kinds: Collection[str] = (), besides: Collection[str] = ()
) -> EventRows:
    """Those of some kinds, or all but some. Raises DamagedFileError where they can't be read."""

    def wanted(kind: str) -> bool:
        return kind not in besides and (not kinds or kind in kinds)

    if not isinstance(view, Segment):
        return _of_events([event for event in view.events() if wanted(event.kind)])
    reader = arrow_parquet.ParquetReader()
    data = _bytes(view)

    def column(name: str) -> pa.ChunkedArray[Any]:
        try:
            place = reader.schema_arrow.names.index(name)
            return reader.read_all(column_indices=[place], use_threads=False).column(0)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(view, f"a table of events ({error})") from error

    try:
        reader.open(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(view, f"a table of events ({error})") from error
    here = _rows_of(column("kind"), wanted)
    return EventRows(len(here), view.start_ns, lambda name: column(name).take(here).to_pylist())


def _rows_of(kinds: pa.ChunkedArray[Any], wanted: Callable[[str], bool]) -> NDArray[np.int64]:
    """Text is compared once a distinct kind, not once a row."""
    chosen: list[NDArray[np.bool_]] = [np.empty(0, np.bool_)]
    for chunk in kinds.chunks:
        coded: Any = chunk.dictionary_encode()
        good = np.array([wanted(name) for name in coded.dictionary.to_pylist()], np.bool_)
        chosen.append(good[coded.indices.to_numpy()] if len(coded) else np.empty(0, np.bool_))
    return np.flatnonzero(np.concatenate(chosen))


@lru_cache(maxsize=65_536)
def decoded(fields: str) -> dict[str, str | int | float]:
    """Not to be changed: events with the same fields share it."""
    try:
        found = json.loads(fields) if fields else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _of_events(events: Sequence[Event]) -> EventRows:
    columns: dict[str, Callable[[Event], Any]] = {
        "time": lambda event: event.time_ns,
        "kind": lambda event: event.kind,
        "subject": lambda event: event.subject,
        "text": lambda event: event.text,
        "core": lambda event: event.core,
        "pid": lambda event: event.pid,
        "count": lambda event: event.count,
        "fields": lambda event: json.dumps(dict(event.fields)) if event.fields else "",
    }
    return EventRows(len(events), 0, lambda name: list(map(columns[name], events)))


def _bytes(segment: Segment) -> bytes:
    facts = segment.meta.files.get(layout.EVENTS)
    if facts is None:
        raise _damaged(segment, f"to be named in {layout.META}")
    try:
        return read_checked(segment.path / layout.EVENTS, facts.bytes, facts.crc32)
    except DamagedFileError as error:
        segment.problems.setdefault(layout.EVENTS, error.what)
        raise


def _damaged(segment: Segment, expected: str) -> DamagedFileError:
    error = DamagedFileError(str(segment.path / layout.EVENTS), "whole file", expected)
    segment.problems.setdefault(layout.EVENTS, error.what)
    return error
