"""Where in hours of counters a capture may have been made, if nothing near fits.

The time of a file is that of its last copy: days off, as often as not. Second by second, what each
core did in minutes of samples is like what it did then, and like nothing else in a night.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.cpu import CoreShares, core_shares
from exhume.ingest.load_fit import (
    LEAST_ALIKE,
    LONGEST_NS,
    MOST_CORES,
    about_mean,
    counted,
    ran_ratio,
)
from exhume.ingest.piece import Piece
from exhume.ingest.written import USER_HZ
from exhume.model.arrays import F32, F64, I64
from exhume.model.series import Block

SECOND_NS = 1_000_000_000
_LEAST_SECONDS = 60
"""Of a capture: a burst or two come again anywhere."""
_MOST_CELLS = 6_000_000
"""Cores times seconds: of 96 cores 17 hours, which take 50 MB while they are put together."""
_LEAST_KNOWN = 0.9
"""Of the seconds, where counters have holes."""
_PARTS, _LEAST_PARTS = 4, 2
"""Parts of a capture, and how many of them have to be alike for themselves: one burst of a length
is like any other."""
_LEAST_OF_PART = 0.1
"""Of all that goes up and down in it: below that a part tells nothing."""
_LIKELY = LEAST_ALIKE - 0.2
"""Where seconds begin differs by half of one, which blurs short bursts."""
_NEAR_SECONDS = 5
_MOST_PLACES = 4


class Load(Struct, frozen=True):
    """How busy each core was, second by second."""

    start_ns: int
    """In wall time."""
    cores: tuple[int, ...]
    ran: F32
    """Shape (cores, seconds), from 0 to 1; NaN where it is not known."""


class _Part(Struct, frozen=True):
    """Of some minutes, no more than is needed: a night of many cores is large."""

    cores: tuple[int, ...]
    start_ns: I64
    end_ns: I64
    ran: F32

    @staticmethod
    def of(shares: CoreShares) -> _Part:
        ran = ran_ratio(shares).astype(np.float32)
        return _Part(shares.cores[:MOST_CORES], shares.start_ns, shares.end_ns, ran)


def load_of(parts: Iterable[Sequence[Block]]) -> Load | None:
    """Of counters on wall time, in parts of some minutes each; None where they say too little."""
    told: list[_Part] = []
    cells = 0
    for blocks in parts:
        if (shares := core_shares(blocks, USER_HZ)) is not None:
            told.append(_Part.of(shares))
            cells += told[-1].ran.size
        if cells > _MOST_CELLS:
            return None
    if not told:
        return None
    start_ns = min(int(one.start_ns[0]) for one in told)
    seconds = (max(int(one.end_ns[-1]) for one in told) - start_ns) // SECOND_NS
    cores = tuple(sorted({core for one in told for core in one.cores})[:MOST_CORES])
    if seconds < _LEAST_SECONDS or seconds * len(cores) > _MOST_CELLS:
        return None
    ran = np.full((len(cores), seconds), np.nan, np.float32)
    for one in told:
        _put(ran, start_ns, cores, one)
    return Load(start_ns, cores, ran)


def _put(ran: F32, start_ns: int, cores: tuple[int, ...], part: _Part) -> None:
    """What the interval says that the middle of a second lies in."""
    middle = start_ns + np.arange(ran.shape[1]) * SECOND_NS + SECOND_NS // 2
    at = np.searchsorted(part.start_ns, middle, "right") - 1
    is_told = (at >= 0) & (middle < part.end_ns[at])
    is_told &= (part.end_ns - part.start_ns <= LONGEST_NS)[at]
    seconds = np.flatnonzero(is_told)
    told = [core for core in part.cores if core in cores]
    rows, own = (np.searchsorted(np.array(of), told) for of in (cores, part.cores))
    ran[np.ix_(rows, seconds)] = part.ran[np.ix_(own, at[seconds])]


def places(captured: Sequence[Piece], first_ns: int, last_ns: int, load: Load) -> list[int]:
    """What its clock may lag behind wall time by, to half a second; the likeliest first.

    `first_ns`, `last_ns`: of its samples, by that clock.
    """
    seconds = (last_ns - first_ns) // SECOND_NS
    if not _LEAST_SECONDS <= seconds <= load.ran.shape[1]:
        return []
    counts = counted(captured, first_ns, seconds, SECOND_NS, load.cores)
    watched = np.flatnonzero(counts.any(axis=1))
    if not len(watched):
        return []
    alike = _likeness(counts[watched], load.ran[watched])
    found: list[int] = []
    for _ in range(_MOST_PLACES):
        at = int(alike.argmax())
        if alike[at] < _LIKELY:
            break
        if _in_several_parts(counts[watched], load.ran[watched, at : at + seconds]):
            found.append(load.start_ns + at * SECOND_NS - first_ns)
        alike[max(0, at - _NEAR_SECONDS) : at + _NEAR_SECONDS + 1] = 0
    return found


def _likeness(sampled: I64, ran: F32) -> F64:
    """Correlation of samples and busy time from each second on, each core's mean taken off."""
    seconds, begins = sampled.shape[1], ran.shape[1] - sampled.shape[1] + 1
    size = 1 << (ran.shape[1] + seconds).bit_length()
    products = np.zeros(size // 2 + 1, np.complex128)
    own_squares, squares, known = 0.0, np.zeros(begins), np.full(begins, float(seconds))
    for taken, line in zip(sampled, ran, strict=True):  # of all cores at once it would be too much
        is_known = ~np.isnan(line)
        own = taken - taken.mean()
        told = np.where(is_known, line, 0.0).astype(np.float64)
        products += np.fft.rfft(own, size).conj() * np.fft.rfft(told, size)
        count = _sliding_sum(is_known.astype(np.float64), seconds)
        total = _sliding_sum(told, seconds)
        squares += _sliding_sum(told**2, seconds) - total**2 / np.maximum(count, 1)
        own_squares += float((own**2).sum())
        known = np.minimum(known, count)
    both = np.fft.irfft(products, size)[:begins]
    varies = np.maximum(squares, 1e-9) * max(own_squares, 1e-9)
    is_told = (known >= _LEAST_KNOWN * seconds) & (squares > 1e-6)
    found: F64 = np.where(is_told, both / np.sqrt(varies), 0.0)
    return found


def _sliding_sum(values: F64, length: int) -> F64:
    total = np.concatenate([np.zeros(1), values.cumsum()])
    found: F64 = total[length:] - total[:-length]
    return found


def _in_several_parts(sampled: I64, ran: F32) -> bool:
    """Cut at other places too, or one burst that a cut goes through would count as two."""
    known = ~np.isnan(ran)
    taken = about_mean(sampled.astype(np.float64), known)
    told = about_mean(np.where(known, ran, 0.0).astype(np.float64), known)
    seconds = taken.shape[1]
    edges = np.linspace(0, seconds, 2 * _PARTS + 1).astype(np.int64)
    cuts = (edges[2:-1:2], edges[1:-1:2])
    return all(_alike_parts(taken, told, cut) >= _LEAST_PARTS for cut in cuts)


def _alike_parts(taken: F64, told: F64, cuts: I64) -> int:
    whole, alike = float((taken**2).sum()), 0
    for a, b in zip(np.split(taken, cuts, axis=1), np.split(told, cuts, axis=1), strict=True):
        own, other = float((a**2).sum()), float((b**2).sum())
        if own >= _LEAST_OF_PART * whole and other > 0:
            alike += float((a * b).sum()) >= _LIKELY * (own * other) ** 0.5
    return alike
