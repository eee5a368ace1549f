"""Captures that only a name places: moved to where their samples fit the counters of cores.

Who names a file by `date` does so a second or two before perf takes its first sample. Where copies
of /proc/stat or a table of mpstat tell how busy each core was in each of those seconds, the samples
do too, and both are alike at one distance only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.cpu import core_shares
from exhume.ingest import spill
from exhume.ingest.blocks import joined_blocks
from exhume.ingest.boot_clocks import SAME_BOOT_NS, Anchor
from exhume.ingest.nodes import NAMELESS
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Claim, ClockKind, Piece, Trust
from exhume.ingest.work import PieceSummary, ReadTask
from exhume.ingest.written import USER_HZ
from exhume.model.arrays import F64, I64, Bool
from exhume.model.modes import MAP_MODES
from exhume.model.series import Block
from exhume.perf.eventnames import is_time_like

Read = tuple[ReadTask, list[PieceSummary]]
STEP_NS = 100_000_000
_REACH = 50
"""Steps that a capture may be off by, to either side."""
_MOST_NS = 600 * 1_000_000_000
"""Of a capture: so much tells enough."""
_LONGEST_NS = 2_500_000_000
"""Who reads counters less often does not tell when in between a core was busy."""
_LEAST_INTERVALS = 20
_LEAST_ALIKE, _LEAST_AHEAD = 0.8, 0.05
_LEAST_SHARE = 0.6
"""Of the busy time that samples must stand for. A correlation knows no amounts: of who runs little
and wakes who runs much, samples fit the other's time best."""
_NEAR = 15
"""Steps from the best one within which others are nearly as good."""
_MOST_CORES = 256
_MOST_TRIES = 8
_MOST_BYTES = 64 << 20
"""A piece that takes more is not loaded for this."""


class Fit(Struct, frozen=True):
    shift_ns: int
    """Of the samples: so much later than thought."""
    alike: float
    """Correlation of samples and busy time, each core's mean taken off."""


class _Counters(Struct, frozen=True):
    """An input that has times of cores, in one of the places that it may have."""

    node: str
    task: ReadTask
    pieces: tuple[PieceSummary, ...]
    claim: Claim | None
    """None: it is on wall time."""

    def blocks(self, wall: Span) -> tuple[Block, ...]:
        """On wall time."""
        offset_ns = self.claim.offset_ns if self.claim is not None else 0
        parts = []
        for piece in self.pieces:
            own = piece.span_ns
            if own and own[0] + offset_ns < wall[1] and own[1] + offset_ns > wall[0]:
                parts.append((_load(self.task, piece).blocks, offset_ns))
        return joined_blocks(parts, *wall)


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
    best: tuple[Fit, _Counters] | None = None
    loaded: list[Piece] = []
    for one in counters:
        if not (blocks := one.blocks(wall)):
            continue
        loaded = loaded or [_load(task, piece) for piece in pieces]
        fit = fit_of(loaded, claim.offset_ns, wall, blocks, rate_hz)
        if fit is not None and (best is None or fit.alike > best[0].alike):
            best = fit, one
    return None if best is None else _better(claim, *best)


def _better(claim: Claim, fit: Fit, by: _Counters) -> Claim:
    named = "name" if claim.trust == Trust.FILE_NAME else "file"
    seconds, side = abs(fit.shift_ns) / 1e9, "later" if fit.shift_ns > 0 else "earlier"
    how = (
        f"by the times of cores in {by.task.input.path.name}: its samples fit them best "
        f"{seconds:.1f} s {side} than by the time of its {named}"
    )
    if by.claim is not None and by.claim.how.startswith("guessed"):
        how = f"guessed: {how}"
    return Claim(claim.offset_ns + fit.shift_ns, Trust.LOAD, how, claim.is_local)


def _load(task: ReadTask, piece: PieceSummary) -> Piece:
    return spill.load(spill.path_of(task.folder, piece.number))


