from __future__ import annotations

from datetime import timedelta, timezone

from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import Claim, Trust
from exhume.ingest.uptime_ties import UptimeTies

NS = 1_000_000_000


def ties(*pairs: tuple[int, int]) -> UptimeTies:
    found = UptimeTies()
    for wall, uptime in pairs:
        found.add(wall, uptime)
    return found


def claims(found: UptimeTies, times: LocalTimes | None = None) -> list[Claim]:
    return [claim for claim, _ in found.claims(times or LocalTimes(), "x")]


def test_without_readings_nothing_is_said() -> None:
    assert not claims(ties())


def test_of_whole_seconds_the_latest_is_the_nearest() -> None:
    # It is 100.9 s past when 5 s are up, and `date +%s` says 100.
    (claim,) = claims(ties((100 * NS, 5 * NS), (101 * NS, 5_100_000_000)))
    assert claim.offset_ns == 95_900_000_000


def test_of_finer_ones_the_middle_is() -> None:
    # The last one was read while the node was too busy to go on at once.
    pairs = [(100 * NS + 1, 15 * NS), (101 * NS + 1, 16 * NS), (109 * NS + 1, 17 * NS)]
    (claim,) = claims(ties(*pairs))
    assert (claim.offset_ns, claim.trust) == (85 * NS + 1, Trust.UPTIME)


def test_each_boot_is_told_apart() -> None:
    first = [((1000 + i) * NS + 1, (20 + i) * NS) for i in range(100)]
    second = [((1300 + i) * NS + 1, (10 + i) * NS) for i in range(50)]
    # Nobody looked when its clock was lower than the one before it had come to.
    third = [((1600 + i) * NS + 1, (200 + i) * NS) for i in range(5)]
    expected = [(980, 119), (1290, 59), (1400, 204)]
    for readings in (first + second + third, second + third + first):
        found = ties(*readings).claims(LocalTimes(), "x")
        told = sorted((claim.offset_ns // NS, until_ns // NS) for claim, until_ns in found)
        assert told == expected
    assert "by 50 readings" in claims(ties(*first, *second))[1].how


def test_a_zone_that_was_told_moves_it() -> None:
    times = LocalTimes(timezone(timedelta(hours=2)))
    times.saw_time(0, has_zone=False)
    (claim,) = claims(ties((100 * NS, 5 * NS)), times)
    assert (claim.offset_ns, claim.trust) == ((95 - 7200) * NS, Trust.UPTIME)
    assert not claim.is_local


def test_a_zone_that_nobody_told_may_be_another() -> None:
    times = LocalTimes()
    times.saw_time(0, has_zone=False)
    (claim,) = claims(ties((100 * NS, 5 * NS)), times)
    assert (claim.trust, claim.is_local) == (Trust.FILE_NAME, True)
    assert "taken as UTC" in claim.how
