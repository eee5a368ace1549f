from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exhume.export.crowds import crowd_name, crowds


def test_the_busiest_stand_alone_and_the_rest_by_name() -> None:
    names = ["kubelet", "cc1", "python", "cc1", "cc1", "ld"]
    groups = crowds(names, [90, 1, 80, 3, 2, 4], 2)
    assert groups == [[0], [2], [3, 4, 1], [5]]
    assert crowd_name(["cc1", "cc1", "cc1"], "processes") == "cc1 (3 processes)"


def test_names_too_many_to_list_are_one_crowd() -> None:
    groups = crowds(["a", "b", "c", "d"], [4, 3, 2, 1], 1)
    assert groups == [[0], [1], [2, 3]]
    assert crowd_name(["c", "d"], "threads") == "c and 1 other names (2 threads)"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9))), st.integers(1, 5))
def test_everybody_is_in_one_group_and_there_are_not_too_many(
    items: list[tuple[str, int]], at_most: int
) -> None:
    groups = crowds([name for name, _ in items], [took for _, took in items], at_most)
    assert sorted(index for group in groups for index in group) == list(range(len(items)))
    assert len(groups) <= 2 * at_most + 1
