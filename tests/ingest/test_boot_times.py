from __future__ import annotations

import pytest

from exhume.ingest.boot_times import BootTimes
from exhume.ingest.piece import Trust

NS = 1_000_000_000
BOOTED = 1_794_773_712


def look(times: BootTimes, booted: int, wall: int | None = None) -> None:
    text = b"cpu  1 2 3 4\nctxt 7\nbtime %d\nprocesses 9\n" % booted
    times.look(text, None if wall is None else wall * NS)


def test_it_is_the_middle_of_its_second_and_of_those_it_moved_between() -> None:
    times = BootTimes()
    look(times, BOOTED)
    ((claim, until_ns),) = times.claims("stat.log")
    assert claim.offset_ns == BOOTED * NS + NS // 2
    assert claim.trust == Trust.BOOT_TIME
    assert until_ns == 0
    look(times, BOOTED - 1, BOOTED + 300)
    ((claim, until_ns),) = times.claims("stat.log")
    assert claim.offset_ns == BOOTED * NS
    assert until_ns == 301 * NS


def test_each_boot_has_its_own() -> None:
    times = BootTimes()
    for booted in (BOOTED + 240, BOOTED, BOOTED + 241):
        look(times, booted, booted + 60)
    found = [(claim.offset_ns / NS - BOOTED, until / NS) for claim, until in times.claims("x")]
    assert found == [(0.5, 60), (241, 60)]


@pytest.mark.parametrize("text", [b"", b"cpu 1 2\n", b"btime 17\n", b"btime 1794773712 9\n"])
def test_without_it_nothing_is_said(text: bytes) -> None:
    times = BootTimes()
    times.look(text)
    assert not list(times.claims("x"))
