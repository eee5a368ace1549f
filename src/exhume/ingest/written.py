"""Segments that an import has written before: what they hold, and as pieces to be merged again.

The origin of an import's segment names its inputs, so nothing is merged into it twice, whatever
happened between the writing of a segment and the note that it was written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from exhume import __version__
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import ClockKind, Hints, Interval, Piece, Sampled
from exhume.ingest.row_table import Rows, RowTable
from exhume.ingest.rows import RowWriter
from exhume.model.segment import Origin
from exhume.store import layout
from exhume.store.files import DamagedFileError, remove_directory
from exhume.store.memory import as_samples
from exhume.store.meta import NewerFormatError

if TYPE_CHECKING:
    from exhume.store.segment import Segment

USER_HZ = 100
"""Jiffies a second in copies of /proc/stat: USER_HZ of every architecture that matters here."""
_LARGE_ROWS = 1 << 19
_BLOCK_ROWS = 1 << 16
_INPUT = re.compile(r"\(([0-9a-f]{16})\)")


class Named(Struct, frozen=True):
    """An input, for the origin of a segment."""

    name: str
    id: str


class Written(Struct, frozen=True):
    """What was written at once: several segments where one would be too large."""

    segments: tuple[Segment, ...]
    ids: frozenset[str]
    inputs: str
    """As the origin has it."""

    @property
    def spans(self) -> list[Span]:
        """Of an import's segments both clocks are wall time."""
        return [(one.start_ns, one.end_ns) for one in self.segments]

    def stays(self, fresh: Sequence[Span]) -> bool:
        """Beside what is fresh, at other times: to write much anew takes long, and memory."""
        return sum(one.sample_count for one in self.segments) >= _LARGE_ROWS and not any(
            start < end_ns and end > start_ns
            for start, end in self.spans
            for start_ns, end_ns in fresh
        )


def boot_id(node: str) -> str:
    """Inputs do not tell boots apart; one name for all that was imported of a node."""
    return f"{hashlib.blake2b(node.encode(), digest_size=4).hexdigest()}-import"


def origin(hints: Hints, inputs: str, part: int = 1, parts: int = 1) -> Origin:
    return Origin(
        node=hints.node,
        boot_id=boot_id(hints.node),
        kernel=hints.kernel,
        architecture=hints.architecture,
        user_hz=USER_HZ,
        recorder=Origin.of_import(__version__, part, parts, inputs),
    )


def listed(inputs: Sequence[Named]) -> str:
    return ", ".join(f"{one.name} ({one.id})" for one in inputs)


def written(root: Path, node: str, start_ns: int, end_ns: int) -> list[Written]:
    """What imports have put into [start, end): each input is in one of them, or in none.

    Left-overs of a crash are removed on the way.
    """
    paths = candidates(root, start_ns, end_ns)
    if not paths:
        return []  # mostly so: what it takes to read segments is not even loaded
    from exhume.store.segment import Segment

    groups: dict[tuple[str, int], list[Segment]] = {}
    unread = 0
    for path in paths:
        try:
            segment = Segment(path)
        except (DamagedFileError, NewerFormatError):
            unread += 1
            continue
        said = segment.origin.imported
        if said and segment.origin.boot_id == boot_id(node):
            groups.setdefault((said[2], said[1]), []).append(segment)
    found = [
        (Written(tuple(segments), frozenset(_INPUT.findall(inputs)), inputs), parts)
        for (inputs, parts), segments in groups.items()
    ]
    whole: list[Written] = []
    for one, parts in sorted(found, key=lambda entry: -len(entry[0].ids)):
        # One that can't be read may be what a group lacks: the others of it are all there is.
        is_short = len(one.segments) + unread < parts
        if is_short or any(one.ids <= other.ids for other in whole):
            remove(one.segments)  # cut short, or merged into the other and not removed yet
        else:
            whole.append(one)
    return whole


def candidates(root: Path, start_ns: int, end_ns: int) -> list[Path]:
    """Segments that begin in [start, end), by their names."""
    folder = layout.segments_path(root)
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in names:
        at = layout.wall_ns_of_name(name)
        if at is not None and start_ns <= at < end_ns:  # names count whole seconds, so do we
            found.append(folder / name)
    return found


def remove(segments: Sequence[Segment]) -> None:
    for segment in segments:
        remove_directory(segment.path)


def as_piece(written: Segment, folder: Path) -> Piece:
    """Its samples are laid out in `folder`: of several segments too many for memory."""
    segment = type(written)(written.path)  # with a cache of its own, which is not kept
    starts = [stretch.start_ns for stretch in segment.stretches]
    ends = pairwise([*starts, segment.end_ns])
    intervals = tuple(
        Interval(begin, end, stretch.event, stretch.rate_hz, stretch.cores)
        for stretch, (begin, end) in zip(segment.stretches, ends, strict=True)
        if stretch.event != "none" and begin < end
    )
    own = segment.origin
    return Piece(
        hints=Hints(own.node, own.kernel, own.architecture),
        clock=ClockKind.WALL,
        claim=None,
        sampled=Sampled(
            _rows(segment, folder), segment.tree().tree, segment.threads().threads, intervals
        ),
        blocks=tuple(block for field in segment.fields() for block in segment.blocks(field)),
        events=segment.events(),
        told_ns=(segment.start_ns, segment.end_ns),
    )


def _rows(segment: Segment, folder: Path) -> RowTable:
    """In the order of time, so that few are read for a stretch of it."""
    samples = as_samples(segment.samples())
    if len(samples) <= _BLOCK_ROWS:
        return RowTable.of(Rows(samples.time_ns, samples.stack, samples.thread, samples.core))
    order = np.argsort(samples.time_ns, kind="stable")
    writer = RowWriter(folder, f"{segment.path.name}-")
    for begin in range(0, len(order), _BLOCK_ROWS):
        rows = order[begin : begin + _BLOCK_ROWS]
        writer.add(
            samples.time_ns[rows], samples.core[rows], samples.thread[rows], samples.stack[rows]
        )
    return writer.finish()
