"""When the machine is scanned again because births on it were missed."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from exhume.record.hearing import LONGEST_SCAN_AGAIN_NS, SCAN_AGAIN_NS, Hearing
from tests.record.fake import SECOND, FakeClock, FakeSampler, drained_of

MISSED = replace(drained_of(), lost_sideband={0: 5})
HEARD = drained_of()


def scans(misses: list[bool]) -> list[int]:
    """The seconds in which another scan is wanted, and done at once."""
    hearing = Hearing(FakeClock(), FakeSampler(), {})
    done = []
    for second, is_missed in enumerate(misses):
        hearing.mind_silence(MISSED if is_missed else HEARD, [])
        if hearing.wants_scan(second * SECOND):
            hearing.scanned(second * SECOND)
            done.append(second)
    return done


def test_in_a_storm_it_scans_ever_less_often_but_never_gives_up() -> None:
    done = scans([True] * 400)
    again, longest = SCAN_AGAIN_NS // SECOND, LONGEST_SCAN_AGAIN_NS // SECOND
    gaps = [later - one for one, later in pairwise(done)]
    assert gaps[:2] == [2 * again, 4 * again]
    assert set(gaps[2:]) == {longest}


def test_what_is_missed_once_is_scanned_for_once() -> None:
    again = SCAN_AGAIN_NS // SECOND
    assert scans([False] * again + [True] + [False] * 100) == [again]
