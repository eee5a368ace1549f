from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.arrays import I64, U64
from exhume.perf.symbols.cfi import Cfi
from exhume.perf.symbols.cfi_rules import NO_RULE, OUTERMOST, Base, Rule
from exhume.perf.symbols.table import LoadSegment
from exhume.perf.unwind import MAX_FRAMES, Chains, Dumps, Unwinder

CODE, LIBRARY, JIT = 7, 8, 9
"""Mapped files: one with tables, one without, and code without a file."""
SP = 0x7FFF_0000


class FakeCfi(Cfi):
    def __init__(self, rules: dict[int, Rule]) -> None:
        nothing = np.empty(0, np.int64)
        super().__init__(nothing, nothing, b"", 0, (LoadSegment(0, 0x1000, 0x1000),))
        self._by_address = rules

    def rule(self, vaddr: int) -> Rule:
        return self._by_address.get(vaddr, NO_RULE)


def mapping(space: I64, address: U64) -> tuple[U64, U64]:
    """Files of 0x1000 bytes: at 0x10000 the one with tables, and so on, in space 1 alone."""
    file = np.full(len(address), 0, np.uint64)
    for number, start in ((CODE, 0x10000), (LIBRARY, 0x20000), (JIT, 0x30000)):
        file[(address >= start) & (address < start + 0x1000) & (space == 1)] = number
    return file, np.where(file > 0, address & np.uint64(0xFFF), address)


def chains(
    rules: dict[int, Rule], stack: list[int], ip: int, fp: int = 0, *, sp: int = SP, space: int = 1
) -> Chains:
    """`rules` by offset in the file with tables."""
    cfi = FakeCfi({0x1000 + offset: rule for offset, rule in rules.items()})
    memory = np.array([0xDEAD, *stack], np.uint64)  # of another sample before it
    dumps = Dumps(
        space=np.array([space], np.int64),
        ip=np.array([ip], np.uint64),
        stack_pointer=np.array([sp], np.uint64),
        frame_pointer=np.array([fp], np.uint64),
        start=np.array([8], np.int64),
        size=np.array([8 * len(stack)], np.int64),
        memory=memory.view(np.uint8),
    )
    return Unwinder(lambda file: cfi if file == CODE else None).chains(dumps, mapping)


def addresses(found: Chains) -> list[int]:
    assert found.count.tolist() == [len(found.addresses)]
    addresses: list[int] = found.addresses.tolist()
    return addresses


CALLED = Rule(Base.STACK_POINTER, 8, -8)


def test_callers_are_found_by_the_stack_pointer_up_to_the_one_without_any() -> None:
    found = chains(
        {0x10: CALLED, 0x1F: Rule(Base.STACK_POINTER, 24, -8), 0x2F: OUTERMOST},
        [0x10020, 1, 2, 0x10030, 5, 5],
        0x10010,
    )
    assert addresses(found) == [0x10010, 0x10020, 0x10030]
    assert found.is_whole.tolist() == [True]


def test_a_saved_frame_pointer_is_the_callers_one_until_another_is_saved() -> None:
    saves = Rule(Base.STACK_POINTER, 16, -8, -16)
    found = chains(
        {0x10: saves, 0x1F: CALLED, 0x2F: Rule(Base.FRAME_POINTER, 16, -8), 0x3F: OUTERMOST},
        [SP + 32, 0x10020, 0x10030, 9, 9, 0x10040],
        0x10010,
        fp=1,
    )
    assert addresses(found) == [0x10010, 0x10020, 0x10030, 0x10040]


def test_code_without_tables_is_left_by_the_frame_pointer_if_that_leads_to_code() -> None:
    stack = [9, SP + 24, 0x20008, 0, 0x10020]
    found = chains({0x1F: OUTERMOST}, stack, 0x30004, fp=SP + 8)
    assert addresses(found) == [0x30004, 0x20008, 0x10020]
    assert found.is_whole.tolist() == [True]
    nowhere = chains({}, [9, SP + 24, 0x77777, 0, 0x10020], 0x30004, fp=SP + 8)
    assert addresses(nowhere) == [0x30004]
    assert nowhere.is_whole.tolist() == [False]


@pytest.mark.parametrize(
    ("stack", "why"),
    [([], "nothing was copied"), ([0], "there is no address"), ([0x55555], "it leads to no code")],
)
def test_a_chain_ends_where_it_can_not_be_followed(stack: list[int], why: str) -> None:
    found = chains({0x10: CALLED}, stack, 0x10010)
    assert addresses(found)[:1] == [0x10010], why
    assert len(found.addresses) == (2 if stack == [0x55555] else 1), why
    assert found.is_whole.tolist() == [False]


def test_of_another_address_space_nothing_is_known() -> None:
    assert addresses(chains({0x10: CALLED}, [0x10020], 0x10010, space=2)) == [0x10010]


def test_a_frame_that_does_not_lead_upwards_ends_the_chain() -> None:
    stays = Rule(Base.STACK_POINTER, 0, 0)
    assert addresses(chains({0x10: stays}, [0x10010] * 4, 0x10010)) == [0x10010]


def test_endless_recursion_is_cut_as_perf_does() -> None:
    found = chains({0x10: CALLED, 0x1F: CALLED}, [0x10020] * 500, 0x10010)
    assert addresses(found) == [0x10010, *[0x10020] * (MAX_FRAMES - 1)]


WORD = st.one_of(
    st.sampled_from([0, 1, SP, SP + 8, SP + 64, 0x10010, 0x20010, 0x30010, (1 << 64) - 1, 1 << 63]),
    st.integers(0, (1 << 64) - 1),
)
RULE = st.builds(
    Rule,
    st.sampled_from(list(Base)),
    st.integers(-(1 << 31), 1 << 31),
    st.integers(-64, 64),
    st.integers(-64, 64),
)


@given(st.dictionaries(st.integers(0, 0xFFF), RULE), st.lists(WORD, max_size=12), WORD, WORD, WORD)
@settings(deadline=None, max_examples=200)
def test_hostile_registers_and_memory_give_a_chain(
    rules: dict[int, Rule], stack: list[int], ip: int, fp: int, sp: int
) -> None:
    found = chains({0xF: CALLED, 0x10: CALLED, **rules}, stack, ip, fp, sp=sp)
    assert 1 <= len(addresses(found)) <= MAX_FRAMES
    assert addresses(found)[0] == ip
