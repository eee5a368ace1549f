from __future__ import annotations

import numpy as np

from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.record.liveness import BUSY_JIFFIES, SILENT_TICKS, Liveness

CORES = ("0", "1")


class Machine:
    """Two cores; each second they work so many jiffies, and some of them are heard."""

    def __init__(self) -> None:
        self.liveness = Liveness()
        self.user = np.zeros(2, np.int64)

    def second(self, *heard: int, work: tuple[int, int] = (100, 100)) -> tuple[int, ...]:
        self.user = self.user + np.array(work)
        readings = [
            Reading("cpu.user", CORES, self.user),
            Reading("cpu.idle", CORES, self.user * 7),
            Reading("cpu.steal", CORES, np.full(2, MISSING)),
        ]
        return self.liveness.silent(readings, np.array(heard, np.uint32))


def test_a_core_that_works_and_is_heard_is_alive() -> None:
    machine = Machine()
    assert [machine.second(0, 1, 1) for _ in range(50)] == [()] * 50


def test_a_core_that_works_for_long_and_is_never_heard_is_told_once() -> None:
    machine = Machine()
    answers = [machine.second(0) for _ in range(SILENT_TICKS + 5)]
    assert answers.count((1,)) == 1
    assert answers.index((1,)) == SILENT_TICKS  # the first second has no difference yet


def test_an_idle_core_may_be_silent() -> None:
    machine = Machine()
    quiet = (100, BUSY_JIFFIES - 1)
    assert [machine.second(0, work=quiet) for _ in range(100)] == [()] * 100


def test_seconds_with_interrupts_off_are_not_taken_for_a_dead_core() -> None:
    machine = Machine()
    machine.second(0, 1)
    assert [machine.second(0) for _ in range(SILENT_TICKS - 1)] == [()] * (SILENT_TICKS - 1)
    assert machine.second(0, 1) == ()
    assert [machine.second(0) for _ in range(SILENT_TICKS - 1)] == [()] * (SILENT_TICKS - 1)


def test_without_per_core_times_nobody_is_accused() -> None:
    liveness = Liveness()
    for _ in range(3 * SILENT_TICKS):
        assert liveness.silent([], np.empty(0, np.uint32)) == ()
