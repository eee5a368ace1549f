from __future__ import annotations

import pytest

from exhume.diagnose.second_opinion import is_denied
from exhume.diagnose.symptoms import symptoms
from exhume.model.observation import Observation
from tests.diagnose.made_up import load, observation, series, span

WEB = "8 web"
WAITED = span(1.01, 2)


def told(
    some_us: list[int], runnable: list[int], cores: int = 2, percent: int = 100
) -> Observation:
    """A web server whose counter of waiting grows by a second within the second one."""
    return observation(
        series=[
            series("process.wait_ns", [0, 0, 990_000_000, 990_000_000], WEB),
            series("process.slices", [0, 3, 6, 9], WEB),
            series("process.core", [1] * 4, WEB),
            series("process.runnable", runnable, WEB),
            series("pressure.cpu.some_us", some_us),
        ],
        load=load({core: [percent] * 4 for core in range(cores)}),
    )


def test_a_wait_that_left_no_pressure_was_a_sleep() -> None:
    # As it was on a healthy machine: 22 ms of pressure beside a wait of a second, on two cores.
    asleep = told([0, 28_000, 50_000, 69_000], [0] * 4)
    assert is_denied(asleep, WEB, WAITED)
    assert symptoms(asleep) == ()


def test_a_wait_that_left_its_pressure_was_one() -> None:
    waited = told([0, 28_000, 550_000, 570_000], [0] * 4)
    assert not is_denied(waited, WEB, WAITED)
    assert [one.kind for one in symptoms(waited)] == ["starved-thread"]


@pytest.mark.parametrize("cores", [4, 96])
def test_the_more_cores_are_at_work_the_less_pressure_one_wait_leaves(cores: int) -> None:
    waited = told([0, 0, 990_000 // cores, 990_000 // cores], [0] * 4, cores)
    assert not is_denied(waited, WEB, WAITED)


def test_of_many_idle_cores_one_that_is_waited_for_shows() -> None:
    asleep = told([0, 0, 30_000, 30_000], [0] * 4, cores=96, percent=2)
    assert is_denied(asleep, WEB, WAITED)


def test_who_slept_in_the_middle_of_it_did_not_wait() -> None:
    long = span(-0.5, 2.5)
    much = [0, 1_000_000, 2_000_000, 3_000_000]
    assert is_denied(told(much, [1, 0, 1, 1]), WEB, long)
    assert not is_denied(told(much, [1, 1, 1, 0]), WEB, long)


def test_where_nobody_else_tells_nobody_denies_it() -> None:
    assert not is_denied(observation(), WEB, WAITED)
    unknown = observation(series=[series("pressure.cpu.some_us", [0, 0, 0, 0])])
    assert not is_denied(unknown, WEB, WAITED)
