from __future__ import annotations

from datetime import timedelta, timezone

from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import Trust
from exhume.ingest.uptime_ties import UptimeTies

NS = 1_000_000_000


def ties(*pairs: tuple[int, int]) -> UptimeTies:
    found = UptimeTies()
    for wall, uptime in pairs:
        found.add(wall, uptime)
    return found


def test_without_readings_nothing_is_said() -> None:
    assert ties().claim(LocalTimes(), "x") is None


def test_of_whole_seconds_the_latest_is_the_nearest() -> None:
    # It is 100.9 s past when 5 s are up, and `date +%s` says 100.
    claim = ties((100 * NS, 5 * NS), (101 * NS, 5_100_000_000)).claim(LocalTimes(), "x")
    assert claim is not None
    assert claim.offset_ns == 95_900_000_000


def test_of_finer_ones_the_middle_is() -> None:
    pairs = [(100 * NS + 1, 5 * NS), (101 * NS + 1, 6 * NS), (109 * NS + 1, 7 * NS)]
    claim = ties(*pairs).claim(LocalTimes(), "x")
    assert claim is not None
    assert (claim.offset_ns, claim.trust) == (95 * NS + 1, Trust.UPTIME)


def test_a_zone_that_was_told_moves_it() -> None:
    times = LocalTimes(timezone(timedelta(hours=2)))
    times.saw_time(0, has_zone=False)
    claim = ties((100 * NS, 5 * NS)).claim(times, "x")
    assert claim is not None
    assert (claim.offset_ns, claim.trust) == ((95 - 7200) * NS, Trust.UPTIME)
