"""An input whose place in time is known: what it covers, and what is good to know of its place."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest.overlaps import Covered, Span, joined
from exhume.ingest.piece import Claim
from exhume.ingest.report import ZONE_IN_DOUBT, InputReport
from exhume.ingest.work import PieceSummary, ReadTask
from exhume.model.window import Window

LOGS = (
    "kernel log", "journal", "journal export", "journal verbose", "system log", "job log",
)  # fmt: skip
"""Formats whose lines tell of harm, if there is any."""
_OTHER_ZONE = (
    f"{ZONE_IN_DOUBT}, the nearest is {{:.1f}} h off: if its local times are not UTC, import all "
    "into a fresh directory with --zone"
)
_FURTHEST_NS = 231 * 31_556_952 * 1_000_000_000
"""From 1970: nanoseconds in 64 bits reach to 2262."""
_TOGETHER_NS = 1800 * 1_000_000_000
_ZONES_NS = 15 * 3600 * 1_000_000_000


class PlacedInput(Struct, frozen=True):
    task: ReadTask
    node: str
    pieces: tuple[tuple[PieceSummary, Claim | None], ...]
    with_samples: bool
    report: InputReport
    without: tuple[Span, ...] = ()
    """Stretches of wall time whose samples others have."""
    covered: Covered | None = None
    """What its samples cover, besides."""


def out_of_reach(one: PlacedInput) -> str | None:
    """What is wrong with an input that would be of a time which can't be kept."""
    for piece, claim in one.pieces:
        if claim is None or piece.span_ns is None:
            continue
        if max(abs(at + claim.offset_ns) for at in piece.span_ns) > _FURTHEST_NS:
            how = claim.how or "by its own times"
            return (
                f"{one.task.input.path}, its times would be more than 230 years from 1970 ({how}): "
                "tell it with --offset, or set the file's own time (touch -d)"
            )
    return None


def covered_by(
    node: str, task: ReadTask, settled: Sequence[tuple[PieceSummary, Claim | None]]
) -> Covered | None:
    pieces = [(piece, claim) for piece, claim in settled if piece.intervals and claim is not None]
    if not pieces or not any(piece.rows for piece, _ in pieces):
        return None
    # Those that read a share of it each tell of the whole of it.
    spans = joined(
        (one.start_ns + claim.offset_ns, one.end_ns + claim.offset_ns)
        for piece, claim in pieces
        for one in piece.intervals
    )
    told = pieces[-1][0].intervals[0]
    return Covered(
        node=node,
        path=str(task.input.path),
        spans=spans,
        event=told.event,
        rate_hz=told.rate_hz,
        is_whole=any(piece.is_whole for piece, _ in settled),
        cores=tuple(sorted({core for piece, _ in settled for core in piece.facts.cores})),
        threads=tuple({thread for piece, _ in pieces for thread in piece.threads}),
        rows=sum(piece.rows for piece, _ in pieces),
    )


def told_by(one: PlacedInput) -> Window | None:
    """From the first line of a log to its last; None of what is no log."""
    if one.task.format not in LOGS:
        return None
    spans = [
        (piece.told_ns[0] + claim.offset_ns, piece.told_ns[1] + claim.offset_ns + 1)
        for piece, claim in one.pieces
        if piece.told_ns is not None and piece.told_ns[1] and claim is not None
    ]
    return Window(min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None


def with_zone_notes(placed: Sequence[PlacedInput]) -> list[PlacedInput]:
    """Of local times taken as UTC that no other input meets it is said how to tell the zone."""
    found = list(placed)
    for number, one in enumerate(placed):
        own = one.report.window
        is_guess = "guessed" in one.report.clock and any(
            piece.guesses or (claim is not None and claim.is_local) for piece, claim in one.pieces
        )
        if own is None or not is_guess:
            continue
        others = (
            other.report.window
            for other in placed
            if other is not one and other.node == one.node and other.report.window
        )
        nearest_ns = min(
            (max(0, other.start_ns - own.end_ns, own.start_ns - other.end_ns) for other in others),
            default=0,
        )
        if _TOGETHER_NS < nearest_ns <= _ZONES_NS:
            notes = (*one.report.notes, _OTHER_ZONE.format(nearest_ns / 3600e9))
            found[number] = replace(one, report=replace(one.report, notes=notes))
    return found
