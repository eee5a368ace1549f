"""What a reader makes of one input: samples, counters or events, on whatever clock it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from typing import Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive.cron_lines import is_by_cron
from exhume.derive.sets import distinct
from exhume.ingest.boot_marks import NO_MARKS, Marks
from exhume.ingest.row_table import SLOT_NS, RowTable
from exhume.model.arrays import U64
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.model.series import Block
from exhume.model.stack import StackTree

NO_SKETCH: U64 = np.empty(0, np.uint64)
_MOST_BETWEEN = 5
"""Slots without a reading, between two that may still tell of them."""


class ClockKind(Enum):
    WALL = "wall"
    """Nanoseconds since 1970."""
    KERNEL_LOG = "kernel-log"
    """perf's own clock and the kernel log's, which are one: all pieces of a boot share it."""
    OWN = "own"
    """Some other clock that counts from somewhere; only this piece is known to be on it."""


class Trust(IntEnum):
    """How good a claim about a clock's wall time is. Of two the higher one counts."""

    NONE = 0
    """For want of anything better: whatever else is known of that clock counts."""
    FILE_TIME = 10
    """When the file was last written, or copied: may be years off."""
    HARDWARE_CLOCK = 20
    """What the hardware clock said at boot: right to the second, or off by a time zone."""
    FILE_NAME = 30
    """When the recording was started, by whoever named the file: a second or two off."""
    BOOT_TIME = 40
    """The kernel said when it booted, to the second."""
    LOAD = 45
    """Samples and counters tell of the same load then: as right as the counters' times, which may
    be whole seconds."""
    UPTIME = 50
    """Wall time and uptime were noted together; perf's clock starts some 50 ms off uptime."""
    MEASURED = 60
    """Both clocks were read at one instant while it was recorded."""
    TOLD = 70
    """By the user."""


class Claim(Struct, frozen=True):
    """What a piece knows about its clock: wall time minus the clock's own."""

    offset_ns: int
    trust: Trust
    how: str
    """For the user: where that comes from."""
    is_local: bool = False
    """By a local time that does not say its zone, taken as UTC so far."""


class Hints(Struct, frozen=True):
    """Which machine it comes from, as far as the input says."""

    node: str = ""
    kernel: str = ""
    architecture: str = ""
    cores: int | None = None
    command: str = ""
    boot: Marks = NO_MARKS
    zone_ns: int | None = None
    """What takes the node's local times to wall time, where its own logs tell."""
    booted_ns: int | None = None
    """When its kernel booted, by local times that don't say their zone."""


class Interval(Struct, frozen=True):
    """From when to when samples of which event were taken, and how often."""

    start_ns: int
    end_ns: int
    event: str
    rate_hz: float
    cores: tuple[int, ...] = ()
    """Those that were watched, idle ones too; empty where that is not known."""


class Sampled(Struct, frozen=True):
    rows: RowTable
    tree: StackTree
    threads: Threads
    intervals: tuple[Interval, ...]
    sketch: U64 = field(default_factory=lambda: NO_SKETCH)
    """A small fingerprint of when and where samples were taken: the same for the same samples."""


class Facts(Struct, frozen=True):
    """What the user is told about an input, besides what can be asked of the recording."""

    samples: int = 0
    """In the input, whether kept or not."""
    idle: int = 0
    """Of the idle loop itself: not kept, as in any recording."""
    other_events: dict[str, int] = field(default_factory=dict)
    """Samples of events that were left out, by event."""
    cores: tuple[int, ...] = ()
    named_ratio: float = 1.0
    """How many of the frames have names."""
    notes: tuple[str, ...] = ()
    """What is good to know, and nothing is wrong with."""
    problems: tuple[str, ...] = ()
    """What could not be read, with its place in the input."""


class Piece(Struct, frozen=True):
    """Any of its three kinds of content may be absent. Times are of `clock`."""

    hints: Hints
    clock: ClockKind
    claim: Claim | None
    """None where the piece is on wall time, or knows nothing of it."""
    sampled: Sampled | None = None
    blocks: tuple[Block, ...] = ()
    events: tuple[Event, ...] = ()
    facts: Facts = field(default_factory=Facts)
    is_filler: bool = False
    """Its counters are sums of percentages: they count only where nobody else's are."""
    guesses: tuple[Claim, ...] = ()
    """What else may hold, where the claim is a guess: the one that meets other inputs does."""
    told_ns: tuple[int, int] | None = None
    """From when to when it tells anything, though nothing that is worth an event: a log, or who
    only tells of a clock."""
    edge: Literal["", "start", "end"] = ""
    """By its name, taken at the start or the end of whatever the other inputs tell of."""

    def sampled_ns(self) -> tuple[int, int] | None:
        """From when to when samples were taken."""
        found = self.sampled.intervals if self.sampled else ()
        return (min(i.start_ns for i in found), max(i.end_ns for i in found)) if found else None

    def slots(self) -> tuple[int, ...]:
        """The ten minutes of its clock that it says anything about, by number."""
        found = set(self.sampled.rows.slots) if self.sampled else set()
        if not found and (sampled := self.sampled_ns()) is not None:
            found.add(sampled[0] // SLOT_NS)  # all idled, which is worth knowing
        found.update(event.time_ns // SLOT_NS for event in self.events if not is_by_cron(event))
        for block in self.blocks:
            slots = distinct(block.tick_ns // SLOT_NS)
            found.update(slots.tolist())
            # Readings half an hour apart tell of the ten minutes between them, too.
            for number in np.flatnonzero(np.diff(slots) > 1).tolist():
                between = range(int(slots[number]) + 1, int(slots[number + 1]))
                found.update(between if len(between) <= _MOST_BETWEEN else ())
        return tuple(sorted(found))

    def cron_slots(self) -> tuple[int, ...]:
        """Those of which it says what cron started, and nothing else."""
        found = {event.time_ns // SLOT_NS for event in self.events if is_by_cron(event)}
        return tuple(sorted(found.difference(self.slots()))) if found else ()

    def span_ns(self) -> tuple[int, int] | None:
        """First and last instant of its clock that it says anything about."""
        sampled = self.sampled_ns()
        found = [sampled] if sampled else []
        found += [
            (int(b.tick_ns.min()), int(b.tick_ns.max())) for b in self.blocks if len(b.tick_ns)
        ]
        if times := [event.time_ns for event in self.events]:
            found.append((min(times), max(times)))
        return (min(f[0] for f in found), max(f[1] for f in found)) if found else None


def clock_pieces(claims: Iterable[tuple[Claim, int]]) -> list[Piece]:
    """What an input says of the kernel's clock, boot by boot, and how far that counted."""
    return [
        Piece(Hints(), ClockKind.KERNEL_LOG, claim, told_ns=(0, until_ns))
        for claim, until_ns in claims
    ]


def with_facts(pieces: Sequence[Piece], facts: Facts) -> Iterator[Piece]:
    """What only shows when all is read is told with the last of them, if need be an empty one."""
    *before, last = pieces or [Piece(Hints(), ClockKind.KERNEL_LOG, None)]
    yield from before
    yield replace(last, facts=facts)
