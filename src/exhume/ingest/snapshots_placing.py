"""Inputs whose wall time is a guess: what the others say of when it was.

A table of local times fits the others in one zone and misses them in another; a copy without a time
was taken at one end of them, if its name says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Claim, Trust

_NEAR_NS = 3600 * 1_000_000_000
"""A file written this long before or after what the others tell of was written with them."""


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


def chosen(pieces: Sequence[Floating], claim: Claim, others: Sequence[Span]) -> Claim:
    """What holds for all pieces of an input whose claim is a guess."""
    spans = [span for piece in pieces if (span := piece.told_ns or piece.span_ns) is not None]
    if not spans or not others:
        return claim
    own = min(s[0] for s in spans), max(s[1] for s in spans)
    whole = min(s[0] for s in others), max(s[1] for s in others)
    guesses = next((piece.guesses for piece in pieces if piece.guesses), ())
    if guesses:
        best = max((claim, *guesses), key=lambda one: _shared(own, one, whole))
        # What was logged a little before or after the others is no reason for another zone.
        enough = min(own[1] - own[0], whole[1] - whole[0]) // 2
        return best if _shared(own, best, whole) > enough else claim
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


def _shared(own: Span, claim: Claim, others: Span) -> int:
    """How long it overlaps with them. Of equals the first counts."""
    start, end = own[0] + claim.offset_ns, own[1] + claim.offset_ns
    return max(0, min(end, others[1]) - max(start, others[0]) + 1)
