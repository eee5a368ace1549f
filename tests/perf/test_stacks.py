"""Stacks of addresses → nodes, against a model that names them one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from exhume.model.arrays import I64
from exhume.model.stack import Mode
from exhume.perf.chains import Chains, chains_of
from exhume.perf.places import Places
from exhume.perf.tree import CodeMaps, CodeNames, TreeBuilder
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_tree import FRAMES, Path, add, paths_of

GUEST_USER = (1 << 64) - 2560
MARKERS = [KERNEL, USER, GUEST_USER, (1 << 64) - 32, (1 << 64) - 4095]
WORDS = st.sampled_from(
    [*MARKERS, 0, 1, 5, 6, 9, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096]
)
KERNEL_CODE = -2
NAMELESS = UNKNOWN, UNKNOWN_KERNEL, NO_FILE = 1, 2, 3
TOPS = (100, 101, 102)
MODES = np.array([-1, -1, -1, -1, *([-1, 0, 1, 2, 3] * 20)], np.int8)
"""By frame: what it speaks for."""

Place = tuple[int, int]
"""Code and offset."""


class Mapped(Struct, frozen=True):
    space: int
    start: int
    end: int
    offset: int
    code: int


class Seen(Struct, frozen=True):
    process: int
    space: int
    stack: int


MAPPED = st.builds(
    lambda space, start, length, offset, code: Mapped(space, start, start + length, offset, code),
    st.integers(0, 2), st.sampled_from([0, 4, 5, 1 << 61, 1 << 62]), st.integers(1, 8),
    st.integers(0, 3), st.integers(-1, 2),
)  # fmt: skip


class Case(Struct, frozen=True):
    stacks: list[list[int]]
    """Leaf first, as perf writes them."""
    maps: list[Mapped]
    rows: list[Seen]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Stacks differ near the leaf, and now and then further up."""
    callers = draw(st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=3))
    near_leaf = st.lists(WORDS, max_size=4)
    stack = st.tuples(near_leaf, st.sampled_from(callers)).map(lambda parts: [*parts[0], *parts[1]])
    stacks = draw(st.lists(stack, min_size=1, max_size=8))
    seen = st.builds(
        Seen, st.integers(0, len(TOPS) - 1), st.integers(-1, 2), st.integers(0, len(stacks) - 1)
    )
    return Case(stacks, draw(st.lists(MAPPED, max_size=6)), draw(st.lists(seen, max_size=20)))


def naive_places(stack: Sequence[int], space: int, maps: Sequence[Mapped]) -> list[Place | None]:
    """Root first, None where nobody knows what is there."""
    found: list[Place | None] = []
    kind, is_exact = "", True
    for word in stack:
        if word >= (1 << 64) - 4095:
            kind, is_exact = ("user" if word in (USER, GUEST_USER) else "kernel"), True
            continue
        own = kind or ("kernel" if word >> 63 else "user")
        address = (word if is_exact else word - 1) % (1 << 64)
        is_exact = False
        if own == "kernel":
            found.append((KERNEL_CODE, address))
            continue
        # The one that begins last before it counts, of those that begin there the last told.
        before = [m for m in maps if m.space == space and m.start <= address < 1 << 63]
        last = max(reversed(before), key=lambda m: m.start, default=None)
        is_inside = last is not None and address < last.end and last.code >= 0
        found.append(
            (last.code, address - last.start + last.offset) if last and is_inside else None
        )
    return found[::-1]


def is_user_leaf(stack: Sequence[int]) -> bool:
    kind = None
    for word in stack:
        if word < (1 << 64) - 4095:
            return kind == "user" or (kind is None and not word >> 63)
        kind = "user" if word in (USER, GUEST_USER) else "kernel"
    return False


def naive_node(case: Case, row: Seen, frame_of: Mapping[Place, int]) -> tuple[Path, Mode]:
    stack = case.stacks[row.stack]
    path, mode, above = [TOPS[row.process]], Mode.SYSTEM, 0
    for place in naive_places(stack, row.space, case.maps):
        frame = UNKNOWN if place is None else frame_of[place]
        if frame != above or frame not in NAMELESS:
            path.append(frame)
        if MODES[frame] >= 0:
            mode = Mode(int(MODES[frame]))
        above = frame
    return tuple(path), Mode.USER if is_user_leaf(stack) else mode


