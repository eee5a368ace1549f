from __future__ import annotations

import pytest

from exhume.derive.rises import Rises
from exhume.model.reading import Reading

SECOND = 1_000_000_000


def rises(field: str, *rows: dict[str, int | None]) -> list[dict[str, int]]:
    """Of a row a second."""
    counters = Rises()
    found = []
    for at, row in enumerate(rows):
        reading = Reading.of_each(field, tuple(row), list(row.values()))
        rise = counters.of(reading, at * SECOND)
        found.append(dict(zip(row, rise.tolist(), strict=True)))
    return found


def test_the_first_reading_only_says_where_it_stood() -> None:
    assert rises("softnet.dropped", {"0": 7}, {"0": 9}) == [{"0": 0}, {"0": 2}]


def test_a_core_that_was_away_goes_on_from_its_last_reading() -> None:
    found = rises("softnet.dropped", {"0": 1, "1": 5}, {"0": 2}, {"0": 2, "1": 6})
    assert found[2] == {"0": 0, "1": 1}


def test_a_missing_reading_is_no_rise() -> None:
    found = rises("softnet.dropped", {"0": 5}, {"0": None}, {"0": 8})
    assert [row["0"] for row in found] == [0, 0, 3]


@pytest.mark.parametrize(
    ("field", "before", "after", "gained"),
    [
        ("softnet.processed", (1 << 32) - 10, 5, 15),
        ("softnet.processed", 1 << 31, 5, 0),
        ("vmstat.pgfault", 100, 5, 0),
        ("self.written_bytes", 100, 5, 5),
        ("unit.restarts", 100, 0, 0),
        ("unit.restarts", 100, 2, 2),
    ],
)
def test_a_fall_is_a_wrap_a_restart_or_unknown_but_never_negative(
    field: str, before: int, after: int, gained: int
) -> None:
    assert rises(field, {"": before}, {"": after})[1] == {"": gained}


def test_a_name_that_is_new_began_at_0_where_it_is_told_of_at_once() -> None:
    births = rises("memcg.births", {"(others)": 0}, {"(others)": 0, "/a": 3})
    assert births[1] == {"(others)": 0, "/a": 3}
    late = rises("unit.restarts", {"a": 0}, {"b": 900})
    assert late[1] == {"b": 0}
