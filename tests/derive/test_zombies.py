from __future__ import annotations

import numpy as np
import pytest

from exhume.derive import zombies
from exhume.derive.zombies import HOUR_NS
from exhume.model.answers import SeriesAnswer
from exhume.model.series import MISSING
from exhume.model.window import Window

NS = 1_000_000_000
MINUTE = 60 * NS


def series(
    values: list[int], *, step_ns: int = MINUTE, instance: str = "", field: str = "memcg.zombies",
    start_ns: int = 0,
) -> SeriesAnswer:  # fmt: skip
    return SeriesAnswer(
        field,
        instance,
        start_ns + np.arange(len(values), dtype=np.int64) * step_ns,
        np.array(values, np.int64),
        np.arange(len(values)).astype(np.uint8),
    )


def test_a_steady_leak_has_its_rate() -> None:
    found = zombies.growth(series([100 + 6 * minute for minute in range(60)]), None)
    assert found is not None
    assert found.per_hour == pytest.approx(360)
    assert found.low_per_hour == pytest.approx(found.high_per_hour)
    assert (found.readings, found.over_ns) == (60, 59 * MINUTE)


def test_one_drop_of_the_caches_does_not_turn_growth_round() -> None:
    values = [6 * minute for minute in range(40)] + [6 * minute for minute in range(20)]
    found = zombies.growth(series(values), None)
    assert found is not None
    assert found.per_hour > 100


def test_tracked_live_and_zombies_are_of_one_moment() -> None:
    dead = series([5, 90, MISSING])
    live = series([5, 4, 6])
    tracked = series([10, 94, 300])
    assert zombies.at_once(dead, tracked, live) == (90, 94, 4)
    assert zombies.at_once(dead, series([9, 95], start_ns=NS), None) == (90, 95, 5)
    assert zombies.at_once(dead, None, live) == (90, 94, 4)
    assert zombies.at_once(dead, series([10, 94], start_ns=5 * NS), None) == (90, None, None)
    assert zombies.at_once(None, tracked, live) == (None, 300, 6)
    assert zombies.at_once(None, None, None) == (None, None, None)


def since_drop(values: list[int], boot: Window | None = None) -> Window | None:
    return zombies.since_drop(series(values), boot)


def test_what_grew_before_most_were_let_go_is_no_forecast() -> None:
    grown = [300 * minute for minute in range(60)]
    assert since_drop([*grown, 31]) == Window(60 * MINUTE, 60 * MINUTE + 1)
    assert zombies.growth(series([*grown, 31]), since_drop([*grown, 31])) is None
    again = [*grown, *(31 + 2 * minute for minute in range(30))]
    found = zombies.growth(series(again), since_drop(again))
    assert found is not None
    assert found.per_hour == pytest.approx(120)
    assert found.readings == 30
    slowly = [*grown, 12_000, 8_000, 3_000, 31, 31, 31]
    assert since_drop(slowly) == Window(63 * MINUTE, 65 * MINUTE + 1)


def test_a_small_drop_is_none_and_a_boot_has_its_own() -> None:
    boot = Window(0, 90 * MINUTE)
    for values in ([40, 30, 10, 0], [1000, 700, 900], [5] * 9, []):
        assert since_drop(values, boot) == boot
        assert since_drop(values) is None
    reboot = Window(2 * MINUTE, 4 * MINUTE)
    assert since_drop([9_000, 9_000, 0, 10], reboot) == reboot
    assert since_drop([0, 0, 9_000, 0], reboot) == Window(3 * MINUTE, 4 * MINUTE)


def test_a_reboot_is_no_shrinking() -> None:
    values = [60_000 + minute for minute in range(30)] + list(range(30))
    boot = Window(30 * MINUTE, 60 * MINUTE)
    found = zombies.growth(series(values), boot)
    assert found is not None
    assert found.per_hour == pytest.approx(60)


def test_readings_that_were_thrown_away_do_not_count() -> None:
    values = [6 * minute if minute % 3 == 0 else MISSING for minute in range(60)]
    found = zombies.growth(series(values), None)
    assert found is not None
    assert (round(found.per_hour), found.readings) == (360, 20)


@pytest.mark.parametrize("values", [[], [5], [5, 9], [MISSING] * 9])
def test_too_few_counts_are_no_growth(values: list[int]) -> None:
    assert zombies.growth(series(values), None) is None
    assert zombies.growth(None, None) is None


def test_a_week_of_minutes_is_quick() -> None:
    found = zombies.growth(series(list(range(7 * 1440))), None)
    assert found is not None
    assert found.per_hour == pytest.approx(60)


