"""Epochs with numbers of stacks that came later → epochs with whole ones: `--call-graph fp,defer`.

The kernel walks a program's stack when it returns to it, once for all samples taken until then.
Those have a number at the end of their chain, and so has the record that follows them.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.runs import positions
from exhume.ingest.rebuilt_stacks import USER, Stretches, rebuilt
from exhume.model.arrays import I64, U64
from exhume.perf.dataorder import Epoch
from exhume.perf.distinct import distinct_rows
from exhume.perf.records import NO_CHAINS, DeferredChains

_DEFERRED = np.uint64(2**64 - 640)
"""PERF_CONTEXT_USER_DEFERRED: the number follows."""
_MARK_WORDS = 2
_WORTH_SAYING = 0.005
_OUT_OF_ORDER_NS = 10 * 1_000_000_000
"""So much later, what belongs together has come."""


class Joined(Struct, frozen=True):
    """How it went."""

    stacks: int = 0
    found: int = 0

    def __add__(self, other: Joined) -> Joined:
        return Joined(self.stacks + other.stacks, self.found + other.found)

    def note(self) -> str:
        """Empty where nothing is missing that is worth a word."""
        missing = self.stacks - self.found
        if missing < max(1, _WORTH_SAYING * self.stacks):
            return ""
        return (
            f"of {100 * missing / self.stacks:.0f} % of the stacks the program's part never came "
            "(--call-graph fp,defer): the record was lost, or the kernel had not returned to it "
            "when the recording ended; they show what ran in the kernel"
        )


class DeferredStacks:
    def __init__(self) -> None:
        self._held: list[DeferredChains] = []
        self.done = Joined()

    def note(self, chains: DeferredChains) -> None:
        if len(chains.time):
            self._held.append(chains)

    def joined(self, epoch: Epoch) -> Epoch:
        """All that came until its end must have been noted."""
        if not len(epoch.samples):
            return epoch
        first, which = distinct_rows(epoch.stack, epoch.samples.tid.astype(np.int64))
        stack = epoch.stack[first]
        words = np.concatenate([np.empty(0, np.uint64), *epoch.words])
        start, count = epoch.word_start[stack], epoch.word_count[stack]
        rows = np.flatnonzero(count >= _MARK_WORDS)
        rows = rows[words[(start + count)[rows] - _MARK_WORDS] == _DEFERRED]
        if not len(rows):
            return epoch
        cookie = words[(start + count)[rows] - 1]
        chains = _one_after_another(self._held)
        found = _find(chains, cookie, epoch.samples.tid[first[rows]].astype(np.int64))
        self.done += Joined(len(rows), int((found >= 0).sum()))
        kept, added_from, added = count.copy(), np.zeros_like(count), np.zeros_like(count)
        kept[rows] -= _MARK_WORDS
        came = found >= 0
        added_from[rows[came]] = chains.start[found[came]]
        added[rows[came]] = chains.count[found[came]]
        self._held = [chains]
        # Without any chain there is still the address.
        lone = np.stack([np.full(len(first), USER), epoch.samples.ip[first]], axis=1).reshape(-1)
        is_lone = kept + added == 0
        return rebuilt(
            epoch,
            which,
            [
                Stretches(words, start, kept),
                Stretches(chains.words, added_from, added),
                Stretches(lone, 2 * np.arange(len(first)), 2 * is_lone),
            ],
        )

    def forget(self, epoch: Epoch) -> None:
        """What was taken until its last sample is of no later one.

        Where others take the samples, as far as it can be told by what was noted.
        """
        if not self._held:
            return
        chains = _one_after_another(self._held)
        past = max(
            int(epoch.samples.time.max(initial=0)),
            int(chains.time.max(initial=0)) - _OUT_OF_ORDER_NS,
        )
        self._held = [_picked(chains, np.flatnonzero(chains.time > past))]


def _one_after_another(parts: list[DeferredChains]) -> DeferredChains:
    if len(parts) == 1:
        return parts[0]
    bases = np.cumsum([0, *(len(part.words) for part in parts)])
    moved = [part.start + base for part, base in zip(parts, bases, strict=False)]
    columns = {
        name: np.concatenate([getattr(part, name) for part in (NO_CHAINS, *parts)])
        for name in ("time", "tid", "cookie", "count", "words")
    }
    return DeferredChains(start=np.concatenate([NO_CHAINS.start, *moved]), **columns)


def _picked(chains: DeferredChains, rows: I64) -> DeferredChains:
    count = chains.count[rows]
    words = chains.words[positions(chains.start[rows], count)]
    return DeferredChains(
        chains.time[rows], chains.tid[rows], chains.cookie[rows], np.cumsum(count) - count, count,
        words,
    )  # fmt: skip


def _find(chains: DeferredChains, cookie: U64, tid: I64) -> I64:
    """The chain of each, -1 where there is none."""
    known = len(chains.time)
    first, which = distinct_rows(
        np.concatenate([chains.cookie, cookie]).view(np.int64),
        np.concatenate([chains.tid.astype(np.int64), tid]),
    )
    found = first[which[known:]]
    return np.where(found < known, found, -1)
