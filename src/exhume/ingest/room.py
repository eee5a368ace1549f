"""Memory that the processes of an import have together, and whether it suffices for what they do.

What a damaged or hostile file makes a process hold is bounded (`exhume.perf.bounds`), but several
processes may each come to that bound. To give each a part of what is told apart would cost ordinary
captures of large nodes names that they have when one process reads them. So they go by the memory
that they really have, and where that is too much, fewer do the work again.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from types import FrameType

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
_LOOK_SECONDS = 0.05
"""Of CPU time."""
_AGAIN_SECONDS = 1.0
"""Should nobody have heard: a generator that is closed as it is freed swallows what is raised."""
_WRITING_BYTES = 50 << 20
"""Samples of a segment while they are sorted, and sums of them."""
_MUCH_BYTES, _MORE_BYTES = 200 << 20, 32 << 20
FORKS = 4
"""Processes that one input may be shared out to: each has memory of its own."""
_MOST_PROCESSES = 4
"""Who wants more than an import takes by itself has the memory for them."""
PROGRAM_BYTES = 20 << 20
"""Of a process that has all loaded and nothing read yet."""
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_CALLED_BY_WEAK_REFERENCES = ("weakref", "_weakrefset", "multiprocessing.util")


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
    """For all processes of an import together; made before any of them is forked.

    Some read one input each, and may be joined for it by forks of their own.
    """

    def __init__(self, memory: Memory, readers: int = 1, processes: int | None = None) -> None:
        """`processes`: with the forks, as far as they are at work at the same time."""
        self.memory = memory
        self._held: I64 = np.frombuffer(mmap.mmap(-1, 8 * readers * FORKS), np.int64)
        """By process: memory that forked ones have in common."""
        self._own = FORKS - 1
        """Behind the forks of a reader comes the reader itself."""
        self._grown_bytes = _MUCH_BYTES
        """So much is much again: what is in use can't be given back."""
        count = processes or readers
        each = (MOST_BYTES - _IN_COMMON_BYTES) // min(count, _MOST_PROCESSES) - _GROWTH_BYTES
        self._most_bytes = count * each

    def of_reader(self, number: int) -> Room:
        """As the one of that number sees it."""
        found = copy(self)
        found._own = (number + 1) * FORKS - 1
        return found

    def check(self, fork: int | None = None) -> None:
        """Raises NoRoomError where this process, a reader or a fork of it, and others hold more.

        What was freed counts as well: it is kept (`tuning`), and will be needed again; but who has
        much of it gives it back. Who is alone is held by bounds only.
        """
        if self.memory.held_bytes() > self._grown_bytes:
            make_room(self.memory)
            self._grown_bytes = max(_MUCH_BYTES, self.memory.held_bytes() + _MORE_BYTES)
        self._look(fork)

    def _look(self, fork: int | None) -> None:
        place = self._own if fork is None else self._own - FORKS + 1 + fork
        own = self._held[place] = self.memory.held_bytes()
        total = int(self._held.sum())
        if total > max(self._most_bytes, own):
            raise NoRoomError

    @contextmanager
    def watched(self, fork: int | None = None) -> Iterator[None]:
        """As `check`, wherever this process is, all the time: what a hostile file makes of a chunk
        may be ten times as large, and is all there before the next one is read.

        So NoRoomError comes out of anything: what was done till then is good for nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # which alone hears signals
            return

        def look(_: int, frame: FrameType | None) -> None:
            try:
                self._look(fork)
            except NoRoomError:
                if _is_heard(frame):
                    signal.setitimer(signal.ITIMER_PROF, _AGAIN_SECONDS, _LOOK_SECONDS)
                    raise

        before = signal.signal(signal.SIGPROF, look)
        signal.setitimer(signal.ITIMER_PROF, _LOOK_SECONDS, _LOOK_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def leave(self) -> None:
        """A reader has done its work, and its forks are gone; it may keep something."""
        self._held[self._own - FORKS + 1 : self._own] = 0
        self._held[self._own] = self.memory.held_bytes()

    def clear(self) -> None:
        """All readers are gone."""
        self._held[:] = 0


def _is_heard(frame: FrameType | None) -> bool:
    """Whether an exception comes out of it: out of destructors, of what the garbage collection
    calls back, and of what is called when the last reference to something goes, none does.
    """
    deaf = {getattr(called, "__code__", None) for called in gc.callbacks}
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code in deaf:
            return False
        if frame.f_globals.get("__name__") in _CALLED_BY_WEAK_REFERENCES:
            return False
        frame = frame.f_back
    return True


def make_room(memory: Memory) -> None:
    """Give back what was freed, where it is much: of an ordinary capture it is needed again."""
    if memory.held_bytes() > _MUCH_BYTES:
        gc.collect()
        give_back()


def at_once(sizes: Sequence[int], wanted: int) -> int:
    """How many may merge at the same time what takes so much memory each, once it is loaded.

    Each makes one of all its pieces: a tree and threads, as large as theirs at the most.
    """
    most = 2 * max(sizes, default=0) + _WRITING_BYTES + PROGRAM_BYTES
    return max(1, min(wanted, (MOST_BYTES - _IN_COMMON_BYTES) // most))


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
