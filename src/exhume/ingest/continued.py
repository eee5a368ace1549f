"""Texts of perf script that are parts of one: each goes on where another ends, on perf's own clock.

`split` cuts what is too large to be sent. Of the parts at most the first has the header, all are
named after the whole, and all were written when it was cut: by their files and names alone they
would all end, or begin, at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest.piece import Claim, ClockKind, Trust

if TYPE_CHECKING:
    from exhume.ingest.alignment import Read
    from exhume.ingest.work import PieceSummary

TEXT = "perf script"
_MOST_GAP_NS = 2_000_000_000
"""Nobody is sampled while all cores idle. That the next boot's capture begins at so nearly the
uptime at which this one's ended does not happen."""
_PERIODS = 2
"""A capture is taken to last a period longer than to its last sample."""
_SAME_START_NS = 1_000_000
_SAME_END_NS = 1_000_000_000
"""How long a capture lasts after its last sample is a guess of each part."""


def continued(inputs: Sequence[Read], node_of: Callable[..., str]) -> list[Read]:
    """Each with the clock of the part that knows it best."""
    found = list(inputs)
    texts = sorted(
        (sampled_ns, node_of(task, pieces), number)
        for number, (task, pieces) in enumerate(inputs)
        if task.format == TEXT and len(pieces) == 1 and pieces[0].claim is not None
        and pieces[0].clock != ClockKind.WALL and (sampled_ns := pieces[0].sampled_ns) is not None
    )  # fmt: skip
    for node in sorted({node for _, node, _ in texts}):
        numbers = [number for _, own, number in texts if own == node]
        for chain in _chains(numbers, inputs):
            for number, piece in _by_the_best(chain, inputs):
                found[number] = (inputs[number][0], [piece])
    return found


def _chains(numbers: Sequence[int], inputs: Sequence[Read]) -> list[list[int]]:
    """`numbers`: in order of their first samples."""
    found: list[list[int]] = []
    for number in numbers:
        ends = (one for one in found if _goes_on(inputs[one[-1]][1][0], inputs[number][1][0]))
        chain = next(ends, None)
        if chain is None:
            found.append([number])
        else:
            chain.append(number)
    return [chain for chain in found if len(chain) > 1]


def _goes_on(before: PieceSummary, piece: PieceSummary) -> bool:
    if before.sampled_ns is None or piece.sampled_ns is None:
        return False
    if not before.intervals or not piece.intervals:
        return False
    own = piece.intervals[0]
    gap_ns = piece.sampled_ns[0] - before.sampled_ns[1]
    is_next = -_PERIODS * 1e9 / own.rate_hz <= gap_ns <= _MOST_GAP_NS
    return is_next and before.intervals[0].event == own.event


def _by_the_best(chain: Sequence[int], inputs: Sequence[Read]) -> list[tuple[int, PieceSummary]]:
    parts = [_Part(number, piece, piece.claim, piece.sampled_ns)
             for number in chain for piece in inputs[number][1]
             if piece.claim is not None and piece.sampled_ns is not None]  # fmt: skip
    trust = max(one.claim.trust for one in parts)
    best = [one for one in parts if one.claim.trust == trust]
    first, last = (min(best, key=_offset_ns), max(best, key=_offset_ns))
    if trust == Trust.TOLD:
        return []
    if trust == Trust.FILE_TIME:
        surest = first  # no file was written before what is in it ended
    elif trust != Trust.FILE_NAME or _is_one_time([one.began_ns for one in best], _SAME_START_NS):
        surest = last  # no capture began before its name says
    elif _is_one_time([one.ended_ns for one in best], _SAME_END_NS):
        surest = first  # perf names a file when it closes it (--switch-output)
    else:
        return []  # each has a time of its own
    name = inputs[surest.number][0].input.path.name
    how = f"{surest.claim.how} (said of {name}; its other parts go on with that)"
    held, clock = replace(surest.claim, how=how), surest.piece.clock
    return [(one.number, replace(one.piece, claim=held, clock=clock)) for one in parts]


class _Part(Struct, frozen=True):
    number: int
    piece: PieceSummary
    claim: Claim
    sampled_ns: tuple[int, int]

    @property
    def began_ns(self) -> int:
        return self.sampled_ns[0] + self.claim.offset_ns

    @property
    def ended_ns(self) -> int:
        return self.sampled_ns[1] + self.claim.offset_ns


def _offset_ns(part: _Part) -> int:
    return part.claim.offset_ns


def _is_one_time(wall_ns: Sequence[int], most_apart_ns: int) -> bool:
    return max(wall_ns) - min(wall_ns) <= most_apart_ns
