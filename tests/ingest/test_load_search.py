"""Where in all the time of counters a capture may have been made."""

from __future__ import annotations

import numpy as np
import pytest

from exhume.ingest import load_search
from exhume.ingest.load_search import Load, load_of, places
from exhume.model.arrays import F64
from exhume.model.series import Block
from tests.ingest.bursts import BOOTED_NS, EVENING, NS, SECONDS, captured, counters, uneven

HOUR = uneven(seed=11, seconds=3600)


def load(busy: F64) -> Load:
    found = load_of([counters(busy)])
    assert found is not None
    return found


def found_at(samples: F64, busy: F64) -> list[float]:
    """Seconds since the counters began."""
    last_ns = BOOTED_NS + samples.shape[1] * NS // 10
    found = places(captured(samples), BOOTED_NS, last_ns, load(busy))
    return [(offset_ns + BOOTED_NS) / NS - EVENING for offset_ns in found]


def cut(busy: F64, begin: float, seconds: int = SECONDS) -> F64:
    return busy[:, round(10 * begin) : round(10 * begin) + 10 * seconds]


@pytest.mark.parametrize("begin", [0, 17.3, 1800.6, 3510])
def test_minutes_of_samples_are_like_one_place_in_an_hour(begin: float) -> None:
    (at,) = found_at(cut(HOUR, begin), HOUR)
    assert abs(at - begin) <= 1


def test_one_burst_is_like_any_other_and_tells_no_place() -> None:
    once = np.zeros((2, 10 * SECONDS))
    once[0, 400:480] = 0.9
    hour = np.zeros((2, 36000))
    hour[0, 20000:20080] = 0.9
    assert found_at(once, hour) == []


def test_less_than_a_minute_tells_none() -> None:
    assert found_at(cut(HOUR, 1800, 50), HOUR) == []


def test_a_load_that_comes_again_is_in_several_places() -> None:
    again = np.tile(uneven(seconds=180), 4)
    found = found_at(cut(again, 200), again)
    assert sorted(round(at) % 180 for at in found) == [20, 20, 20, 20]


def test_counters_are_put_together_from_parts_of_different_cores() -> None:
    parts = [clipped(counters(HOUR[:1]), 0, 1801), clipped(counters(HOUR), 1800, 3601)]
    found = load_of(parts)
    assert found is not None
    assert found.cores == (0, 1)
    is_unknown = np.isnan(found.ran)
    assert np.array_equal(is_unknown.sum(axis=1), [0, 1800])
    assert is_unknown[1, :1800].all()
    last_ns = BOOTED_NS + SECONDS * NS
    (offset_ns,) = places(captured(cut(HOUR, 2500)), BOOTED_NS, last_ns, found)
    assert abs((offset_ns + BOOTED_NS) / NS - EVENING - 2500) <= 1


def test_what_was_read_every_ten_minutes_tells_of_no_second() -> None:
    seldom = [
        Block(block.field, block.instances, block.tick_ns[::600], block.values[::600])
        for block in counters(HOUR)
    ]
    assert np.isnan(load_of([seldom]).ran).all()  # type: ignore[union-attr]


def test_counters_of_more_than_there_is_memory_for_are_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = [clipped(counters(HOUR), begin, begin + 601) for begin in range(0, 3600, 600)]
    assert load_of(parts) is not None
    monkeypatch.setattr(load_search, "_MOST_CELLS", 2 * 3600 - 1)
    looked_at = iter(parts)
    assert load_of(looked_at) is None
    monkeypatch.setattr(load_search, "_MOST_CELLS", 2 * 1000)
    looked_at = iter(parts)
    assert load_of(looked_at) is None
    assert len(list(looked_at)) == 4  # nor are the others read


def clipped(blocks: list[Block], begin: int, end: int) -> list[Block]:
    rows = slice(begin, end)
    return [
        Block(block.field, block.instances, block.tick_ns[rows], block.values[rows])
        for block in blocks
    ]