def fit_of(
    captured: Sequence[Piece],
    offset_ns: int,
    wall: Span,
    blocks: Sequence[Block],
    rate_hz: float,
) -> Fit | None:
    """Where samples fit counters on wall time; None where they do nowhere, or in several places.

    `wall`: from when to when samples are looked at, if `offset_ns` takes their clock to wall time.
    `rate_hz`: samples of a core that is busy all the time.
    """
    shares = core_shares(blocks, USER_HZ)
    if shares is None:
        return None
    cores = shares.cores[:_MOST_CORES]
    steps = -(-(wall[1] - wall[0]) // STEP_NS)
    first, last = (_nearest_step(at - wall[0]) for at in (shares.start_ns, shares.end_ns))
    is_short = (first < last) & (shares.end_ns - shares.start_ns <= _LONGEST_NS)
    inside = is_short & (first >= _REACH) & (last <= steps - _REACH)
    if inside.sum() < _LEAST_INTERVALS:
        return None
    counts = _counted(captured, offset_ns, wall[0], steps, cores)
    sampled = np.flatnonzero(counts.any(axis=1))  # others were not watched, or idle
    ran = shares.busy - shares.percent[MAP_MODES.index("steal")]
    taken, ran = counts[sampled] / (rate_hz * STEP_NS / 1e9), ran[sampled] / 100

    def alike(shifts: Iterable[int], rows: Bool) -> tuple[F64, F64]:
        return _alike(taken, ran[:, rows], first[rows], last[rows], shifts)

    likeness, share = alike(range(-_REACH, _REACH + 1), inside)
    at = int(likeness.argmax())
    best, shift = likeness[at], at - _REACH
    others = likeness[np.abs(np.arange(len(likeness)) - at) > _NEAR]
    is_clear = best >= _LEAST_ALIKE and best - others.max() >= _LEAST_AHEAD
    if not is_clear or share[at] < _LEAST_SHARE or abs(shift) == _REACH:
        return None
    # A load that comes again every so often fits there, too, if it is not much less likely.
    for other in _further(abs(shift)):
        rows = is_short & (first >= max(0, other)) & (last <= steps + min(0, other))
        if abs(other - shift) <= _NEAR or rows.sum() < _LEAST_INTERVALS // 2:
            continue
        if best - alike([other], rows)[0][0] < _LEAST_AHEAD:
            return None
    return Fit(shift * STEP_NS, float(best))


def _further(off: int) -> Iterator[int]:
    """Shifts beyond reach, but no further beyond than the best one is off."""
    for distance in range(_REACH + 1, _REACH + off + 1):
        yield from (-distance, distance)


def _nearest_step(since_ns: I64) -> I64:
    return (since_ns + STEP_NS // 2) // STEP_NS


def _alike(
    sampled: F64, busy: F64, first: I64, last: I64, shifts: Iterable[int]
) -> tuple[F64, F64]:
    """Of each shift, how well samples and busy time of intervals agree, and how much
    of what is busy now and then the samples stand for."""
    known = ~np.isnan(busy)
    total = np.zeros((len(sampled), sampled.shape[1] + 1))
    sampled.cumsum(axis=1, out=total[:, 1:])
    told = _about_mean(np.where(known, busy, 0.0), known)
    fits = [
        _fit(_about_mean((total[:, last - k] - total[:, first - k]) / (last - first), known), told)
        for k in shifts
    ]
    alike, share = zip(*fits, strict=True)
    return np.array(alike), np.array(share)


def _counted(
    captured: Sequence[Piece], offset_ns: int, wall_ns: int, steps: int, cores: tuple[int, ...]
) -> I64:
    """Samples of each core in each step from `wall_ns` on."""
    counts = np.zeros(len(cores) * steps, np.int64)
    start_ns, numbers = wall_ns - offset_ns, np.array(cores)
    for piece in captured:
        if piece.sampled is None:
            continue
        for rows in piece.sampled.rows.between(start_ns, start_ns + steps * STEP_NS):
            row = np.minimum(np.searchsorted(numbers, rows.core), len(numbers) - 1)
            cell = row * steps + (rows.time - start_ns) // STEP_NS
            counts += np.bincount(cell[numbers[row] == rows.core], minlength=len(counts))
    return counts.reshape(len(cores), steps)


def _about_mean(values: F64, known: Bool) -> F64:
    """What is more or less than usual on that core; 0 where nothing is known."""
    mean = (values * known).sum(axis=1, keepdims=True) / np.maximum(1, known.sum(axis=1))[:, None]
    return np.where(known, values - mean, 0.0)


def _fit(one: F64, other: F64) -> tuple[float, float]:
    """Their correlation, and how much of the other one of them is."""
    both, own, others = (
        float((a * b).sum()) for a, b in ((one, other), (one, one), (other, other))
    )
    return (both / (own * others) ** 0.5, both / others) if own and others else (0.0, 0.0)