def test_memory_is_measured_where_the_count_moved_enough() -> None:
    counts = series([10 * minute for minute in range(60)])
    noise = np.random.default_rng(1).integers(-200_000, 200_000, 60)
    percpu = series([50_000_000 + 3_250_000 * m + int(noise[m]) for m in range(60)])
    slab = series([9_000_000 + 130_000 * minute for minute in range(60)])
    found = zombies.bytes_per_zombie(counts, (percpu, slab), None)
    assert found == pytest.approx(338_000, rel=0.02)
    still = series([1000 + minute % 3 for minute in range(60)])
    assert zombies.bytes_per_zombie(still, (percpu, slab), None) is None
    assert zombies.bytes_per_zombie(counts, (percpu, None), None) is None
    wild = series([50_000_000 + 9_000_000 * (minute % 7) for minute in range(60)])
    assert zombies.bytes_per_zombie(counts, (wild,), None) is None
    falling = series([600_000_000 - 3_250_000 * minute for minute in range(60)])
    assert zombies.bytes_per_zombie(counts, (falling,), None) is None


def test_parents_of_v2_come_by_count_and_of_v1_by_memory() -> None:
    held = [series([3, 9], instance="/a"), series([70, 80], instance="/system.slice")]
    (first, second) = zombies.parents(held, (), (), ())
    assert (first.path, first.zombies, first.shmem_bytes) == ("/system.slice", 80, None)
    assert second.path == "/a"
    shmem = [series([4096, 8192], instance="/docker"), series([0, 0], instance="/none")]
    file = [series([0, 4096], instance="/docker"), series([0, 0], instance="/none")]
    (only,) = zombies.parents((), shmem, file, ())
    assert (only.path, only.zombies) == ("/docker", None)
    assert (only.shmem_bytes, only.file_bytes, only.anonymous_bytes) == (8192, 4096, 0)


def test_whom_the_last_look_did_not_name_holds_nothing_any_more() -> None:
    held = [series([5], instance="/gone"), series([7] * 30, instance="/there")]
    assert [parent.path for parent in zombies.parents(held, (), (), ())] == ["/there"]


def test_zombies_by_name_are_removals_less_releases() -> None:
    births = [series([1, 61], instance="/docker/*"), series([5, 9], instance="/user-*.slice")]
    removals = [series([0, 60], instance="/docker/*"), series([5, 9], instance="/user-*.slice")]
    releases = [series([0, 2], instance="/docker/*"), series([5, 9], instance="/user-*.slice")]
    first, second = zombies.names(births, removals, releases, ())
    assert (first.name, first.born, first.removed, first.released) == ("/docker/*", 60, 60, 2)
    assert (first.left, second.left) == (58, 0)


@pytest.mark.parametrize(
    ("kernel", "walker", "reschedules"),
    [
        ("4.15.0-1174-aws", "memory.stat or v1's memory.numa_stat", False),
        ("5.4.0-1146-aws", "v1's memory.numa_stat", False),
        ("5.7.19", "v1's memory.numa_stat", False),
        ("5.8.0", "reclaim", True),
        ("6.18.44-fc-v445", "reclaim", True),
        ("nonsense", "reclaim", True),
    ],
)
def test_what_walks_depends_on_the_kernel(kernel: str, walker: str, reschedules: bool) -> None:
    found, lets_others_run = zombies.walker_of(kernel)
    assert walker in found
    assert lets_others_run == reschedules


def test_when_it_will_hurt_follows_from_the_rate() -> None:
    found = zombies.outlook("5.4.0-1146-aws", 10_714, 360.0)
    assert found is not None
    one, five = found.walks
    assert (one.seconds, one.zombies) == (1.0, 14_286)
    assert one.in_ns == pytest.approx((14_286 - 10_714) / 360 * HOUR_NS)
    assert five.zombies == 71_429
    assert five.in_ns == pytest.approx((71_429 - 10_714) / 360 * HOUR_NS)


def test_it_hurts_already_or_never() -> None:
    full = zombies.outlook("5.4", 80_000, 0.0)
    assert full is not None
    assert [walk.in_ns for walk in full.walks] == [0, 0]
    for rate in (None, 0.0, -5.0):
        calm = zombies.outlook("5.4", 100, rate)
        assert calm is not None
        assert [walk.in_ns for walk in calm.walks] == [None, None]
    assert zombies.outlook("5.4", None, 1.0) is None


@pytest.mark.parametrize(
    ("per_hour", "when"),
    [(1000.0, "in about 47.4 hours"), (30_000.0, "in about 95 minutes"), (9e6, "within a minute")],
)
def test_when_walks_become_long_is_told_in_hours_minutes_or_now(per_hour: float, when: str) -> None:
    ahead = zombies.outlook("5.4", 24_000, per_hour)
    assert ahead is not None
    assert f"would take 5 s {when} (assuming" in zombies.outlook_words(ahead)
