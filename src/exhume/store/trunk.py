"""The thick branches of a segment's stacks: what questions about many hours are answered from.

Of 100,000 stacks in ten minutes a few thousand hold nearly all the time. The others are cut before
anybody names their frames or puts them together with those of seventy more segments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.flame import EMPTY, Branches, FrameKey, FrameTable, joined, thick
from exhume.derive.stacks import level_starts, sum_up
from exhume.model.arrays import I32, I64

TRUNK_SHARE = 2.5e-5
"""Of a segment's samples; branches below are cut."""
_ROOT = EMPTY.name, EMPTY.module, EMPTY.kind.value
FINENESS = 10
"""A tree of trunks is right to a tenth of the thinnest branch it shows."""


class Trunk(Struct, frozen=True):
    branches: Branches
    """Times are numbers of samples until they are weighted."""
    frames: tuple[FrameKey, ...]
    samples: int
    pruned_ns: int
    """In branches that were cut."""

    @property
    def nbytes(self) -> int:
        return 24 * len(self.branches.parent) + 150 * len(self.frames)

    def weighted(self, weight_ns: int) -> Trunk:
        own = self.branches
        branches = Branches(
            own.parent, own.frame, own.total_ns * weight_ns, own.self_ns * weight_ns
        )
        return Trunk(branches, self.frames, self.samples, self.pruned_ns * weight_ns)

    def numbered(self, table: FrameTable) -> Branches:
        own, number = self.branches, table.numbers_of(self.frames)
        return Branches(own.parent, number[own.frame], own.total_ns, own.self_ns)


def trunk_of(parent: I32, frame: I32, counts: I64, frames: Sequence[FrameKey]) -> Trunk:
    total = sum_up(parent, counts, level_starts(parent))
    branches, pruned = thick(Branches(parent, frame, total, counts), TRUNK_SHARE)
    used, place = np.unique(branches.frame, return_inverse=True)
    renumbered = Branches(
        branches.parent, place.astype(np.int32), branches.total_ns, branches.self_ns
    )
    return Trunk(renumbered, tuple(frames[n] for n in used.tolist()), int(total[0]), pruned)


def one_trunk(trunks: Sequence[Trunk]) -> Trunk:
    table = FrameTable()
    table.numbers_of([_ROOT])  # which is there even where nothing could be read
    branches = joined([trunk.numbered(table) for trunk in trunks])
    samples = sum(trunk.samples for trunk in trunks)
    return Trunk(branches, table.keys(), samples, sum(trunk.pruned_ns for trunk in trunks))
