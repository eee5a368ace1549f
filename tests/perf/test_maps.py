from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.perf.maps import Maps
from exhume.perf.records import Mappings

Row = tuple[int, int, int, int]
"""Space, start, end, hash of the file; the one told last comes last."""


def maps(*rows: Row, offset: int = 0) -> Maps:
    space, start, end, file = np.array(rows, np.int64).reshape(-1, 4).T
    made, none = Maps(), np.zeros(len(rows), np.int64)
    length, file_offset = (end - start).view(np.uint64), np.full(len(rows), offset, np.uint64)
    made.extend(
        space,
        Mappings(
            none, none.astype(np.int32), start.astype(np.uint64), length, file_offset,
            file.astype(np.uint64),
        ),
    )  # fmt: skip
    return made


def files(known: Maps, space: int, *addresses: int) -> list[int]:
    asked = np.array(addresses, np.int64).view(np.uint64)
    found: list[int] = known.at(np.full(len(asked), space), asked)[0].tolist()
    return found


def test_above_a_page_that_was_mapped_anew_the_rest_of_the_library_is_still_there() -> None:
    """`mprotect` of one page, to patch it: perf is told of that page, and then of the whole."""
    library, page = (1, 0x10_000, 0x90_000, 11), (1, 0x20_000, 0x21_000, 11)
    for rows in ([library, page], [library, page, library]):
        known = maps(*rows, offset=0x500).with_remains()
        asked = np.array([0x10_000, 0x20_800, 0x21_000, 0x8F_FFF, 0x90_000], np.uint64)
        found, offset = known.at(np.ones(5, np.int64), asked)
        assert found.tolist() == [11, 11, 11, 11, 0]
        assert offset[[0, 2, 3]].tolist() == [0x500, 0x11_500, 0x80_4FF]


def test_code_of_a_jit_within_its_arena_hides_nothing_but_itself() -> None:
    arena = [(1, 0, 100, 7)]
    known = maps(*arena, *((1, at, at + 5, 8) for at in range(10, 90, 20)), (2, 40, 60, 9))
    addresses = range(100)
    expected = [8 if 10 <= a < 90 and (a - 10) % 20 < 5 else 7 for a in addresses]
    assert files(known.with_remains(), 1, *addresses) == expected
    assert files(known.with_remains(), 2, 39, 40, 59, 60) == [0, 9, 9, 0]


def test_what_lies_beside_each_other_stays_as_it_was() -> None:
    known = maps((1, 0, 10, 7), (1, 10, 20, 8), (2, 5, 15, 9))
    assert known.with_remains() is known
    assert len(maps().with_remains().space) == 0


rows = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 30), st.integers(0, 30), st.integers(1, 99)),
    max_size=25,
)


@given(rows)
def test_each_address_is_in_the_mapping_around_it_that_begins_last(told: list[Row]) -> None:
    known = maps(*told).with_remains()
    for space in (1, 2):
        for address in range(32):
            around = [(row[1], n) for n, row in enumerate(told) if row[0] == space]
            around = [(at, n) for at, n in around if at <= address < told[n][2]]
            expected = told[max(around)[1]][3] if around else 0
            assert files(known, space, address) == [expected]
    assert len(known.space) <= 2 * len(told)
