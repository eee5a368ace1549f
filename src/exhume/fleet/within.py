"""One node as a fleet of its own minutes: what was there in those with the symptom? Pure.

Minutes that follow each other are alike, so they are no independent witnesses. The symptom is
therefore shifted along the recording, round and round: how often does it meet the same attribute
as well by chance?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exhume.fleet.cohort import UNKNOWN, Column, Fleet
from exhume.fleet.compare import compare
from exhume.fleet.comparison import Comparison, SplitClass
from exhume.model.arrays import F64, Bool
from exhume.model.fingerprint import Kind, Value

MAX_SHIFTS = 400
LEAST_WINDOWS = 20


@dataclass(frozen=True, slots=True)
class Track:
    """One attribute over the windows: a level each, NaN where nothing was recorded."""

    area: str
    name: str
    kind: Kind
    levels: F64
    is_presence: bool
    """1 and 0 mean there and not there."""


def compare_windows(
    tracks: Sequence[Track], names: Sequence[str], ill: Bool, known: Bool, notes: Sequence[str]
) -> Comparison:
    fleet = Fleet(tuple(names), tuple(_column(track) for track in tracks))
    well = known & ~ill
    said = [
        *notes,
        "windows of one node follow each other and are alike: p is how often the symptom, shifted "
        "along the recording, meets the attribute as well",
    ]
    answer = compare(fleet, ill & known, well, unit="window", notes=said)
    shifted = [_by_shifts(one, tracks, ill & known, known) for one in answer.classes]
    classes = sorted(shifted, key=lambda one: (not one.separates, one.alongside, one.p))
    separates = any(one.separates for one in classes)
    enough = int(known.sum()) >= LEAST_WINDOWS and int(ill.sum()) >= 3
    verdict = "separates" if separates else "nothing" if enough else "unknown"
    return replace(answer, verdict=verdict, classes=tuple(classes))  # type: ignore[arg-type]


def _by_shifts(one: SplitClass, tracks: Sequence[Track], ill: Bool, known: Bool) -> SplitClass:
    track = next(
        track for track in tracks if (track.area, track.name) == (one.lead.area, one.lead.name)
    )
    has = _holds(track, one.lead.test)
    usable = known & np.isfinite(track.levels)
    if not one.lead.on_ill:
        has = ~has
    met = _share(has, ill, usable)
    count = len(ill)
    steps = np.unique(np.linspace(1, count - 1, min(MAX_SHIFTS, count - 1)).astype(int))
    others = [_share(has, np.roll(ill, step), usable) for step in steps]
    p = (1 + sum(other >= met - 1e-12 for other in others)) / (1 + len(others))
    return replace(one, p=p, log10_p=float(np.log10(p)), separates=one.separates and p <= 0.05)


def _share(has: Bool, ill: Bool, usable: Bool) -> float:
    """How much more often it is there with the symptom than without."""
    with_it, without = has[usable & ill], has[usable & ~ill]
    if not len(with_it) or not len(without):
        return 0.0
    return float(with_it.mean() - without.mean())


def _holds(track: Track, test: str) -> Bool:
    sign, _, wanted = test.partition(" ")
    with np.errstate(invalid="ignore"):
        if track.is_presence:
            found: Bool = track.levels > 0
        elif sign == "≥":
            found = track.levels >= float(wanted)
        else:
            found = track.levels == float(wanted)
    return found


def _column(track: Track) -> Column:
    known = np.isfinite(track.levels)
    if track.is_presence:
        codes = np.where(known, (track.levels > 0).astype(np.int32), UNKNOWN).astype(np.int32)
        return Column(track.area, track.name, track.kind, codes, (None, "runs"))
    levels, inverse = np.unique(track.levels[known], return_inverse=True)
    codes = np.full(len(known), UNKNOWN, np.int32)
    codes[known] = inverse
    values: tuple[Value, ...] = tuple(levels.tolist())
    return Column(track.area, track.name, track.kind, codes, values)


def rounded(levels: F64) -> F64:
    """Three figures are enough for a threshold."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (2 - np.floor(np.log10(np.abs(levels))))
        return np.where(levels == 0, 0.0, np.round(levels * scale) / scale)


def binned(times: F64, values: F64, edges: F64) -> F64:
    """The mean of each window; NaN where it has no reading."""
    place = np.searchsorted(edges, times, side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1) & np.isfinite(values)
    count = np.bincount(place[inside], minlength=len(edges) - 1)
    total = np.bincount(place[inside], weights=values[inside], minlength=len(edges) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count, np.nan)


def presence(seen: Mapping[str, F64], edges: F64, area: str, known: Bool) -> list[Track]:
    """Names seen at times: there in a window, or not, wherever anything was recorded."""
    tracks: list[Track] = []
    for name, times in seen.items():
        place = np.searchsorted(edges, times, side="right") - 1
        place = place[(place >= 0) & (place < len(edges) - 1)]
        levels = np.where(known, 0.0, np.nan)
        levels[place] = 1.0
        tracks.append(Track(area, name, "load", levels, is_presence=True))
    return tracks
