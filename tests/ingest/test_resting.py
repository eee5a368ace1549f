from __future__ import annotations

import numpy as np

from exhume.ingest.resting import Resting
from exhume.model.arrays import Bool

HALT, MWAIT, POLL = 0xFFFFFFFF_81A2E1E0, 0xFFFFFFFF_81B00010, 0xFFFFFFFF_81000000


def rests(resting: Resting, *samples: tuple[int, int]) -> Bool:
    """Of samples of the idle task as (address, core)."""
    ip = np.array([one for one, _ in samples], np.uint64)
    return resting.of(ip, np.array([core for _, core in samples], np.uint16))


def test_where_most_cores_are_found_again_and_again_they_rest() -> None:
    work = [(POLL + 16 * i, i % 2) for i in range(20)]
    found = rests(Resting(), *[(HALT, 0), (HALT, 1)] * 40, *[(MWAIT, 0), (MWAIT, 1)] * 30, *work)
    assert found.tolist() == [True] * 140 + [False] * 20


def test_what_one_core_of_many_does_all_the_time_is_work() -> None:
    found = rests(Resting(), *[(HALT, core) for core in range(40)], *[(POLL, 7)] * 40)
    assert found.tolist() == [True] * 40 + [False] * 40


def test_a_few_samples_tell_nothing_until_more_come() -> None:
    resting = Resting()
    assert not rests(resting, *[(HALT, 0)] * 5).any()
    assert rests(resting, *[(HALT, 0)] * 15).all()
    assert rests(resting, (HALT, 0), (POLL, 0)).tolist() == [True, False]
    assert rests(resting).tolist() == []
