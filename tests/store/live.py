"""A recording as a recorder would be writing it, one second at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from exhume.host import Host
from exhume.model.clock import ClockPair
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.sample import Stretch
from exhume.model.segment import Origin
from exhume.record.close import close_heads
from exhume.record.head import Head
from exhume.store.headlog import FrameKind
from exhume.store.layout import heads_path
from exhume.store.ticks import encode_tick
from tests.store.test_ticks import EMPTY

SECOND = 1_000_000_000
WALL_NS = 1_700_000_000 * SECOND
ORIGIN = Origin("node-7", "0b00t1d0", "6.8.0", "x86_64", 100, "exhume test")


@dataclass
class Live:
    data: Path
    origin: Origin = ORIGIN
    wall_ns: int = WALL_NS
    """When the monotonic clock was 0."""
    now_ns: int = 100 * SECOND
    _head: Head = field(init=False)
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        heads_path(self.data).mkdir(parents=True, exist_ok=True)
        self._head = Head(heads_path(self.data), self.origin, lambda _: False)
        self.rotate()

    def rotate(self) -> None:
        self._known.clear()
        pair = ClockPair(self.now_ns, self.wall_ns + self.now_ns)
        self._head.rotate(pair, Stretch(self.now_ns, "none", 0.0))

    def close_old_logs(self) -> None:
        assert close_heads(self.data, self._head.name, Host()) == []

    def second(self, *readings: Reading, events: Sequence[Event] = (), seconds: int = 1) -> None:
        start, self.now_ns = self.now_ns, self.now_ns + seconds * SECOND
        tick = replace(EMPTY, start_ns=start, end_ns=self.now_ns, readings=readings, events=events)
        columns = encode_tick(tick, self._known)
        self._head.write(FrameKind.TICK, start, self.now_ns, columns)

    @property
    def head_path(self) -> Path:
        return heads_path(self.data) / self._head.name


def event(at_ns: int, kind: str, subject: str = "", **fields: str | int | float) -> Event:
    return Event(at_ns, kind, subject, fields=fields)
