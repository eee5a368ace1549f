"""A stretch of recorded time as values: what the store writes, reads, and asks its questions of."""

from __future__ import annotations

import re

from msgspec import Struct

from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.series import Block
from exhume.model.stack import StackTree

_IMPORT = re.compile(r"exhume \S+ import, part (\d+)/(\d+): (.*)", re.DOTALL)


class Origin(Struct, frozen=True):
    """Which machine, which boot, recorded by what."""

    node: str
    boot_id: str
    kernel: str
    architecture: str
    user_hz: int
    """Jiffies a second in /proc/stat."""
    recorder: str
    """`exhume 0.1.0`, or what an import came from."""

    @property
    def imported(self) -> tuple[int, int, str] | None:
        """Of an import: which part of how many, and its inputs; None of a recorder."""
        found = _IMPORT.fullmatch(self.recorder)
        return (int(found[1]), int(found[2]), found[3]) if found else None

    @staticmethod
    def of_import(version: str, part: int, parts: int, inputs: str) -> str:
        """What `recorder` says then. `inputs`: `NAME (ID), …`"""
        return f"exhume {version} import, part {part}/{parts}: {inputs}"


class SegmentData(Struct, frozen=True):
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
