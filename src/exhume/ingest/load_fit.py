"""Where samples fit the times of cores: both tell how busy each core was in each second.

They are alike at one distance in time only, unless the load is the same everywhere or comes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.cpu import CoreShares, core_shares
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Piece
from exhume.ingest.written import USER_HZ
from exhume.model.arrays import F64, I64, Bool
from exhume.model.modes import MAP_MODES
from exhume.model.series import Block

STEP_NS = 100_000_000
REACH = 50
"""Steps that a capture may be off by, to either side."""
LONGEST_NS = 2_500_000_000
"""Who reads counters less often does not tell when in between a core was busy."""
LEAST_ALIKE = 0.8
MOST_CORES = 256
_LEAST_INTERVALS = 20
LEAST_AHEAD = 0.05
_LEAST_SHARE = 0.6
"""Of the busy time that samples must stand for. A correlation knows no amounts: of who runs little
and wakes who runs much, samples fit the other's time best."""
_NEAR = 15
"""Steps from the best one within which others are nearly as good."""


class Fit(Struct, frozen=True):
    shift_ns: int
    """Of the samples: so much later than thought."""
    alike: float
    """Correlation of samples and busy time, each core's mean taken off."""


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
    cores = shares.cores[:MOST_CORES]
    steps = -(-(wall[1] - wall[0]) // STEP_NS)
    first, last = (_nearest_step(at - wall[0]) for at in (shares.start_ns, shares.end_ns))
    is_short = (first < last) & (shares.end_ns - shares.start_ns <= LONGEST_NS)
    inside = is_short & (first >= REACH) & (last <= steps - REACH)
    if inside.sum() < _LEAST_INTERVALS:
        return None
    counts = counted(captured, wall[0] - offset_ns, steps, STEP_NS, cores)
    sampled = np.flatnonzero(counts.any(axis=1))  # others were not watched, or idle
    taken = counts[sampled] / (rate_hz * STEP_NS / 1e9)
    ran = ran_ratio(shares)[sampled]

    def alike(shifts: Iterable[int], rows: Bool) -> tuple[F64, F64]:
        return _alike(taken, ran[:, rows], first[rows], last[rows], shifts)

    likeness, share = alike(range(-REACH, REACH + 1), inside)
    at = int(likeness.argmax())
    best, shift = likeness[at], at - REACH
    others = likeness[np.abs(np.arange(len(likeness)) - at) > _NEAR]
    is_clear = best >= LEAST_ALIKE and best - others.max() >= LEAST_AHEAD
    if not is_clear or share[at] < _LEAST_SHARE or abs(shift) == REACH:
        return None
    # A load that comes again every so often fits there, too, if it is not much less likely.
    for other in _further(abs(shift)):
        rows = is_short & (first >= max(0, other)) & (last <= steps + min(0, other))
        if abs(other - shift) <= _NEAR or rows.sum() < _LEAST_INTERVALS // 2:
            continue
        if best - alike([other], rows)[0][0] < LEAST_AHEAD:
            return None
    return Fit(shift * STEP_NS, float(best))


def _further(off: int) -> Iterator[int]:
    """Shifts beyond reach, but no further beyond than the best one is off."""
    for distance in range(REACH + 1, REACH + off + 1):
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
    told = about_mean(np.where(known, busy, 0.0), known)
    fits = [
        _fit(about_mean((total[:, last - k] - total[:, first - k]) / (last - first), known), told)
        for k in shifts
    ]
    alike, share = zip(*fits, strict=True)
    return np.array(alike), np.array(share)


def ran_ratio(shares: CoreShares) -> F64:
    """How busy each core was in each interval, from 0 to 1; what another machine stole is no
    time that samples could be of."""
    ran: F64 = (shares.busy - shares.percent[MAP_MODES.index("steal")])[:MOST_CORES] / 100
    return ran


def counted(
    captured: Sequence[Piece], start_ns: int, steps: int, step_ns: int, cores: tuple[int, ...]
) -> I64:
    """Samples of each core in each step from `start_ns` of their own clock on."""
    counts = np.zeros(len(cores) * steps, np.int64)
    numbers = np.array(cores)
    for piece in captured:
        if piece.sampled is None:
            continue
        for rows in piece.sampled.rows.between(start_ns, start_ns + steps * step_ns):
            row = np.minimum(np.searchsorted(numbers, rows.core), len(numbers) - 1)
            cell = row * steps + (rows.time - start_ns) // step_ns
            counts += np.bincount(cell[numbers[row] == rows.core], minlength=len(counts))
    return counts.reshape(len(cores), steps)


def about_mean(values: F64, known: Bool) -> F64:
    """What is more or less than usual on that core; 0 where nothing is known."""
    mean = (values * known).sum(axis=1, keepdims=True) / np.maximum(1, known.sum(axis=1))[:, None]
    return np.where(known, values - mean, 0.0)


def _fit(one: F64, other: F64) -> tuple[float, float]:
    """Their correlation, and how much of the other one of them is."""
    both, own, others = (
        float((a * b).sum()) for a, b in ((one, other), (one, one), (other, other))
    )
    return (both / (own * others) ** 0.5, both / others) if own and others else (0.0, 0.0)
