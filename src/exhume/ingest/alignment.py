"""Captures that only a name or a file places: moved to where they fit the counters of cores.

Who names a file by `date` does so a second or two before perf takes its first sample, and the time
of a file is that of its last copy. Where copies of /proc/stat or a table of mpstat tell how busy
each core was in each second, the samples do too: near where they are thought to be (`load_fit`), or
anywhere in the counters where nothing but the time of a file says when that was (`load_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest import spill
from exhume.ingest.blocks import joined_blocks
from exhume.ingest.boot_clocks import SAME_BOOT_NS, Anchor
from exhume.ingest.load_fit import LEAST_AHEAD, fit_of
from exhume.ingest.load_search import SECOND_NS, Load, load_of, places
from exhume.ingest.nodes import NAMELESS
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Claim, ClockKind, Piece, Trust
from exhume.ingest.work import PieceSummary, ReadTask
from exhume.model.series import Block
from exhume.perf.eventnames import is_time_like

Read = tuple[ReadTask, list[PieceSummary]]
_MOST_NS = 600 * 1_000_000_000
"""Of a capture: so much tells enough."""
_MOST_TRIES = 8
_MOST_BYTES = 64 << 20
"""A piece that takes more is not loaded for this."""


class _Counters(Struct, frozen=True, dict=True):
    """An input that has times of cores, in one of the places that it may have."""

    node: str
    task: ReadTask
    pieces: tuple[PieceSummary, ...]
    claim: Claim | None
    """None: it is on wall time."""

    def blocks(self, wall: Span) -> tuple[Block, ...]:
        """On wall time."""
        parts = [
            (_load(self.task, piece).blocks, self.offset_ns)
            for piece, span in self._on_wall_time()
            if span[0] < wall[1] and span[1] > wall[0]
        ]
        return joined_blocks(parts, *wall)

    @cached_property
    def load(self) -> Load | None:
        """Of all the time that it tells of."""
        return load_of(
            joined_blocks([(_load(self.task, piece).blocks, self.offset_ns)], *span)
            for piece, span in self._on_wall_time()
        )

    @property
    def offset_ns(self) -> int:
        return self.claim.offset_ns if self.claim is not None else 0

    def _on_wall_time(self) -> Iterator[tuple[PieceSummary, Span]]:
        for piece in self.pieces:
            if piece.span_ns is not None:
                first, last = piece.span_ns
                yield piece, (first + self.offset_ns, last + self.offset_ns + 1)


def aligned(
    inputs: Sequence[Read],
    node_of: Callable[[ReadTask, Sequence[PieceSummary]], str],
    held: Iterable[Anchor],
    said: Iterable[Anchor],
) -> list[Read]:
    """`held` and `said`: what is known of the kernel's clock by those that were placed before, and
    by these. All captures of a boot follow one of them; where some were placed, these follow them.
    """
    counters = [
        one for task, pieces in inputs for one in _counters(node_of(task, pieces), task, pieces)
    ]
    if not counters:
        return list(inputs)
    sure = [(one.node, one.claim) for one in held if one.claim.trust >= Trust.FILE_NAME]
    sure += [(one.node, one.claim) for one in said if one.claim.trust > Trust.FILE_NAME]
    found = list(inputs)
    for number in _with_most_samples(inputs):
        task, pieces = inputs[number]
        node, claim = node_of(task, pieces), _named_only(pieces)
        told = (own for other, own in sure if other in (node, ""))
        if claim is None or any(_is_near(claim, own) for own in told):
            continue
        near = [one for one in counters if one.node in (node, NAMELESS)]
        better = _fitted(task, [one for one in pieces if one.claim == claim], claim, near)
        if better is not None:
            if pieces[0].clock == ClockKind.KERNEL_LOG:
                sure.append((node, better))
            found[number] = task, [_moved(one, claim, better) for one in pieces]
    return found


def _with_most_samples(inputs: Sequence[Read]) -> list[int]:
    """Which may be moved, and those first that tell most: the others of their boot follow."""
    rows = {
        number: sum(one.rows for one in pieces)
        for number, (_, pieces) in enumerate(inputs)
        if _named_only(pieces) is not None
    }
    return sorted(rows, key=lambda number: (-rows[number], number))[:_MOST_TRIES]


def _counters(node: str, task: ReadTask, pieces: Sequence[PieceSummary]) -> Iterator[_Counters]:
    some = [p for p in pieces if "cpu.idle" in p.fields and p.size_bytes <= _MOST_BYTES]
    if own := tuple(p for p in some if p.clock == ClockKind.WALL):
        yield _Counters(node, task, own, None)
    others = tuple(p for p in some if p.clock == ClockKind.OWN)
    claims = (claim for p in others if p.claim is not None for claim in (p.claim, *p.guesses))
    for claim in dict.fromkeys(claims):
        if claim.trust > Trust.FILE_TIME:
            yield _Counters(node, task, others, claim)


def _named_only(pieces: Sequence[PieceSummary]) -> Claim | None:
    """Where only the name or the time of its file places a capture of time on cores."""
    weak = (Trust.FILE_TIME, Trust.FILE_NAME)
    sampled = [one for one in pieces if one.rows and one.size_bytes <= _MOST_BYTES]
    if not all(is_time_like(taken.event) for one in sampled for taken in one.intervals):
        return None  # switches and faults come when they like
    claims = {one.claim for one in sampled}
    claim = claims.pop() if len(claims) == 1 else None
    return claim if claim is not None and claim.trust in weak else None


def _is_near(claim: Claim, other: Claim) -> bool:
    return abs(claim.offset_ns - other.offset_ns) <= SAME_BOOT_NS


def _moved(piece: PieceSummary, claim: Claim, better: Claim) -> PieceSummary:
    return replace(piece, claim=better) if piece.claim == claim else piece


def _fitted(
    task: ReadTask, pieces: Sequence[PieceSummary], claim: Claim, counters: Sequence[_Counters]
) -> Claim | None:
    """The claim of a capture, made better by the counters that its samples fit best."""
    spans = [one.sampled_ns for one in pieces if one.sampled_ns is not None]
    rate_hz = max((taken.rate_hz for one in pieces for taken in one.intervals), default=0.0)
    if not spans or rate_hz <= 0:
        return None
    start = min(first for first, _ in spans)
    end = min(max(last for _, last in spans), start + _MOST_NS)
    wall = start + claim.offset_ns, end + claim.offset_ns
    is_lost = claim.trust == Trust.FILE_TIME
    near = [(one, blocks) for one in counters if (blocks := one.blocks(wall))]
    if not near and not is_lost:
        return None
    captured = [_load(task, piece) for piece in pieces]

    def fits(one: _Counters, offset_ns: int, blocks: Sequence[Block]) -> Iterator[_Found]:
        span = start + offset_ns, end + offset_ns
        fit = fit_of(captured, offset_ns, span, blocks, rate_hz)
        if fit is not None:
            yield _Found(offset_ns + fit.shift_ns, fit.alike, one)

    found = [fit for one, blocks in near for fit in fits(one, claim.offset_ns, blocks)]
    if not found and is_lost:
        for one in _one_each(counters):
            for offset_ns in places(captured, start, end, one.load) if one.load else ():
                found += fits(one, offset_ns, one.blocks((start + offset_ns, end + offset_ns)))
    best = max(found, key=lambda one: one.alike, default=None)
    if best is None or any(_is_elsewhere(one, best) for one in found):
        return None
    return _better(claim, best)


def _one_each(counters: Sequence[_Counters]) -> list[_Counters]:
    """Of those that may lie in several places the likeliest, which comes first."""
    return list({one.task.input.id: one for one in reversed(counters)}.values())


class _Found(Struct, frozen=True):
    offset_ns: int
    alike: float
    by: _Counters


def _is_elsewhere(one: _Found, best: _Found) -> bool:
    """By the same counters another time is nearly as likely: a load that comes again."""
    is_far = abs(one.offset_ns - best.offset_ns) > SAME_BOOT_NS
    return one.by is best.by and is_far and best.alike - one.alike < LEAST_AHEAD


def _better(claim: Claim, found: _Found) -> Claim:
    named = "name" if claim.trust == Trust.FILE_NAME else "file"
    off_ns = found.offset_ns - claim.offset_ns
    side = "later" if off_ns > 0 else "earlier"
    how = (
        f"by the times of cores in {found.by.task.input.path.name}: its samples fit them best "
        f"{_told(abs(off_ns))} {side} than by the time of its {named}"
    )
    if found.by.claim is not None and found.by.claim.how.startswith("guessed"):
        how = f"guessed: {how}"
    return Claim(found.offset_ns, Trust.LOAD, how, claim.is_local)


def _told(ns: int) -> str:
    if ns < 60 * SECOND_NS:
        return f"{ns / SECOND_NS:.1f} s"
    minutes = round(ns / SECOND_NS / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{round(minutes / 60)} h" if minutes < 48 * 60 else f"{round(minutes / 60 / 24)} days"


def _load(task: ReadTask, piece: PieceSummary) -> Piece:
    return spill.load(spill.path_of(task.folder, piece.number))
