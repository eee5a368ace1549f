"""Which boot a piece on the kernel's clock is of, and so what its times mean.

perf's clock and the kernel log's are one, and count from about the boot: all pieces of a boot have
one offset, the surest that any of them claims. So their order and distances are right to the
microsecond even where the wall time is a second off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest.boot_marks import NO_MARKS, Marks, is_one_boot
from exhume.ingest.clocks import WALL_TIMES
from exhume.ingest.local_times import MINUTE_NS, ZONES_MINUTES
from exhume.ingest.piece import Claim, ClockKind, Trust

NS = 1_000_000_000
SAME_BOOT_NS = 5 * NS
"""Claims that differ by less are of one boot: then the first one holds for all."""
_MOST_OFF_NS = 86_400 * NS
"""A hardware clock that is further off than any zone tells nothing."""
_BY_ANOTHER = (
    "guessed: by another capture of that boot, whose file was written soonest after it ended; "
    "--offset sets it"
)
_AS_IF = "guessed: as if both were of one node, "


class Anchor(Struct, frozen=True):
    """What is said of a clock. Where it is settled, pieces of that boot are put in its place."""

    node: str
    kind: ClockKind
    claim: Claim
    boot: Marks = NO_MARKS
    until_ns: int = 0
    """How far that clock is known to have counted."""


def settle_all(
    said: Iterable[Anchor], anchors: list[Anchor], strangers: Set[str] = frozenset()
) -> None:
    """Adds anchors for all of them: the surest first, so that no poorer claim holds instead.

    No file was written before what is in it ended: of those that nothing else places the one that
    was written soonest is nearest to the truth.
    """
    for one in sorted(said, key=lambda one: (-one.claim.trust, one.claim.offset_ns)):
        settle(one.node, one.kind, one.claim, anchors, one.boot, one.until_ns, strangers)


def settle(
    node: str,
    kind: ClockKind,
    claim: Claim | None,
    anchors: list[Anchor],
    boot: Marks = NO_MARKS,
    until_ns: int = 0,
    strangers: Set[str] = frozenset(),
) -> Claim | None:
    """What holds for a piece; adds an anchor where it is the first. None: nobody knows.

    `strangers`: nodes that stand for several machines, or may. What is said of the clock of one
    holds for others only where they show to be of that boot.
    """
    if kind == ClockKind.WALL:
        return WALL_TIMES
    if kind != ClockKind.KERNEL_LOG:
        return claim
    known = [one for one in anchors if one.node in (node, "") and one.kind == kind]
    known.sort(key=lambda one: -one.claim.trust)
    if claim is None:
        return _as_if(known[0], strangers) if known else None
    said = Anchor(node, kind, claim, boot, until_ns)
    known = [one for one in known if one.node not in strangers or _may_hold(said, one)]
    found = _of_surer(said, known) or _of_equal(said, known)
    settled = said if found is None else replace(said, claim=found.claim)
    if found is None or (boot and not _is_known(settled, known)):
        anchors.append(settled)
    if found is not None and found.claim.trust > claim.trust == Trust.NONE:
        return _as_if(found, strangers)
    if claim.trust == settled.claim.trust == Trust.FILE_TIME and claim != settled.claim:
        return replace(settled.claim, how=_BY_ANOTHER)
    return settled.claim


def _may_hold(said: Anchor, stranger: Anchor) -> bool:
    """May what a machine says that nobody knows hold for this one?"""
    if said.claim.trust == Trust.NONE < stranger.claim.trust:
        return True  # nothing else is known, and it is told
    is_near = _apart_ns(said, stranger) <= SAME_BOOT_NS
    return is_near or is_one_boot(said.boot, stranger.boot)


def _as_if(found: Anchor, strangers: Set[str]) -> Claim:
    claim = found.claim
    is_guess = found.node in strangers and not claim.how.startswith("guessed")
    return replace(claim, how=f"{_AS_IF}{claim.how}") if is_guess else claim


def _of_surer(said: Anchor, known: Sequence[Anchor]) -> Anchor | None:
    """Of the boots that surer ones tell of, the one that it is of."""
    surer = [one for one in known if _gives_way(said, one)]
    marked = [one for one in surer if is_one_boot(one.boot, said.boot)]
    if not surer:
        return None
    nearest = min(marked or surer, key=lambda one: _apart_ns(said, one))
    same = (one for one in surer if _apart_ns(one, nearest) <= SAME_BOOT_NS)
    return max(same, key=lambda one: one.claim.trust)


def _gives_way(said: Anchor, other: Anchor) -> bool:
    """Is the other one surer, and may both be of one boot?"""
    own, its = said.claim.trust, other.claim.trust
    zone = zone_apart(said.claim, other.claim)
    if {own, its} == {Trust.FILE_TIME, Trust.HARDWARE_CLOCK} and zone:
        return own == Trust.HARDWARE_CLOCK  # it runs in local time
    if its <= own:
        return False
    if own == Trust.NONE:
        return True
    if own == Trust.FILE_TIME:
        is_written_later = other.claim.offset_ns <= said.claim.offset_ns + SAME_BOOT_NS
        return is_written_later or its > Trust.HARDWARE_CLOCK
    if own == Trust.HARDWARE_CLOCK:
        return _overlap(said, other) or zone is not None
    return _apart_ns(said, other) <= SAME_BOOT_NS


def _of_equal(said: Anchor, known: Sequence[Anchor]) -> Anchor | None:
    own = said.claim.trust
    for one in known:
        if one.claim.trust != own:
            continue
        is_marked = own == Trust.FILE_TIME and is_one_boot(one.boot, said.boot)
        if own == Trust.NONE or is_marked or _apart_ns(said, one) <= SAME_BOOT_NS:
            return one
    return None


def _is_known(settled: Anchor, known: Iterable[Anchor]) -> bool:
    """Is one of the same boot there already by which others are known to be of it?"""
    return any(one.claim == settled.claim and is_one_boot(one.boot, settled.boot) for one in known)


def _apart_ns(a: Anchor, b: Anchor) -> int:
    return abs(a.claim.offset_ns - b.claim.offset_ns)


def _overlap(a: Anchor, b: Anchor) -> bool:
    """Did the later one begin before the other had ended? Then it is the same: one at a time."""
    first = min(a, b, key=lambda one: one.claim.offset_ns)
    return _apart_ns(a, b) <= min(max(first.until_ns, SAME_BOOT_NS), _MOST_OFF_NS)


def zone_apart(claim: Claim, other: Claim) -> int | None:
    """The zone that the first is in if the other is in UTC, in minutes; None: it is not that."""
    apart_ns = claim.offset_ns - other.offset_ns
    east = round(apart_ns / MINUTE_NS)
    is_whole = abs(apart_ns - east * MINUTE_NS) <= SAME_BOOT_NS
    return east if is_whole and (not east or east in ZONES_MINUTES) else None
