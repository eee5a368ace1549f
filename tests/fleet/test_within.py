from __future__ import annotations

import numpy as np
import pytest

from exhume.fleet.within import Track, binned, compare_windows, presence, rounded
from exhume.model.arrays import F64

COUNT = 200
KNOWN = np.ones(COUNT, bool)


def noise(random: np.random.Generator) -> F64:
    return (random.random(COUNT) < 0.3).astype(np.float64)


def test_what_is_there_whenever_the_symptom_is_comes_first() -> None:
    random = np.random.default_rng(1)
    ill = np.zeros(COUNT, bool)
    ill[random.choice(COUNT, 12, replace=False)] = True
    tracks = [
        Track("process", "kubelet", "load", ill.astype(float), is_presence=True),
        Track("load", "vmstat.pgfault", "load", np.where(ill, 9000.0, 100.0), is_presence=False),
        *(
            Track(
                "process",
                f"p{n}",
                "load",
                (random.random(COUNT) < 0.3).astype(np.float64),
                is_presence=True,
            )
            for n in range(20)
        ),
    ]
    found = compare_windows(tracks, [str(n) for n in range(COUNT)], ill, KNOWN, ())
    assert (found.verdict, found.unit) == ("separates", "window")
    best = found.classes[0]
    assert best.lead.name == "kubelet"
    assert "vmstat.pgfault" in {member.name for member in best.members}
    assert best.p <= 0.02


def test_one_stretch_that_meets_another_by_chance_is_not_claimed() -> None:
    # Ten minutes of symptom in a row, and a process that ran for the second half of the recording:
    # by Fisher's test that is 1 in 1,400; by shifts it is nothing special.
    ill = np.zeros(COUNT, bool)
    ill[150:160] = True
    half = (np.arange(COUNT) >= 100).astype(np.float64)
    track = Track("process", "backup", "load", half, is_presence=True)
    found = compare_windows([track], [str(n) for n in range(COUNT)], ill, KNOWN, ())
    assert found.verdict == "nothing"
    assert found.classes[0].p > 0.2


def stretches(random: np.random.Generator, length: int) -> F64:
    """On and off for a while each, as processes are."""
    turns = np.cumsum(1 + random.exponential(length, COUNT).astype(int))
    return (np.searchsorted(turns, np.arange(COUNT), "right") % 2).astype(np.float64)


def test_of_many_that_come_and_go_by_themselves_none_is_claimed() -> None:
    """At most in 5 % of recordings; looked at one by one it would be more than half of them."""
    claims, singly = 0, 0
    for seed in range(16):
        random = np.random.default_rng(seed)
        ill = np.zeros(COUNT, bool)
        for start in random.integers(0, COUNT - 3, 5):
            ill[start : start + 3] = True
        tracks = [
            Track("process", f"p{n}", "load", stretches(random, 1 + n % 15), is_presence=True)
            for n in range(40)
        ]
        found = compare_windows(tracks, [str(n) for n in range(COUNT)], ill, KNOWN, ())
        claims += found.verdict == "separates"
        singly += any(one.p <= 0.05 for one in found.classes)
    assert claims <= 2
    assert singly >= 8


def test_a_symptom_as_regular_as_a_clock_can_not_be_told_from_another_clock() -> None:
    ill = np.arange(COUNT) % 4 == 0
    track = Track("event", "exec cron", "load", ill.astype(np.float64), is_presence=True)
    found = compare_windows([track], [str(n) for n in range(COUNT)], ill, KNOWN, ())
    assert found.verdict == "unknown"
    assert "shorter windows" in found.notes[-1]
    assert found.smallest_p == pytest.approx(0.25, abs=0.01)


def test_few_windows_are_too_few() -> None:
    ill = np.array([1, 0, 0, 0, 0, 0], bool)
    track = Track("process", "x", "load", np.array([1.0, 0, 0, 0, 1, 0]), is_presence=True)
    found = compare_windows([track], list("abcdef"), ill, np.ones(6, bool), ())
    assert found.verdict == "unknown"


def test_windows_without_a_reading_are_unknown() -> None:
    edges = np.array([0.0, 10.0, 20.0, 30.0])
    levels = binned(np.array([1.0, 2.0, 25.0, 99.0]), np.array([4.0, 6.0, 8.0, 1.0]), edges)
    assert levels.tolist() == pytest.approx([5.0, np.nan, 8.0], nan_ok=True)
    known = np.array([True, True, False])
    (track,) = presence({"x": np.array([15.0])}, edges, "process", known)
    assert track.levels.tolist() == pytest.approx([0.0, 1.0, np.nan], nan_ok=True)
    assert rounded(np.array([123456.0, 0.0, 0.0012345])).tolist() == [123000.0, 0.0, 0.00123]
