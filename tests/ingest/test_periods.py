from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.collect import Seen
from exhume.ingest.periods import Periods
from tests.ingest import made
from tests.ingest.made import by_name, do_import

# As perf seeks it on one thread, at 4000 a second.
SEEKING = [1, 1, 16, 735, 58_099]


def note_of(*periods: int) -> str:
    found = Periods()
    found.add(np.array(periods, np.int64))
    return found.note("cycles")


def test_samples_taken_while_perf_sought_its_rate_are_told_with_what_they_stand_for() -> None:
    note = note_of(*SEEKING, *[4_800_000] * 5)
    assert note.startswith("40% of its samples stand for under 0.1% of its cycles: ")


def test_a_few_of_them_and_periods_that_differ_a_little_are_not_worth_a_word() -> None:
    assert note_of() == note_of(0, 0, -5) == note_of(10_000_000) == ""
    assert note_of(*SEEKING, *[4_800_000] * 200) == ""
    assert note_of(*[900_000, 4_800_000, 2_000_000] * 20) == ""


@given(st.integers(-5, (1 << 63) - 1), st.integers(0, 40))
def test_a_period_that_never_changes_counts_as_often_as_one_that_does(period: int, n: int) -> None:
    alike, with_others = Periods(), Periods()
    alike.add(np.array([period] * n, np.int64))
    with_others.add(np.array([period] * n + [-9], np.int64))
    assert alike.counts.tolist() == with_others.counts.tolist()
    assert np.allclose(alike.sums, with_others.sums)


@given(st.lists(st.integers(-5, (1 << 63) - 1), max_size=40), st.integers(0, 40))
def test_what_several_saw_is_what_one_would_have_seen(periods: list[int], at: int) -> None:
    apart, other, whole = Periods(), Periods(), Periods()
    whole.add(np.array(periods, np.int64))
    apart.add(np.array(periods[:at], np.int64))
    other.add(np.array(periods[at:], np.int64))
    apart.join(other)
    assert apart.counts.tolist() == whole.counts.tolist()
    assert np.allclose(apart.sums, whole.sums)
    assert int(apart.counts.sum()) == sum(period > 0 for period in periods)


def test_text_of_perf_script_tells_it(tmp_path: Path) -> None:
    text = "".join(
        f"a 7 [000] 5.{at:06d}: {period} cycles:P: \n\t1 f (/x)\n\n"
        for at, period in enumerate(SEEKING)
    )
    # 4000 a second: those that it took while it sought that are microseconds apart.
    text += "".join(
        f"a 7 [000] 5.{at * 250:06d}: 4800000 cycles:P: \n\t1 f (/x)\n\n" for at in range(1, 9)
    )
    report = by_name(do_import(tmp_path / "out", made.write(tmp_path / "a.txt", text)))["a.txt"]
    assert any(
        note.startswith("31% of its samples stand for under 0.1% of its cycles")
        for note in report.notes
    )
    assert any("about 4,000 times a second" in note for note in report.notes)


@pytest.mark.parametrize(
    ("event", "rate_hz", "is_told"),
    [
        ("cycles", 4000.0, True),
        ("cycles", None, True),
        ("page-faults", 4000.0, True),
        ("sched:sched_stat_runtime", None, False),
    ],
)
def test_only_of_what_was_asked_for_at_a_rate_perf_sought_one(
    event: str, rate_hz: float | None, is_told: bool
) -> None:
    seen = Seen()
    time = np.arange(1, 101, dtype=np.int64) * 1_000_000
    core, tid = np.zeros(100, np.uint16), np.full(100, 7, np.int32)
    seen.add(time, core, tid, np.array([1] * 50 + [1 << 20] * 50, np.int64), rate_hz)
    assert any("still seeking its rate" in note for note in seen.notes(event, rate_hz)) == is_told
