"""Inputs in their places → what is to be merged: of each ten minutes all that tells of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.ingest.merge import SEGMENT_NS
from exhume.ingest.piece import Claim, ClockKind, Hints
from exhume.ingest.placed import PlacedInput
from exhume.ingest.work import MergeTask, Part, PieceSummary, buckets
from exhume.ingest.written import Named

MOST_BY_CRON = 288
"""Ten minutes each, two days: so many become segments for what cron started alone."""
LEFT_BY_CRON = (
    "what cron started is kept where other lines or other files tell of those ten minutes, too, or "
    "of its last two days if none do: it has more of it"
)
_Key = tuple[str, int]


class _Buckets(Struct):
    parts: dict[_Key, list[Part]] = field(default_factory=dict)
    rows: Counter[_Key] = field(default_factory=Counter)
    sizes: Counter[_Key] = field(default_factory=Counter)

    def add(
        self, one: PlacedInput, piece: PieceSummary, claim: Claim, starts: Sequence[int]
    ) -> None:
        if piece.span_ns is None:
            return
        named = Named(one.task.input.path.name, one.task.input.id)
        part = Part(
            one.task.folder, piece.number, named, claim.offset_ns, one.with_samples, one.without,
            piece.clock == ClockKind.KERNEL_LOG,
        )  # fmt: skip
        first, last = (at + claim.offset_ns for at in piece.span_ns)
        for start in starts:
            if start <= last and first < start + SEGMENT_NS:
                self.parts.setdefault((one.node, start), []).append(part)
                shared = min(last, start + SEGMENT_NS) - max(first, start)
                self.rows[one.node, start] += piece.rows * shared // max(1, last - first)
                self.sizes[one.node, start] += piece.size_bytes


class MergeTasks(Struct, frozen=True):
    tasks: list[MergeTask]
    crowded_by_cron: set[str]
    """Ids of inputs that are left out in part: `LEFT_BY_CRON`."""


def merge_tasks(ready: Sequence[PlacedInput], root: Callable[[str], Path]) -> MergeTasks:
    """`root`: of the recording of a node."""
    found, hints = _Buckets(), dict[str, Hints]()
    for one in ready:
        known = hints.get(one.node, Hints(node=one.node))
        for piece, claim in one.pieces:
            said = piece.hints
            known = replace(
                known,
                kernel=known.kernel or said.kernel,
                architecture=known.architecture or said.architecture,
            )
            if claim is not None:
                found.add(one, piece, claim, buckets(piece.slots, claim.offset_ns))
        hints[one.node] = known
    crowded = {one.task.input.id for one in ready if _has_much_of_cron(one)}
    opened = frozenset(found.parts)
    nodes = {node for node, _ in opened}
    for one in ready:
        for piece, claim in one.pieces:
            if claim is None or not piece.cron_slots:
                continue
            own = set(buckets(piece.slots, claim.offset_ns))
            starts = [at for at in buckets(piece.cron_slots, claim.offset_ns) if at not in own]
            if one.task.input.id in crowded and one.node in nodes:
                starts = [at for at in starts if (one.node, at) in opened]
            elif one.task.input.id in crowded:
                starts = starts[-MOST_BY_CRON:]  # it is all there is: its end
            found.add(one, piece, claim, starts)
    tasks = [
        MergeTask(
            root(key[0]), key[1], hints[key[0]], tuple(some), found.rows[key], found.sizes[key]
        )
        for key, some in sorted(found.parts.items())
    ]
    return MergeTasks(tasks, crowded)


def _has_much_of_cron(one: PlacedInput) -> bool:
    """Most logs have a line of cron in all ten minutes of all weeks: a segment each takes long."""
    return sum(len(piece.cron_slots) for piece, _ in one.pieces) > MOST_BY_CRON
