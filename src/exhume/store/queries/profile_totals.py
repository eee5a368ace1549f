"""The samples of a window added up by core, thread and stack, in as much detail as fits."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I32, I64, U16
from exhume.model.core import NO_CORE
from exhume.model.profile import ProfileTotals, SampleBatch
from exhume.store.queries.sample_stream import SampleStream

DETAILS = ("core", "thread", "process")
"""How much is told apart, from fine to coarse."""


def profile_totals(stream: SampleStream, at_most: int) -> ProfileTotals | None:
    """Added up as they come, so that only what differs is held, in as much detail as fits; None
    where even the stacks of processes are too many."""
    total, fresh, level = _Sums.none(), list[_Sums](), 0

    def add_up() -> None:
        nonlocal total, fresh, level
        total, fresh = _Sums.joined([_coarse(one, level, stream) for one in (total, *fresh)]), []
        while len(total) > at_most and level + 1 < len(DETAILS):
            level += 1
            total = _Sums.joined([_coarse(total, level, stream)])

    for batch in stream:
        fresh.append(_Sums.of(batch))
        # Adding up sorts, so it waits for as much as is there already.
        if sum(map(len, fresh)) > len(total):
            add_up()
            if len(total) > at_most:
                return None
    add_up()
    if len(total) > at_most:
        return None
    return ProfileTotals(
        tables=stream.tables(),
        detail=DETAILS[level],
        core=total.core,
        thread=total.thread,
        stack=total.stack,
        count=total.count,
        weight_ns=total.weight_ns,
    )


def _coarse(sums: _Sums, level: int, stream: SampleStream) -> _Sums:
    """With what that level of detail does not tell apart made the same."""
    core = sums.core if level < 1 else np.full(len(sums), NO_CORE, np.uint16)
    thread = sums.thread if level < 2 else stream.leaders()[sums.thread]
    return _Sums(core, thread, sums.stack, sums.count, sums.weight_ns)


class _Sums(Struct, frozen=True):
    """Each core, thread and stack once."""

    core: U16
    thread: I32
    stack: I32
    count: I64
    weight_ns: I64

    def __len__(self) -> int:
        return len(self.count)

    @staticmethod
    def none() -> _Sums:
        empty = np.empty(0, np.int64)
        core, thread, stack = (
            empty.astype(np.uint16),
            empty.astype(np.int32),
            empty.astype(np.int32),
        )
        return _Sums(core, thread, stack, empty, empty)

    @staticmethod
    def of(batch: SampleBatch) -> _Sums:
        ones = np.ones(len(batch), np.int64)
        each = _Sums(batch.core, batch.thread, batch.stack, ones, batch.weight_ns)
        return _Sums.joined([each])

    @staticmethod
    def joined(parts: list[_Sums]) -> _Sums:
        core = np.concatenate([part.core for part in parts])
        thread = np.concatenate([part.thread for part in parts])
        stack = np.concatenate([part.stack for part in parts])
        # One number for all three, since that sorts faster than three. There are 47 bits for
        # thread and stack: more of them than that would not fit any memory.
        bits = int(stack.max(initial=0)).bit_length()
        key = (core.astype(np.int64) << 47) | (thread.astype(np.int64) << bits) | stack
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        here = order[first]
        sums = (
            [
                np.add.reduceat(
                    np.concatenate([getattr(part, name) for part in parts])[order], first
                )
                for name in ("count", "weight_ns")
            ]
            if len(first)
            else [key, key]
        )
        return _Sums(core[here], thread[here], stack[here], sums[0], sums[1])
