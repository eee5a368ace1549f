"""Times in the names of captures that do not say their zone: which it was, by what others tell.

`date +%Y%m%d-%H%M%S` gives local time, and what perf itself calls its files too. What others know
of the kernel's clock is off by that zone then, to the second; else the samples lie where the other
inputs are in one zone, and miss them in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from exhume.ingest.boot_clocks import zone_apart
from exhume.ingest.local_times import MINUTE_NS, ZONES_MINUTES, zone_name
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Claim, Trust
from exhume.ingest.snapshots_placing import fitting


def zoned(claim: Claim, own: Span, known: Iterable[Claim], others: Sequence[Span]) -> Claim:
    """The claim in the zone that fits; unchanged but for being called a guess where none does.

    `own`: what it is about, of its own clock; `known`: all that is said of that clock; `others`:
    stretches of wall time that inputs tell of which know their time.
    """
    if not claim.is_local:
        return claim
    fits = [
        (one.trust, east)
        for one in known
        if not one.is_local and (east := zone_apart(claim, one)) is not None
    ]
    trust, east = max(fits, key=lambda fit: fit[0], default=(Trust.NONE, 0))
    if trust >= Trust.FILE_NAME:
        return _in_zone(claim, east)
    # The hardware clock may run in local time itself, which shows by the other inputs.
    is_told = trust == Trust.HARDWARE_CLOCK
    first = _in_zone(claim, east if is_told else 0)
    zones = [first, *(_in_zone(claim, east) for east in (0, *ZONES_MINUTES))]
    if (found := fitting(own, zones, others)) is not None:
        return found
    if is_told:
        return first
    return replace(claim, how=f"guessed: {claim.how}, or a time zone; --zone tells")


def zone_of_boot(local_ns: int, known: Iterable[Claim]) -> int | None:
    """What takes local times to wall time, by when the kernel booted in them and what others say
    of that. None: they tell of another boot, or of none."""
    said = Claim(local_ns, Trust.NONE, "")
    zones = (zone_apart(said, one) for one in known if one.trust >= Trust.BOOT_TIME)
    east = next((one for one in zones if one is not None), None)
    return None if east is None else -east * MINUTE_NS


def _in_zone(claim: Claim, east_minutes: int) -> Claim:
    if not east_minutes:
        return replace(claim, is_local=False)
    offset_ns = claim.offset_ns - east_minutes * MINUTE_NS
    how = claim.how.replace("taken as UTC", f"taken as {zone_name(east_minutes)} like the others")
    return Claim(offset_ns, claim.trust, how)
