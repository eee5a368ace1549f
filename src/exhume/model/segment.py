"""A stretch of recorded time as values: what the store writes, reads, and asks its questions of."""

from __future__ import annotations

from dataclasses import dataclass

from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.series import Block
from exhume.model.stack import StackTree


@dataclass(frozen=True, slots=True)
class Origin:
    """Which machine, which boot, recorded by what."""

    node: str
    boot_id: str
    kernel: str
    architecture: str
    user_hz: int
    """Jiffies a second in /proc/stat."""
    recorder: str
    """`exhume 0.1.0`, or what an import came from."""


@dataclass(frozen=True, slots=True)
class SegmentData:
    origin: Origin
    clock: ClockMap
    start_ns: int
    end_ns: int
    stretches: tuple[Stretch, ...]
    samples: Samples
    """Ordered by (core, time)."""
    tree: StackTree
    threads: Threads
    blocks: tuple[Block, ...]
    events: tuple[Event, ...]
