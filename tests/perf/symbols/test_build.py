from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf.symbols import build as build_module
from exhume.perf.symbols.build import GLOBAL, LOCAL, NOTYPE, WEAK, build, of_rows, raw
from exhume.perf.symbols.names import MAX_NAME_BYTES
from exhume.perf.symbols.table import SymbolTable


def at(table: SymbolTable, address: int) -> str | None:
    index = int(table.lookup(np.array([address], np.uint64))[0])
    return table.name(index) if index >= 0 else None


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("g", 8, GLOBAL), ("w", 8, WEAK)),
        (("w", 8, WEAK), ("l", 8, LOCAL)),
        (("sized", 8, LOCAL), ("unsized", 0, GLOBAL)),
        (("function", 8, LOCAL), ("label", 8, GLOBAL + NOTYPE)),
        (("malloc", 8, GLOBAL), ("__libc_malloc", 8, GLOBAL)),
        (("_one", 8, GLOBAL), ("__two", 8, GLOBAL)),
        (("global", 8, GLOBAL), ("weak", 8, WEAK)),
        (("_ZThn8_N1A3runEv", 8, LOCAL), (".LTHUNK64", 8, LOCAL)),
        (("_ZThn8_N1A3runEv", 0, LOCAL), (".LTHUNK64", 8, GLOBAL)),
        (("_ZN1A3runEv", 8, GLOBAL), ("_run", 8, GLOBAL)),
        (("__ZN1A3runEv", 8, GLOBAL), ("_run", 8, GLOBAL)),
        (("_RNvC1a3run", 8, GLOBAL), ("_run", 8, GLOBAL)),
        (("run", 8, GLOBAL), ("_Restore", 8, GLOBAL)),
    ],
)
def test_of_two_names_for_one_address_the_better_wins_in_any_order(
    better: tuple[str, int, int], worse: tuple[str, int, int], swap: bool
) -> None:
    pair = [of_rows([(0x1000, size, name)], rank) for name, size, rank in (better, worse)]
    table = build(pair[::-1] if swap else pair)
    assert len(table) == 1
    assert at(table, 0x1000) == better[0]


def test_of_equally_good_names_the_first_wins() -> None:
    table = build([of_rows([(0x1000, 8, "a"), (0x1000, 8, "b")]), of_rows([(0x1000, 8, "c")])])
    assert at(table, 0x1000) == "a"


def test_aliases_of_different_length_reach_as_far_as_the_longest() -> None:
    table = build([of_rows([(0x1000, 4, "short")]), of_rows([(0x1000, 64, "long")], LOCAL)])
    assert at(table, 0x1030) == "short"


def test_a_symbol_without_a_size_extends_to_the_next() -> None:
    table = build([of_rows([(0x1000, 0, "a"), (0x1800, 0, "b"), (0x1900, 16, "c")])])
    assert [at(table, a) for a in (0x17FF, 0x1800, 0x18FF, 0x1900)] == ["a", "b", "b", "c"]


def test_a_symbol_without_a_size_does_not_reach_beyond_its_limit() -> None:
    table = build([of_rows([(0x1000, 0, "last_of_its_section"), (0x9000, 0, "far")])])
    assert at(table, 0x1FFF) == "last_of_its_section"
    assert at(table, 0x2000) is None
    assert at(table, 0x9000) == "far"


def test_an_unsized_label_inside_a_function_is_not_a_function() -> None:
    table = build([of_rows([(0x1000, 0x100, "memcpy")]), of_rows([(0x1040, 0, "loop")], NOTYPE)])
    assert at(table, 0x1050) == "memcpy"
    assert len(table) == 1


def test_a_size_that_wraps_around_ends_at_the_top() -> None:
    table = build([of_rows([((1 << 64) - 16, (1 << 64) - 1, "liar"), (0x1000, 16, "honest")])])
    assert at(table, 0x1008) == "honest"
    assert at(table, (1 << 64) - 8) == "liar"
    assert at(table, 0x5000) is None


def test_no_file_may_bring_more_symbols_or_names_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces = [of_rows([(i, 1, "n" * 10) for i in range(start, start + 50)]) for start in (0, 50)]
    monkeypatch.setattr(build_module, "MAX_SYMBOLS", 60)
    assert len(build(pieces)) == 60
    monkeypatch.setattr(build_module, "MAX_NAMES_BYTES", 205)
    assert len(build(pieces)) == 20


def test_an_endless_name_is_cut() -> None:
    piece = of_rows([(0, 1, "x" * 100_000), (8, 1, "y")])
    table = build([piece])
    assert len(table.name(0)) == MAX_NAME_BYTES
    assert table.name(1) == "y"


def test_names_from_many_pieces_stay_with_their_addresses() -> None:
    """More rows than one chunk of the gathering, alternating between two pieces."""
    count = 20_000
    even = of_rows([(i * 16, 16, f"even{i}") for i in range(0, count, 2)])
    odd = of_rows([(i * 16, 16, f"odd{i}") for i in range(1, count, 2)])
    table = build([even, odd])
    assert len(table) == count
    for i in (0, 1, 777, 778, count - 2, count - 1):
        assert at(table, i * 16 + 3) == f"{'odd' if i % 2 else 'even'}{i}"


@settings(deadline=2000)
@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 300), st.text(min_size=1, max_size=5)),
        max_size=60,
    )
)
def test_a_table_made_of_a_table_is_the_same(rows: list[tuple[int, int, str]]) -> None:
    once = build([of_rows(rows)])
    twice = build([raw(once)])
    assert twice.start.tolist() == once.start.tolist()
    assert twice.end.tolist() == once.end.tolist()
    assert [twice.name(i) for i in range(len(twice))] == [once.name(i) for i in range(len(once))]
    assert (np.diff(once.start.astype(np.int64)) > 0).all()
    assert (once.end >= once.start).all()
