"""What is kept and what goes: the plan by properties, the hand that carries it out by files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exhume.model.window import Window
from exhume.store import layout, retention
from exhume.store.minutes import write_minutes
from exhume.store.pins import MARGIN_NS, pin, pins
from exhume.store.retention import Kept, plan, plan_room, stored
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, by_hand, jiffies

HOUR = 3600 * SECOND
LONG = 1000 * HOUR
PLENTY = 1 << 60


@st.composite
def recordings(draw: st.DrawFn) -> list[Kept]:
    starts = draw(st.lists(st.integers(0, 200), min_size=0, max_size=20, unique=True))
    return [
        Kept(f"s{start}", Window(start * 600 * SECOND, (start + 1) * 600 * SECOND), size)
        for start, size in zip(
            starts, draw(st.lists(st.integers(1, 100), min_size=20)), strict=False
        )
    ]


windows = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 5)).map(
        lambda pair: Window(pair[0] * 600 * SECOND, (pair[0] + pair[1]) * 600 * SECOND)
    ),
    max_size=4,
)
caps = st.integers(0, 2000)


@given(recordings(), windows, st.integers(0, 200), caps, caps)
def test_the_plan_keeps_its_promises(
    segments: list[Kept], held: list[Window], age: int, max_bytes: int, pinned_max: int
) -> None:
    now = 201 * 600 * SECOND
    keep_ns = age * 600 * SECOND
    drop = plan(
        segments,
        held,
        keep_ns=keep_ns,
        max_bytes=max_bytes,
        pinned_max_bytes=pinned_max,
        now_ns=now,
    )
    kept = [s for s in segments if s not in drop]
    newest = max(segments, key=lambda s: s.window, default=None)
    assert newest not in drop
    pinned = [s for s in segments if any(s.window.overlaps(w) for w in held)]
    if sum(s.size_bytes for s in pinned) <= pinned_max:
        assert not set(pinned) & set(drop), "pinned survive while under their cap"
    # All but what pins may hold, and the newest, fits the cap.
    rest = [s for s in kept if s not in pinned and s != newest]
    assert sum(s.size_bytes for s in rest) <= max_bytes
    assert all(s.window.end_ns >= now - keep_ns for s in rest)
    assert sum(s.size_bytes for s in kept) <= (
        max_bytes + pinned_max + (newest.size_bytes if newest else 0)
    )
    # Nothing goes without a reason: it was too old, or the bytes were too many with it.
    starts = [s.window.start_ns for s in drop]
    assert starts == sorted(starts), "oldest first"
    if keep_ns >= now and sum(s.size_bytes for s in segments) <= max_bytes:
        assert drop == []


@given(recordings(), windows, caps)
def test_room_is_made_from_the_oldest_pinned_last_newest_never(
    segments: list[Kept], held: list[Window], need: int
) -> None:
    drop = plan_room(segments, held, need)
    ordered = sorted(segments, key=lambda s: s.window)
    assert ordered[-1:] == [] or ordered[-1] not in drop
    freed = sum(s.size_bytes for s in drop)
    if freed < need:
        assert len(drop) == max(0, len(segments) - 1), "all there was"
    else:
        assert freed - (drop[-1].size_bytes if drop else 0) < need or not drop, (
            "no more than needed"
        )
    pinned = [any(s.window.overlaps(w) for w in held) for s in drop]
    assert pinned == sorted(pinned), "pinned last"


def test_over_their_cap_the_oldest_pins_go_first() -> None:
    segments = [Kept(f"s{i}", Window(i * 10, i * 10 + 10), 10) for i in range(10)]
    held = [Window(0, 10), Window(30, 40), Window(50, 60)]
    drop = plan(segments, held, keep_ns=0, max_bytes=0, pinned_max_bytes=20, now_ns=LONG)
    assert {s.name for s in segments} - {s.name for s in drop} == {"s3", "s5", "s9"}


def test_of_a_pin_too_large_for_the_cap_the_middle_is_kept() -> None:
    segments = [Kept(f"s{i}", Window(i * 10, i * 10 + 10), 10) for i in range(9)]
    drop = plan(segments, [Window(0, 70)], keep_ns=0, max_bytes=0, pinned_max_bytes=10, now_ns=LONG)
    assert {s.name for s in segments} - {s.name for s in drop} == {"s3", "s8"}


def make(root: Path, *seconds: float) -> list[str]:
    names = []
    for second in seconds:
        start = START + round(second * SECOND)
        blocks = jiffies(10, {0: {"user": 50, "idle": 50}}, start)
        data = by_hand([(0, 1.0, 0, 0)], start_ns=start, blocks=blocks)
        names.append(write_segment(root, data).name)
        write_minutes(root, data)
    return names


def left(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "segments").iterdir())


def test_what_is_too_old_goes_and_its_minutes_stay(tmp_path: Path) -> None:
    old, new = make(tmp_path, 0, 7200)
    dropped = retention.apply(tmp_path, HOUR, PLENTY, PLENTY, T0 + 7300 * SECOND)
    assert dropped.segments == (old,)
    assert left(tmp_path) == [new]
    assert len(list((tmp_path / "minutes").rglob("*.parquet"))) == 6


def test_the_newest_stays_even_if_it_is_too_old_and_too_large(tmp_path: Path) -> None:
    *_, newest = make(tmp_path, 0, 600)
    retention.apply(tmp_path, 0, 0, 0, T0 + LONG)
    assert left(tmp_path) == [newest]


def test_a_pin_keeps_ten_minutes_around_it(tmp_path: Path) -> None:
    names = make(tmp_path, 0, 500, 1000, 1500, 9000)
    pin(tmp_path, at(1105, 1), "ENA reset")
    retention.apply(tmp_path, 0, PLENTY, PLENTY, T0 + LONG)
    assert left(tmp_path) == names[1:]
    retention.apply(tmp_path, 0, PLENTY, 0, T0 + LONG)
    assert left(tmp_path) == names[-1:]


def test_heads_and_minutes_count_against_the_bytes(tmp_path: Path) -> None:
    first, second, third = make(tmp_path, 0, 600, 1200)
    sizes = {kept.name: kept.size_bytes for kept in stored(tmp_path)}
    minutes = sum(path.stat().st_size for path in (tmp_path / "minutes").rglob("*.parquet"))
    (tmp_path / "head").mkdir()
    (tmp_path / "head" / "x.head").write_bytes(bytes(1000))
    enough = sum(sizes.values()) + minutes + 1000
    assert retention.apply(tmp_path, LONG, enough, PLENTY, T0 + HOUR).segments == ()
    assert retention.apply(tmp_path, LONG, enough - 1, PLENTY, T0 + HOUR).segments == (first,)
    assert left(tmp_path) == [second, third]


def test_a_full_disk_drops_the_oldest_and_says_what_it_freed(tmp_path: Path) -> None:
    names = make(tmp_path, 0, 600, 1200)
    sizes = {kept.name: kept.size_bytes for kept in stored(tmp_path)}
    assert retention.make_room(tmp_path, 1) == sizes[names[0]]
    assert left(tmp_path) == names[1:]
    assert retention.make_room(tmp_path, PLENTY) == sizes[names[1]]
    assert retention.make_room(tmp_path, PLENTY) == 0
    assert left(tmp_path) == names[2:]


def test_damaged_segments_age_like_any_other(tmp_path: Path) -> None:
    old, new = make(tmp_path, 0, 7200)
    (tmp_path / "segments" / old / "meta.json").write_text("{")
    retention.apply(tmp_path, HOUR, PLENTY, PLENTY, T0 + 7300 * SECOND)
    assert left(tmp_path) == [new]


def test_minutes_go_after_ninety_days(tmp_path: Path) -> None:
    make(tmp_path, 0)
    day = 24 * HOUR
    assert retention.apply(tmp_path, LONG, PLENTY, 0, T0 + 90 * day).minute_days == ()
    gone = retention.apply(tmp_path, LONG, PLENTY, 0, T0 + 91 * day).minute_days
    assert gone == ("2026-11-15",)
    assert layout.days(tmp_path) == []


def test_what_a_crash_left_is_swept_away_but_not_what_is_in_the_making(tmp_path: Path) -> None:
    make(tmp_path, 0)
    for name in (".tmp-old", ".tmp-young"):
        (tmp_path / "segments" / name).mkdir()
    now = T0 + HOUR
    os.utime(tmp_path / "segments" / ".tmp-old", ns=(now - 2 * HOUR, now - 2 * HOUR))
    os.utime(tmp_path / "segments" / ".tmp-young", ns=(now, now))
    retention.apply(tmp_path, LONG, PLENTY, 0, now)
    assert ".tmp-young" in left(tmp_path)
    assert ".tmp-old" not in left(tmp_path)


def test_an_empty_or_missing_directory_has_nothing_to_drop(tmp_path: Path) -> None:
    assert retention.apply(tmp_path / "none", 0, 0, 0, T0).segments == ()
    assert retention.make_room(tmp_path, 100) == 0


def test_pins_are_listed_oldest_first_and_can_be_taken_off(tmp_path: Path) -> None:
    late = pin(tmp_path, at(100, 5), "job died")
    early = pin(tmp_path, at(0, 5), "reset\n\x1b[2J")
    assert pins(tmp_path) == [early, late]
    assert early.keeps == Window(T0 - MARGIN_NS, T0 + 5 * SECOND + MARGIN_NS)
    assert pin(tmp_path, at(100, 5), "job died") == late
    assert len(pins(tmp_path)) == 2
    assert retention.unpin(tmp_path, early.id)
    assert not retention.unpin(tmp_path, early.id)
    assert not retention.unpin(tmp_path, "../../etc/passwd")
    assert pins(tmp_path) == [late]


def test_a_pin_whose_file_is_damaged_still_pins(tmp_path: Path) -> None:
    made = pin(tmp_path, at(0, 5), "x")
    (tmp_path / "pins" / f"{made.id}.json").write_bytes(b"\xff\x00")
    (found,) = pins(tmp_path)
    assert found.window == made.window


def test_a_segment_that_vanished_meanwhile_is_no_error(tmp_path: Path) -> None:
    old, _ = make(tmp_path, 0, 600)
    segments = stored(tmp_path)
    shutil.rmtree(tmp_path / "segments" / old)
    retention._drop(tmp_path, segments[:1])
