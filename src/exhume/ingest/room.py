"""Memory that the processes of an import have together, and whether it suffices for what they do.

What a damaged or hostile file makes a process hold is bounded (`exhume.perf.bounds`), but several
processes may each come to that bound. To give each a part of what is told apart would cost ordinary
captures of large nodes names that they have when one process reads them. So they go by the memory
that they really have, and where that is too much, fewer do the work again.
"""

from __future__ import annotations

import mmap
import os

import numpy as np
from msgspec import Struct

from exhume.host import Host
from exhume.model.arrays import I64
from exhume.store.allocator import give_back

MOST_BYTES = 500 << 20
"""Of all processes together, pages that they share counted once."""
_IN_COMMON_BYTES = 40 << 20
"""Code and such, which they share."""
_GROWTH_BYTES = 15 << 20
"""So much each may grow by before it looks again."""
_WRITING_BYTES = 50 << 20
"""Samples of a segment while they are sorted, and sums of them."""
_MOST_PROCESSES = 4
"""Who wants more than an import takes by itself has the memory for them."""
PROGRAM_BYTES = 20 << 20
"""Of a process that has all loaded and nothing read yet."""
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


class NoRoomError(Exception):
    """Several processes take more memory than there is for them: fewer may take less."""


class Memory(Struct, frozen=True):
    """What a process holds since an import began. Before, it may have been busy with anything."""

    host: Host
    before_bytes: int

    @staticmethod
    def of(host: Host) -> Memory:
        """From now on, also of those that are forked later."""
        return Memory(host, _own_bytes(host))

    def held_bytes(self) -> int:
        """As if this process did nothing but import."""
        return max(0, _own_bytes(self.host) - self.before_bytes) + PROGRAM_BYTES


class Room:
    """Of processes that read one input together; made before they are forked."""

    def __init__(self, memory: Memory, processes: int, beside: int = 0) -> None:
        """`beside`: so many others read something else, and have their part."""
        self._memory = memory
        self._held: I64 = np.frombuffer(mmap.mmap(-1, 8 * processes), np.int64)
        """By process: memory that forked ones have in common."""
        parts = min(processes + beside, _MOST_PROCESSES)
        each = (MOST_BYTES - _IN_COMMON_BYTES) // parts - _GROWTH_BYTES
        self._most_bytes = processes * each

    def check(self, number: int) -> None:
        """Raises NoRoomError where this process, that of this number, and the others hold more.

        What was freed counts as well: it is kept (`tuning`), and will be needed again.
        """
        if len(self._held) > 1:
            self._held[number] = self._memory.held_bytes()
            if int(self._held.sum()) > self._most_bytes:
                raise NoRoomError


def forks(memory: Memory, wanted: int) -> int:
    """How many may be made of this process at once to write segments of what it holds.

    They share that, but for what they touch, and each makes a tree and sorted samples of its own:
    half as much as this one holds, and what a full segment takes.
    """
    if wanted < 2 or _forks(memory.held_bytes()) >= wanted:
        return wanted
    give_back()  # and it takes time to get back what is needed again
    return max(1, min(wanted, _forks(memory.held_bytes())))


def _forks(held_bytes: int) -> int:
    left = MOST_BYTES - _IN_COMMON_BYTES - held_bytes
    return left // (held_bytes // 2 + _WRITING_BYTES)


def _own_bytes(host: Host) -> int:
    """Memory that is no file's; 0 where the kernel does not say."""
    try:
        _, resident, of_files, *_ = map(int, (host.read_proc("self/statm") or "").split())
    except (OSError, ValueError):
        return 0
    return (resident - of_files) * _PAGE_BYTES
