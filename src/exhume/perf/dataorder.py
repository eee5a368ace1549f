"""Chunks of perf.data → epochs in order of time.

perf writes buffer after buffer, core by core, so a record may come before one that is older. A mark
tells when all buffers were read once. What was newest at one mark is certainly complete two marks
later (tools/perf/util/ordered-events.c), so everything up to it can be handed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64, U64
from exhume.perf.datachunk import Chunk
from exhume.perf.native import NO_SAMPLES, SampleColumns
from exhume.perf.records import NO_COMMS, NO_FORKS, NO_MAPPINGS, Comms, Forks, Mappings, concat

MAX_HELD_SAMPLES = 1 << 18
"""So many are not held back any longer, mark or not (files of other writers may have none)."""
MAX_HELD_WORDS = 1 << 23
"""Likewise: 64 MiB of stacks, which with copies of memory are 8 KiB each."""
MAX_HELD_OTHERS = 1 << 18
"""Likewise: what is told of threads and mappings."""

Table = TypeVar("Table", SampleColumns, Comms, Forks, Mappings)


class Epoch(Struct, frozen=True):
    """Everything of a stretch of time, with one dictionary of stacks."""

    samples: SampleColumns
    stack: I64
    """Of each sample, its number in the dictionary: `samples.stack` is the chunk's own."""
    words: tuple[U64, ...]
    """Parts that follow each other; `word_start` counts through them all."""
    word_start: I64
    word_count: I64
    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings


class _Held(Struct):
    """What is left of a chunk."""

    samples: SampleColumns
    words: U64
    word_count: I64
    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings

    @staticmethod
    def of(chunk: Chunk) -> _Held:
        return _Held(
            chunk.samples, chunk.words, chunk.word_count.astype(np.int64), chunk.comms,
            chunk.forks, chunk.exits, chunk.mappings,
        )  # fmt: skip

    def is_empty(self) -> bool:
        tables = (self.samples, self.comms, self.forks, self.exits, self.mappings)
        return not any(len(table.time) for table in tables)

    def take(self, limit_ns: int) -> _Held:
        """What is not newer; the rest stays."""
        taken = {}
        for name in ("samples", "comms", "forks", "exits", "mappings"):
            table = getattr(self, name)
            old = table.time.view(np.int64) <= limit_ns
            count = int(np.count_nonzero(old))
            # Nearly always all of a chunk, or next to nothing: rows are moved only where both are.
            taken[name] = table if count == len(old) else pick(table, np.flatnonzero(old))
            if count:
                setattr(self, name, pick(table, np.flatnonzero(~old)))
        return _Held(words=self.words, word_count=self.word_count, **taken)


def in_order(chunks: Iterable[Chunk]) -> Iterator[Epoch]:
    held: list[_Held] = []
    newest, limit, rounds = 0, 0, 0
    for chunk in chunks:
        held.append(_Held.of(chunk))
        newest = max(newest, newest_ns(chunk))
        rounds += chunk.rounds
        most_held = MAX_HELD_SAMPLES, MAX_HELD_WORDS, MAX_HELD_OTHERS
        sizes = (sum(sizes) for sizes in zip(*map(_sizes, held), strict=True))
        is_much = any(size > most for size, most in zip(sizes, most_held, strict=True))
        if rounds >= 2 or is_much:
            if limit or not newest:  # without any times there is nothing to wait for
                epoch = _epoch(held, limit)
                held = [one for one in held if not one.is_empty()]
                yield epoch
            limit, rounds = newest, 0
    yield _epoch(held, np.iinfo(np.int64).max)


def _sizes(held: _Held) -> tuple[int, int, int]:
    others = (held.comms, held.forks, held.exits, held.mappings)
    return len(held.samples), len(held.words), sum(len(table.time) for table in others)


def newest_ns(chunk: Chunk) -> int:
    tables = (chunk.samples, chunk.comms, chunk.forks, chunk.exits, chunk.mappings)
    return max(int(table.time.max(initial=0)) for table in tables)


def _epoch(held: list[_Held], limit_ns: int) -> Epoch:
    parts = [one.take(limit_ns) for one in held]
    parts = [part for part in parts if not part.is_empty()]
    with_samples = [part for part in parts if len(part.samples)]
    counts = np.concatenate([np.empty(0, np.int64), *(p.word_count for p in with_samples)])
    bases = np.cumsum([0, *(len(p.word_count) for p in with_samples)])
    stacks = [
        p.samples.stack.astype(np.int64) + b for p, b in zip(with_samples, bases, strict=False)
    ]
    return Epoch(
        samples=concat([p.samples for p in with_samples], NO_SAMPLES),
        stack=np.concatenate([np.empty(0, np.int64), *stacks]),
        words=tuple(p.words for p in with_samples),
        word_start=np.cumsum(counts) - counts,
        word_count=counts,
        comms=concat([p.comms for p in parts], NO_COMMS),
        forks=concat([p.forks for p in parts], NO_FORKS),
        exits=concat([p.exits for p in parts], NO_FORKS),
        mappings=concat([p.mappings for p in parts], NO_MAPPINGS),
    )


def pick(table: Table, rows: I64) -> Table:
    """Some rows of a table."""
    columns = (getattr(table, name)[rows] for name in table.__struct_fields__)
    return type(table)(*columns)
