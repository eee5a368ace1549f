"""One node as a fleet of its own minutes: what was there in those with the symptom? Pure.

Minutes that follow each other are alike, so they are no independent witnesses. The symptom is
therefore shifted along the recording, round and round: how often does it meet the same attribute
as well by chance? And since one among hundreds of attributes always fits best, how often does it
meet any of them as well?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.fleet.cohort import UNKNOWN, Column, Fleet
from exhume.fleet.compare import compare
from exhume.fleet.comparison import Comparison, SplitClass
from exhume.model.arrays import F64, Bool
from exhume.model.fingerprint import Kind, Value

MAX_SHIFTS = 400
LEAST_WINDOWS = 20
LIMIT = 0.05
_AT_ONCE = 256


class Track(Struct, frozen=True):
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
    ill, well = ill & known, known & ~ill
    said = [
        *notes,
        "windows of one node follow each other and are alike: p is how often the symptom, shifted "
        "along the recording, meets the attribute as well, and q how often it so meets any of them",
    ]
    shifted = Shifted.of(tracks, ill)
    if shifted.least_p > LIMIT and ill.any() and well.any():
        said.append(
            "the symptom comes at such regular times that, shifted, it meets itself again: shorter "
            "windows (--each) may tell more"
        )
    answer = compare(fleet, ill, well, unit="window", notes=said)
    places = {(track.area, track.name): place for place, track in enumerate(tracks)}
    found = [shifted.judge(one, places[one.lead.area, one.lead.name]) for one in answer.classes]
    classes = sorted(found, key=lambda one: (not one.separates, one.alongside, one.q, one.p))
    separates = any(one.separates for one in classes)
    enough = int(known.sum()) >= LEAST_WINDOWS and min(int(ill.sum()), int(well.sum())) >= 3
    enough = enough and shifted.least_p <= LIMIT
    verdict = "separates" if separates else "nothing" if enough else "unknown"
    return replace(
        answer,
        verdict=verdict,
        classes=tuple(classes),
        smallest_p=max(answer.smallest_p, shifted.least_p),
    )


class Shifted(Struct, frozen=True):
    """How strongly each track goes with the symptom, as it is and shifted round the recording."""

    strength: F64
    """Shape (tracks,): above 0 where the ill windows have more of it."""
    others: F64
    """Shape (tracks, shifts)."""
    strongest: F64
    """Of each shift, whatever the track and the direction: many tracks have many chances."""
    least_p: float
    """Of what is there with the symptom and never else; less is not to be had."""
    is_presence: Bool

    @staticmethod
    def of(tracks: Sequence[Track], ill: Bool) -> Shifted:
        count = len(ill)
        steps = np.unique(np.linspace(1, count - 1, min(MAX_SHIFTS, count - 1)).astype(int))
        moved = np.stack([np.roll(ill, step) for step in (0, *steps)], axis=1).astype(np.float64)
        found = np.zeros((len(tracks), moved.shape[1]))
        for first in range(0, len(tracks), _AT_ONCE):
            rows = [_standard(track) for track in tracks[first : first + _AT_ONCE]]
            found[first : first + len(rows)] = np.stack(rows) @ moved
        itself = ill.astype(np.float64) @ moved
        return Shifted(
            found[:, 0],
            found[:, 1:],
            np.abs(found[:, 1:]).max(axis=0, initial=0.0),
            _share_reaching(itself[1:], float(itself[0])),
            np.array([track.is_presence for track in tracks], bool),
        )

    def judge(self, one: SplitClass, place: int) -> SplitClass:
        sign = 1.0 if one.lead.on_ill else -1.0
        if not self.is_presence[place] and not one.lead.test.startswith("≥"):
            sign = math.copysign(1.0, self.strength[place])  # one value among others
        met = sign * float(self.strength[place])
        p = _share_reaching(sign * self.others[place], met)
        q = max(p, _share_reaching(self.strongest, met))
        return replace(one, p=p, log10_p=math.log10(p), q=q, separates=q <= LIMIT)


def _share_reaching(others: F64, met: float) -> float:
    return (1 + int((others >= met - 1e-9).sum())) / (1 + len(others))


def _standard(track: Track) -> F64:
    """Mean 0 and deviation 1 over the windows that are known: there or not, or the rank."""
    known = np.isfinite(track.levels)
    row = np.zeros(len(known))
    values = track.levels[known]
    if not track.is_presence and len(values):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        values = (np.cumsum(counts) - counts / 2)[inverse]
    deviation = float(values.std()) if len(values) else 0.0
    if deviation > 0:
        row[known] = (values - values.mean()) / deviation
    return row


def _column(track: Track) -> Column:
    known = np.isfinite(track.levels)
    if track.is_presence:
        codes = np.where(known, (track.levels > 0).astype(np.int32), UNKNOWN).astype(np.int32)
        there = "happens" if track.area == "event" else "runs"
        return Column(track.area, track.name, track.kind, codes, (None, there))
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
