"""Inputs whose wall time is a guess: what the others say of when it was.

A table of local times fits the others in one zone and misses them in another; a copy without a time
was taken at one end of them, if its name says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from exhume.ingest.overlaps import Span, joined
from exhume.ingest.piece import Claim, Trust

_NEAR_NS = 3600 * 1_000_000_000
"""A file written this long before or after what the others tell of was written with them."""
_DAY_NS = 86_400 * 1_000_000_000
_NEARLY = 0.8
_GAP_NS = 1800 * 1_000_000_000
"""Nobody means by a shorter one that nothing was there: readings may be minutes apart."""


class Floating(Protocol):
    """What has to be known of a piece."""

    @property
    def span_ns(self) -> Span | None: ...
    @property
    def told_ns(self) -> Span | None: ...
    @property
    def guesses(self) -> tuple[Claim, ...]: ...
    @property
    def edge(self) -> str: ...


def is_floating(piece: Floating, claim: Claim | None) -> bool:
    return bool(piece.guesses or piece.edge) or (
        claim is not None and claim.trust == Trust.FILE_TIME
    )


def chosen(
    pieces: Sequence[Floating],
    claim: Claim,
    sure: Sequence[Span],
    guessed: Sequence[Span] = (),
    zone_ns: int | None = None,
) -> Claim:
    """What holds for all pieces of an input whose claim is a guess.

    `sure`, `guessed`: what the others tell of, by how they know when that was. `zone_ns`: what
    takes local times to wall time in the zone that the node is known to be in.
    """
    spans = [span for piece in pieces if (span := piece.told_ns or piece.span_ns) is not None]
    others = [*sure, *guessed]
    guesses = next((piece.guesses for piece in pieces if piece.guesses), ())
    if not spans or not (others or (guesses and zone_ns is not None)):
        return claim
    own = min(s[0] for s in spans), max(s[1] for s in spans)
    if guesses:
        is_log = any(piece.told_ns is not None for piece in pieces)
        return _of_zone(own, (claim, *guesses), sure, zone_ns, is_log=is_log)
    whole = min(s[0] for s in others), max(s[1] for s in others)
    edge = next((piece.edge for piece in pieces if piece.edge), "")
    if edge == "start":
        how = "guessed: its name says the start, so where the other files begin"
        return Claim(whole[0] - own[0], Trust.FILE_TIME, how)
    if edge == "end":
        how = "guessed: its name says the end, so where the other files end"
        return Claim(whole[1] - own[1], Trust.FILE_TIME, how)
    is_near = (
        whole[0] - _NEAR_NS <= own[0] + claim.offset_ns
        and own[1] + claim.offset_ns <= whole[1] + _NEAR_NS
    )
    if is_near:
        return claim
    how = "guessed: nothing tells when it was, and the file was written at another time than the "
    how = f"{how}others: put at their end"
    return Claim(whole[1] - own[1], Trust.NONE, how)


def zone_of(pieces: Sequence[Floating], claim: Claim) -> int | None:
    """What takes local times to wall time, where that shows by how the input fits the others."""
    guesses = next((piece.guesses for piece in pieces if piece.guesses), ())
    return claim.offset_ns % _DAY_NS if claim in guesses else None


def _of_zone(
    own: Span, claims: Sequence[Claim], sure: Sequence[Span], zone_ns: int | None, *, is_log: bool
) -> Claim:
    """A node is in one zone. How long a log meets the others tells little of its own: a kernel's
    reaches back to the boot, and ends with whatever happened last. But who wrote a table may have
    chosen another zone, which shows where it meets far more of the others there."""
    in_zone = [one for one in claims if zone_ns is not None and one.offset_ns % _DAY_NS == zone_ns]
    stretches = joined(sure, _GAP_NS)
    least = 1 if is_log else _NEARLY * max(_shared(own, one, stretches) for one in claims)
    for one in in_zone:
        if _shared(own, one, stretches) >= max(1, least):
            return one
    return fitting(own, claims, sure) or next(iter(in_zone), claims[0])


def fitting(own: Span, claims: Sequence[Claim], others: Sequence[Span]) -> Claim | None:
    """Of several zones the first that fits, unless another meets clearly more of the others.

    What was told a little before or after the others is no reason for another zone: only as much
    as moving it would explain.
    """
    stretches = joined(others, _GAP_NS)
    shared = [_shared(own, claim, stretches) for claim in claims]
    most = max(shared)
    best = claims[shared.index(most)]
    length = own[1] - own[0]
    enough = min(length, sum(end - start for start, end in stretches)) // 2
    if most <= enough:
        return None
    return next(
        claim
        for claim, here in zip(claims, shared, strict=True)
        if most - here <= min(length, abs(best.offset_ns - claim.offset_ns)) // 2
    )


def _shared(own: Span, claim: Claim, others: Sequence[Span]) -> int:
    """How long it overlaps with them."""
    start, end = own[0] + claim.offset_ns, own[1] + claim.offset_ns
    return sum(max(0, min(end, other[1]) - max(start, other[0]) + 1) for other in others)
