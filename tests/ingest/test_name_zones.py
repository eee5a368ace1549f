from __future__ import annotations

from msgspec.structs import replace

from exhume.ingest.name_zones import zoned
from exhume.ingest.piece import Claim, Trust

NS = 1_000_000_000
HOUR = 3600 * NS
BOOTED = 500_000 * HOUR
OWN = (10 * NS, 350 * NS)
NAME = "by the time in its name, taken as UTC: a second or two off"


def named(hours_off: float) -> Claim:
    """Two seconds before its first sample, by a clock of another zone."""
    return Claim(BOOTED - 2 * NS + round(hours_off * HOUR), Trust.FILE_NAME, NAME, is_local=True)


def hours_off(claim: Claim) -> float:
    return round((claim.offset_ns - BOOTED) / HOUR, 2)


def told(trust: Trust, hours: float = 0) -> Claim:
    return Claim(BOOTED + round(hours * HOUR), trust, "")


WHEN = [(BOOTED, BOOTED + 400 * NS)]


def test_what_is_surer_of_the_clock_tells_the_zone() -> None:
    for trust in (Trust.HARDWARE_CLOCK, Trust.FILE_NAME, Trust.BOOT_TIME, Trust.UPTIME):
        for zone in (-8, 0, 1, 5.75, 14):
            found = zoned(named(zone), OWN, [named(zone), told(trust)], [])
            assert hours_off(found) == 0
            assert not found.is_local
            assert "guessed" not in found.how
    assert "taken as UTC-08:00" in zoned(named(-8), OWN, [told(Trust.UPTIME)], []).how
    assert zoned(named(0), OWN, [told(Trust.UPTIME)], []).how == NAME


def test_else_the_zone_does_in_which_it_lies_where_the_others_are() -> None:
    found = zoned(named(-8), OWN, [], WHEN)
    assert hours_off(found) == 0
    assert "taken as UTC-08:00" in found.how
    assert zoned(named(0), OWN, [], WHEN) == replace(named(0), is_local=False)


def test_a_hardware_clock_in_local_time_is_told_by_the_others() -> None:
    for zone in (0, 2):
        found = zoned(named(zone), OWN, [told(Trust.HARDWARE_CLOCK, 2)], WHEN)
        assert hours_off(found) == 0
    # All day long something is told: then it is rather the name that is local.
    day = [(BOOTED - 12 * HOUR, BOOTED + 12 * HOUR)]
    assert hours_off(zoned(named(-8), OWN, [told(Trust.HARDWARE_CLOCK)], day)) == 0


def test_where_nothing_tells_it_is_a_guess() -> None:
    other_boot = [told(Trust.UPTIME, -30), told(Trust.FILE_TIME), named(-7)]
    for known in ([], other_boot):
        found = zoned(named(-8), OWN, known, [])
        assert found.offset_ns == named(-8).offset_ns
        assert found.is_local
        assert found.how.startswith("guessed: by the time in its name, taken as UTC")
        assert "--zone" in found.how


def test_who_says_the_zone_is_not_moved() -> None:
    claim = replace(named(-8), is_local=False)
    assert zoned(claim, OWN, [told(Trust.UPTIME)], WHEN) == claim
