"""Follows a recording as it is written: each second once, at the cost of what is new.

Head logs are read from where the last look ended. A stretch that became a segment before anybody
looked is taken from there, so that nothing is missed between two looks ten minutes apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from exhume.errors import ExhumeError, ParseError
from exhume.model.clock import ClockPair
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.segment import Origin
from exhume.model.series import MISSING
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from exhume.store.layout import segments_path, wall_ns_of_name
from exhume.store.segment import Segment
from exhume.store.ticks import decode_row, readings_of

MAX_SEGMENTS = 6
"""That one look catches up with: an hour. What was before stays uncounted."""


class Second(Struct, frozen=True):
    origin: Origin
    end_ns: int
    wall_ns: int
    """Of its end."""
    readings: tuple[Reading, ...]
    events: tuple[Event, ...]
    wall_offset_ns: int
    """From the events' clock to wall time."""


class _Place(Struct):
    """Up to where a head log was read, and what the rest of it builds on."""

    offset: int = 0
    origin: Origin | None = None
    wall_offset_ns: int | None = None
    instances: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Tail:
    """Of these fields and kinds of events. What is in segments at the first look is left out."""

    def __init__(self, root: Path, fields: Collection[str], kinds: Collection[str]) -> None:
        self._root = root
        self._fields = frozenset(fields)
        self._kinds = frozenset(kinds)
        self._places: dict[str, _Place] = {}
        self._segments: frozenset[str] | None = None
        self._boot = ""
        self._end_ns = 0

    def read(self) -> list[Second]:
        """What was recorded since the last look, oldest first."""
        # Heads are listed first: one that is closed meanwhile is then seen twice, and told apart.
        heads = head_files(self._root)
        found = [second for name in self._new_segments() for second in self._of_segment(name)]
        for path in heads:
            found.extend(self._of_head(path))
        known = {path.name for path in heads}
        self._places = {name: place for name, place in self._places.items() if name in known}
        return found

    def newest_segment_wall_ns(self) -> int | None:
        """When the last stretch that is closed began."""
        return max((wall_ns_of_name(name) or 0 for name in self._present()), default=None)

    def _present(self) -> frozenset[str]:
        try:
            names = [entry.name for entry in segments_path(self._root).iterdir()]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            names = []
        return frozenset(name for name in names if wall_ns_of_name(name) is not None)

    def _new_segments(self) -> list[str]:
        present = self._present()
        before = present if self._segments is None else self._segments
        self._segments = present
        return sorted(present - before)[-MAX_SEGMENTS:]

    def _is_new(self, boot: str, end_ns: int) -> bool:
        if boot != self._boot:
            self._boot, self._end_ns = boot, end_ns
            return True
        if end_ns <= self._end_ns:
            return False
        self._end_ns = end_ns
        return True

    def _of_head(self, path: Path) -> Iterator[Second]:
        place = self._places.setdefault(path.name, _Place())
        try:
            head = HeadFile(path, place.offset)
        except (FileNotFoundError, ExhumeError):
            return  # closed meanwhile: the segment has it; or a newer version's
        for frame in head.frames:
            place.offset = frame.offset + frame.length
            if frame.kind not in (FrameKind.ORIGIN, FrameKind.CLOCK, FrameKind.TICK):
                continue
            try:
                columns = head.read(frame)
                values = columns.values
                if frame.kind == FrameKind.ORIGIN:
                    place.origin = Origin(**values)
                elif frame.kind == FrameKind.CLOCK:
                    place.wall_offset_ns = ClockPair(**values).offset_ns
                else:
                    layout, row = decode_row(columns, place.instances)
                    told = values.get("events", ())
                    events = tuple(Event(**one) for one in told if one["kind"] in self._kinds)
            except (ParseError, TypeError, KeyError):
                continue  # damaged: it costs this second
            if frame.kind != FrameKind.TICK or place.origin is None or place.wall_offset_ns is None:
                continue
            if not self._is_new(place.origin.boot_id, frame.end_ns):
                continue
            wanted = tuple(one for one in readings_of(layout, row) if one.field in self._fields)
            offset = place.wall_offset_ns
            yield Second(place.origin, frame.end_ns, frame.end_ns + offset, wanted, events, offset)

    def _of_segment(self, name: str) -> Iterator[Second]:
        """Only of the boot that we follow: anything may be imported into a directory."""
        try:
            segment = Segment(segments_path(self._root) / name)
            if segment.origin.boot_id != self._boot or segment.end_ns <= self._end_ns:
                return
            yield from self._seconds(segment)
        except ExhumeError:
            return  # damaged, or gone already: it costs this stretch

    def _seconds(self, segment: Segment) -> Iterator[Second]:
        readings: dict[int, list[Reading]] = {}
        for field_id in sorted(self._fields.intersection(segment.fields())):
            for block in segment.blocks(field_id):
                for row in np.flatnonzero(block.tick_ns > self._end_ns).tolist():
                    values = block.values[row]
                    known = np.flatnonzero(values != MISSING)
                    if len(known):
                        names = tuple(block.instances[column] for column in known.tolist())
                        one = Reading(field_id, names, values[known])
                        readings.setdefault(int(block.tick_ns[row]), []).append(one)
        since = self._end_ns
        events: dict[int, list[Event]] = {}
        ends = sorted(readings)
        if not ends:
            return
        for event in segment.events():
            if event.kind in self._kinds and event.time_ns > since:
                at = min(int(np.searchsorted(ends, event.time_ns)), len(ends) - 1)
                events.setdefault(ends[at], []).append(event)
        for end_ns in ends:
            if self._is_new(segment.origin.boot_id, end_ns):
                wall_ns = segment.clock.wall(end_ns)
                yield Second(
                    segment.origin,
                    end_ns,
                    wall_ns,
                    tuple(readings[end_ns]),
                    tuple(events.get(end_ns, ())),
                    wall_ns - end_ns,
                )