def column(values: Sequence[int]) -> I64:
    return np.array(values, np.uint64).view(np.int64) if len(values) else np.empty(0, np.int64)


def in_two_parts(stacks: Sequence[Sequence[int]]) -> Chains:
    count = np.array([len(stack) for stack in stacks], np.int64)
    words = np.array([word for stack in stacks for word in stack], np.uint64)
    start = np.cumsum(count) - count
    cut = int(start[len(start) // 2]) if len(start) else 0  # between two stacks
    return chains_of([words[:cut], words[cut:]], start, count)


def code_maps(maps: Sequence[Mapped]) -> CodeMaps:
    names = ("space", "start", "end", "offset", "code")
    return CodeMaps(*(np.array([getattr(m, name) for m in maps], np.int64) for name in names))


class Asked:
    """A tree, and what is known of code, from question to question."""

    def __init__(self) -> None:
        self.tree = TreeBuilder()
        self.top = add(self.tree, [(frame,) for frame in TOPS])
        self.places = Places()
        self.frames: dict[Place, int] = {}

    def nodes(self, case: Case) -> I64:
        rows = [
            np.array([getattr(row, name) for row in case.rows], np.int64)
            for name in ("process", "space", "stack")
        ]
        names = CodeNames(self.places, MODES, KERNEL_CODE, *NAMELESS)
        return self.tree.name(
            in_two_parts(case.stacks), code_maps(case.maps), names, self.top,
            (rows[0], rows[1], rows[2]),
        )  # fmt: skip

    def name_places(self) -> list[Place]:
        """Those that were met since the last time: by chance, a few of them nameless."""
        code, offset = self.places.nameless()
        fresh = list(zip(code.tolist(), offset.tolist(), strict=True))
        for place in fresh:
            frame = NO_FILE + (hash(place) % 9)
            nameless = UNKNOWN_KERNEL if place[0] == KERNEL_CODE else UNKNOWN
            self.frames[place] = nameless if NO_FILE < frame < 6 else frame
        self.places.name(np.array([self.frames[place] for place in fresh], np.uint32))
        return fresh


@given(st.lists(cases(), min_size=1, max_size=3))
@settings(deadline=None, max_examples=200)
def test_stacks_end_at_the_node_of_their_names_once_their_places_have_any(
    batches: list[Case],
) -> None:
    asked = Asked()
    for case in batches:
        places = [naive_places(case.stacks[row.stack], row.space, case.maps) for row in case.rows]
        is_known = [all(p is None or p in asked.frames for p in path) for path in places]
        assert (asked.nodes(case) > 0).tolist() == is_known
        fresh = asked.name_places()
        assert len(set(fresh)) == len(fresh)
        assert {p for path in places for p in path if p is not None} <= set(asked.frames)
        ends = asked.nodes(case)
        modes = asked.tree.modes[ends]
        tree, renumbered = asked.tree.finish(FRAMES, ends, modes)
        found = paths_of(tree)
        wanted = [naive_node(case, row, asked.frames) for row in case.rows]
        assert [found[node] for node in renumbered[ends]] == [path for path, _ in wanted]
        assert len(set(found)) == len(found)
        told = {path: mode for path, mode in wanted if path}
        for (path, _), mode in zip(wanted, modes.tolist(), strict=True):
            assert mode == told[path]  # of stacks that end at one node the last one's


def one_row(stacks: Sequence[Sequence[int]], *stack: int) -> Case:
    return Case([list(words) for words in stacks], [], [Seen(0, -1, number) for number in stack])


def test_no_stacks_no_words_and_only_markers_are_no_trouble() -> None:
    asked = Asked()
    assert len(asked.nodes(Case([], [], []))) == 0
    assert asked.nodes(one_row([[], [KERNEL]], 0, 1)).tolist() == [asked.top[0]] * 2


def test_the_kernel_is_the_same_in_every_process_a_program_wherever_it_is_mapped() -> None:
    asked = Asked()
    maps = [Mapped(0, 0x1000, 0x2000, 0, 7), Mapped(1, 0x5000, 0x6000, 0, 7)]
    stacks = [[KERNEL, 1 << 63], [USER, 0x1235], [USER, 0x5235]]
    rows = [Seen(0, 0, 0), Seen(0, 1, 0), Seen(0, 0, 1), Seen(0, 1, 2), Seen(0, 0, 2)]
    asked.nodes(Case(stacks, maps, rows))
    assert asked.name_places() == [(KERNEL_CODE, 1 << 63), (7, 0x235)]
    assert asked.frames[7, 0x235] != UNKNOWN
    ends = asked.nodes(Case(stacks, maps, rows)).tolist()
    assert (ends[0], ends[2]) == (ends[1], ends[3])
    assert ends[4] not in ends[:4]  # the other process has nothing mapped there


def test_more_places_than_there_was_room_for_at_first_keep_their_frames() -> None:
    asked = Asked()
    case = one_row([[KERNEL, (1 << 63) + 8 * i] for i in range(30_000)], *range(30_000))
    for _ in range(2):
        asked.nodes(case)
        asked.name_places()
    assert len(asked.places) == 30_000
    ends = asked.nodes(case)
    tree, renumbered = asked.tree.finish(FRAMES, ends, asked.tree.modes[ends])
    found = paths_of(tree)
    for number in (0, 12_345, 29_999):
        path, _ = naive_node(case, case.rows[number], asked.frames)
        assert found[renumbered[ends[number]]] == path


def test_a_stack_deeper_than_any_before_it_is_whole() -> None:
    deep = [KERNEL, *((1 << 63) + 8 * i for i in range(5000))]
    asked, case = Asked(), one_row([deep[:3], deep, deep[:3]], 0, 1, 2)
    asked.nodes(case)
    asked.name_places()
    ends = asked.nodes(case)
    tree, renumbered = asked.tree.finish(FRAMES, ends, asked.tree.modes[ends])
    wanted = [naive_node(case, row, asked.frames)[0] for row in case.rows]
    assert [paths_of(tree)[node] for node in renumbered[ends]] == wanted


@pytest.mark.parametrize(
    ("start", "count"), [([0], [4]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([1 << 62], [1 << 62])]
)
def test_a_stack_beyond_the_words_is_refused(start: list[int], count: list[int]) -> None:
    columns = [np.array(column, np.int64) for column in (start, count)]
    with pytest.raises(ValueError, match="beyond the words"):
        chains_of([np.array([1, 2, 3], np.uint64)], *columns)
    with pytest.raises(ValueError, match="beyond the words"):
        chains_of([np.array([1], np.uint64), np.array([2, 3], np.uint64)], *columns)


def test_a_process_stack_node_or_frame_that_there_is_not_is_refused() -> None:
    asked = Asked()
    one = np.zeros(1, np.int64)
    names = CodeNames(Places(), MODES, KERNEL_CODE, *NAMELESS)
    chains, maps = in_two_parts([[KERNEL]]), code_maps([])
    for top, process, stack in (
        (one, one + 1, one), (one, one, one + 1), (one, one, one - 1), (one + 99, one, one),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="process, stack or node that there is not"):
            asked.tree.name(chains, maps, names, top, (process, one, stack))
    few = CodeNames(Places(), MODES[:2], KERNEL_CODE, *NAMELESS)
    with pytest.raises(ValueError, match="not all frames are told of"):
        asked.tree.name(chains, maps, few, one, (one, one, one))


def test_as_many_frames_as_places_without_one_are_taken() -> None:
    asked = Asked()
    asked.nodes(one_row([[KERNEL, 1 << 63]], 0))
    for count in (0, 2):
        with pytest.raises(ValueError, match="not as many frames"):
            asked.places.name(np.zeros(count, np.uint32))
