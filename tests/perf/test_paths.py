from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf.paths import Paths, PlaceKind, paths_of
from tests.perf.records_encoder import KERNEL, USER

GUEST_USER = (1 << 64) - 2560
MARKERS = [KERNEL, USER, GUEST_USER, (1 << 64) - 32, (1 << 64) - 4095]
WORDS = st.sampled_from([*MARKERS, 0, 1, 5, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096])

Step = tuple[int, int, int]
"""Kind, space (-1 in the kernel) and address."""


@st.composite
def stacks_of_few_callers(draw: st.DrawFn) -> list[tuple[list[int], int]]:
    """Leaf first, each with its space: they differ near the leaf, and now and then further up."""
    callers = draw(st.lists(st.lists(WORDS, max_size=9), min_size=1, max_size=3))
    near_leaf = st.lists(WORDS, max_size=4)
    stack = st.tuples(near_leaf, st.sampled_from(callers)).map(lambda parts: [*parts[0], *parts[1]])
    return draw(st.lists(st.tuples(stack, st.integers(-1, 2)), max_size=12))


def naive_path(stack: Sequence[int], space: int) -> list[Step]:
    """From the root to the leaf; `stack` is leaf first, as perf writes it."""
    steps: list[Step] = []
    kind: PlaceKind | None = None
    is_exact = True
    for word in stack:
        if word >= (1 << 64) - 4095:
            kind = PlaceKind.USER if word in (USER, GUEST_USER) else PlaceKind.KERNEL
            is_exact = True
            continue
        own = kind or (PlaceKind.KERNEL if word >> 63 else PlaceKind.USER)
        address = (word if is_exact else word - 1) % (1 << 64)
        steps.append((own, space if own == PlaceKind.USER else -1, address))
        is_exact = False
    return steps[::-1]


def found_path(paths: Paths, number: int) -> list[Step]:
    places, begin = paths.places, int(paths.start[number])
    return [
        (int(places.kind[step]), int(places.space[step]), int(places.address[step]))
        for step in paths.steps[begin : begin + int(paths.length[number])].tolist()
    ]


def paths_in_two_parts(stacks: Sequence[tuple[Sequence[int], int]]) -> Paths:
    count = np.array([len(stack) for stack, _ in stacks], np.int64)
    words = np.array([word for stack, _ in stacks for word in stack], np.uint64)
    space = np.array([space for _, space in stacks], np.int64)
    start = np.cumsum(count) - count
    cut = int(start[len(start) // 2]) if len(start) else 0  # between two stacks
    return paths_of([words[:cut], words[cut:]], start, count, space)


@given(stacks_of_few_callers())
@settings(deadline=None, max_examples=200)
def test_stacks_go_by_the_places_their_words_stand_for(
    stacks: list[tuple[list[int], int]],
) -> None:
    paths = paths_in_two_parts(stacks)
    wanted = [naive_path(stack, space) for stack, space in stacks]
    assert [found_path(paths, number) for number in range(len(paths))] == wanted
    assert len(paths.places) == len({step for path in wanted for step in path})


def test_the_kernel_is_the_same_in_every_process_a_program_is_not() -> None:
    chain = [KERNEL, 1 << 63, (1 << 63) + 9]
    assert len(paths_in_two_parts([(chain, 1), (chain, 2)]).places) == 2
    assert len(paths_in_two_parts([([USER, 5], 1), ([USER, 5], 2)]).places) == 2


def test_no_stacks_and_no_words_have_no_places() -> None:
    nothing = np.empty(0, np.int64)
    assert len(paths_of([], nothing, nothing, nothing).places) == 0
    assert paths_in_two_parts([([], 1), ([KERNEL], 1)]).length.tolist() == [0, 0]


def test_more_places_than_there_was_room_for_at_first_keep_their_numbers() -> None:
    stacks = [([KERNEL, (1 << 63) + 8 * i, (1 << 62) + i % 7], -1) for i in range(30_000)]
    paths = paths_in_two_parts([*stacks, *stacks])
    assert len(paths.places) == 7 + 30_000
    assert found_path(paths, 42_345) == found_path(paths, 12_345) == naive_path(*stacks[12_345])


def test_a_stack_deeper_than_any_before_it_is_whole() -> None:
    deep = [KERNEL, *((1 << 63) + 8 * i for i in range(5000))]
    paths = paths_in_two_parts([(deep[:3], -1), (deep, -1), (deep[:3], -1)])
    assert [found_path(paths, number) for number in range(3)] == [
        naive_path(stack, -1) for stack in (deep[:3], deep, deep[:3])
    ]


@pytest.mark.parametrize(
    ("start", "count"), [([0], [4]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([1 << 62], [1 << 62])]
)
def test_a_stack_beyond_the_words_is_refused(start: list[int], count: list[int]) -> None:
    columns = [np.array(column, np.int64) for column in (start, count, [0])]
    with pytest.raises(ValueError, match="beyond the words"):
        paths_of([np.array([1, 2, 3], np.uint64)], *columns)
    with pytest.raises(ValueError, match="beyond the words"):
        paths_of([np.array([1], np.uint64), np.array([2, 3], np.uint64)], *columns)
