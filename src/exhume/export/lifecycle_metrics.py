"""Restarts of units and containers, and which of them are in a crash loop now."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from exhume.derive import units
from exhume.derive.loops import WITHIN_NS
from exhume.derive.top_counter import TopCounter, largest
from exhume.export import metric_list as m
from exhume.export.prometheus import Family, clean
from exhume.model.answers import EventAnswer
from exhume.model.arrays import I64
from exhume.model.lifecycles import Lifecycle, no_lives
from exhume.model.reading import Reading
from exhume.store.tail import Second

_FIELDS = {"unit.restarts": "unit", "container.restarts": "container"}
_MAX_EVENTS = 20_000


class LifecycleMetrics:
    FIELDS = frozenset(_FIELDS)
    KINDS = frozenset({"unit-start", "unit-failed", "container-start", "container-exit"})

    def __init__(self) -> None:
        self._restarts = {kind: TopCounter[str](m.TOP) for kind in _FIELDS.values()}
        self._events: deque[EventAnswer] = deque(maxlen=_MAX_EVENTS)
        self._gained: deque[tuple[int, str, str, int]] = deque(maxlen=_MAX_EVENTS)
        """When, kind, name, how many restarts."""

    def add(
        self,
        second: Second,
        readings: Mapping[str, Reading],
        rises: Mapping[str, I64],
        *,
        is_counted: bool,
    ) -> None:
        for field, kind in _FIELDS.items():
            if field not in rises:
                continue
            for index in rises[field].nonzero()[0].tolist():
                name, gained = readings[field].instances[index], int(rises[field][index])
                self._gained.append((second.wall_ns, kind, name, gained))
                if is_counted:
                    self._add_restarts(kind, clean(name), gained)
        for event in second.events:
            if event.kind in self.KINDS:
                self._events.append(
                    EventAnswer(
                        event.time_ns + second.wall_offset_ns, event.kind, event.subject,
                        event.text, event.core, event.pid, event.count, dict(event.fields),
                    )
                )  # fmt: skip

    def _add_restarts(self, kind: str, name: str, gained: int) -> None:
        if name == m.OTHER:
            self._restarts[kind].rest += gained
        else:
            self._restarts[kind].add(name, gained)

    def counters(self) -> Iterable[Family]:
        values: dict[tuple[str, ...], float] = {}
        for kind, counts in self._restarts.items():
            values |= {(kind, name): value for name, value in counts.tell().items()}
            values[kind, m.OTHER] = counts.rest
        yield Family(m.RESTARTS, values)

    def gauges(self, now_wall_ns: int) -> Iterable[Family]:
        looping = [one for one in self._lifecycles(now_wall_ns) if one.mark == "crash loop"]
        count = Counter(one.kind for one in looping)
        yield Family(m.LOOPS, {(kind,): count[kind] for kind in ("unit", "container")})
        values: dict[tuple[str, ...], float] = {}
        for kind in ("unit", "container"):
            starts: dict[str, float] = {}
            for one in looping:
                if one.kind == kind:
                    starts[clean(one.name)] = starts.get(clean(one.name), 0) + one.starts
            rest = starts.pop(m.OTHER, 0)
            top, others = largest(starts, m.TOP)
            values |= {(kind, name): value for name, value in top.items()}
            if others + rest:
                values[kind, m.OTHER] = others + rest
        yield Family(m.LOOP_STARTS, values)

    def _lifecycles(self, now_wall_ns: int) -> list[Lifecycle]:
        """By the rules of `exhume units`, over the last ten minutes."""
        since = now_wall_ns - WITHIN_NS
        while self._gained and self._gained[0][0] < since:
            self._gained.popleft()
        while self._events and self._events[0].wall_ns < since:
            self._events.popleft()
        restarts: dict[str, Counter[str]] = {kind: Counter() for kind in _FIELDS.values()}
        for _, kind, name, gained in self._gained:
            restarts[kind][name] += gained
        events = [event for event in self._events if event.wall_ns >= since]
        seconds = WITHIN_NS / 1e9
        found = units.of_units(events, restarts["unit"], no_lives(), seconds)
        return found + units.of_containers(events, restarts["container"], seconds)
