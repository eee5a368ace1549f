from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.top_counter import TopCounter, largest

ADDED = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(-1, 9)), max_size=60)


@given(ADDED, st.integers(1, 4), st.integers(1, 5))
def test_nothing_ever_falls_and_every_unit_is_counted_once(
    added: list[tuple[str, int]], limit: int, every: int
) -> None:
    counter: TopCounter[str] = TopCounter(limit)
    highest: dict[str, float] = {}
    rest, total = 0.0, 0
    for step, (name, amount) in enumerate(added):
        counter.add(name, amount)
        total += max(amount, 0)
        if step % every:
            continue
        shown = counter.tell()
        assert len(shown) <= limit
        assert counter.rest >= rest
        rest = counter.rest
        assert all(value >= highest.get(one, 0) for one, value in shown.items())
        highest |= shown
        assert sum(highest.values()) + rest == total


def test_one_that_comes_late_and_often_takes_a_place() -> None:
    counter: TopCounter[str] = TopCounter(2)
    counter.add("once", 1)
    counter.add("twice", 2)
    for _ in range(5):
        counter.add("storm", 1)
    assert counter.tell() == {"twice": 2, "storm": 3}
    assert counter.rest == 3


def test_what_must_be_there_is_there_as_0() -> None:
    assert TopCounter[str](5, ("a", "b")).tell() == {"a": 0, "b": 0}


def test_the_largest_of_gauges_and_the_sum_of_the_rest() -> None:
    values = {"a": 1.0, "b": 3.0, "c": 2.0, "d": 3.0}
    assert largest(values, 2) == ({"b": 3.0, "d": 3.0}, 3.0)
    assert largest(values, 9) == ({"b": 3.0, "d": 3.0, "c": 2.0, "a": 1.0}, 0)
