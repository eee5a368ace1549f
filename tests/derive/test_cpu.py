"""mpstat's arithmetic, rule by rule, on readings worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.cpu import CoreShares, core_shares
from exhume.model.answers import MAP_MODES
from exhume.model.fields import CPU_MODES
from exhume.model.series import MISSING, Block

SECOND = 1_000_000_000


def readings(*rows: dict[str, int] | None, core: str = "3", seconds: float = 1.0) -> list[Block]:
    """One core; a row a reading, modes not named are 0, None where the core was off line."""
    ticks = (np.arange(len(rows)) * seconds * SECOND).astype(np.int64)
    return [
        Block(
            f"cpu.{mode}",
            (core,),
            ticks,
            np.array([[MISSING if r is None else r.get(mode, 0)] for r in rows], np.int64),
        )
        for mode in CPU_MODES
    ]


def shares(*rows: dict[str, int] | None) -> CoreShares:
    found = core_shares(readings(*rows))
    assert found is not None
    return found


def percents(found: CoreShares, interval: int = 0) -> dict[str, float]:
    modes = {m: float(found.percent[i, 0, interval]) for i, m in enumerate(MAP_MODES)}
    return {**modes, "idle": float(found.idle[0, interval])}


def test_a_second_is_shared_out_among_the_modes_in_proportion_to_their_jiffies() -> None:
    found = shares({}, {"user": 10, "nice": 5, "system": 20, "irq": 1, "softirq": 4, "idle": 60})
    assert percents(found) == pytest.approx(
        {"user": 15, "system": 20, "irq": 1, "softirq": 4, "steal": 0, "iowait": 0, "idle": 60}
    )
    assert found.busy[0, 0] == pytest.approx(40)
    assert found.cores == (3,)


def test_iowait_is_neither_busy_nor_idle() -> None:
    found = shares({}, {"iowait": 30, "idle": 70})
    assert percents(found)["iowait"] == pytest.approx(30)
    assert found.busy[0, 0] == 0
    assert found.idle[0, 0] == pytest.approx(70)


def test_guests_count_once_because_user_and_nice_already_hold_them() -> None:
    found = shares({}, {"user": 40, "guest": 40, "nice": 10, "guest_nice": 10, "idle": 50})
    assert percents(found)["user"] == pytest.approx(50)
    assert percents(found)["idle"] == pytest.approx(50)


def test_a_guest_counter_that_runs_ahead_of_user_shifts_the_interval() -> None:
    # user rose by 10, guest by 12: user without guest fell, which counts as 0, and guest as 12.
    found = shares({"user": 100, "guest": 50}, {"user": 110, "guest": 62, "idle": 88})
    assert percents(found)["user"] == pytest.approx(12)
    assert percents(found)["idle"] == pytest.approx(88)


@pytest.mark.parametrize("mode", ["system", "irq", "softirq", "steal"])
def test_a_counter_that_falls_counts_as_zero(mode: str) -> None:
    found = shares({mode: 50, "user": 0}, {mode: 49, "user": 100})
    assert percents(found)[mode] == 0
    assert percents(found)["user"] == pytest.approx(100)


def test_iowait_that_falls_while_idle_rises_is_bad_accounting_and_counts_as_zero() -> None:
    found = shares({"iowait": 70, "idle": 100}, {"iowait": 60, "idle": 150, "user": 50})
    assert percents(found)["iowait"] == 0
    assert percents(found)["idle"] == pytest.approx(50)
    assert percents(found)["user"] == pytest.approx(50)


def test_idle_and_iowait_that_fall_together_started_anew_on_a_core_that_came_back() -> None:
    before = {"iowait": 5_000, "idle": 90_000, "user": 300}
    found = shares(before, {"iowait": 10, "idle": 40, "user": 350})
    assert percents(found) == pytest.approx(
        {"user": 50, "system": 0, "irq": 0, "softirq": 0, "steal": 0, "iowait": 10, "idle": 40}
    )


def test_idle_that_slips_back_by_a_jiffy_does_not_hide_a_busy_second() -> None:
    # sysstat would take all 89,999 for the idle time of this second and print 100 % idle.
    found = shares({"idle": 90_000, "system": 0}, {"idle": 89_999, "system": 100})
    assert percents(found)["system"] == pytest.approx(100)
    assert percents(found)["idle"] == 0


def test_a_tickless_core_that_counted_nothing_is_idle() -> None:
    found = shares({"user": 7, "idle": 9}, {"user": 7, "idle": 9})
    assert percents(found)["idle"] == 100
    assert found.busy[0, 0] == 0


def test_a_core_that_was_off_line_has_no_value_across_the_gap() -> None:
    found = shares({}, {"user": 100}, None, {"user": 110, "idle": 5}, {"user": 160, "idle": 55})
    assert np.isnan(found.busy[0]).tolist() == [False, True, True, False]
    assert found.busy[0, 3] == pytest.approx(50)
    assert np.isnan(found.percent[:, 0, 1:3]).all()


def test_a_reboot_is_a_gap_on_all_cores() -> None:
    busy = readings({"user": 90_000, "system": 9_000, "idle": 50_000}, {"user": 400, "idle": 700})
    idle = readings({"user": 1, "idle": 140_000}, {"user": 2, "idle": 1_100}, core="4")
    found = core_shares(
        Block(a.field, ("3", "4"), a.tick_ns, np.hstack([a.values, b.values]))
        for a, b in zip(busy, idle, strict=True)
    )
    assert found is not None
    assert np.isnan(found.busy).all()
    assert np.isnan(found.idle).all()


def test_columns_that_an_old_kernel_lacks_read_as_zero() -> None:
    blocks = [
        block
        for block in readings({}, {"user": 25, "idle": 75})
        if block.field in ("cpu.user", "cpu.nice", "cpu.system", "cpu.idle")
    ]
    found = core_shares(blocks)
    assert found is not None
    assert percents(found)["user"] == pytest.approx(25)


def test_without_idle_times_there_is_nothing_to_say() -> None:
    assert core_shares([]) is None
    assert core_shares(readings({"user": 1})) is None
    assert core_shares([b for b in readings({}, {}) if b.field != "cpu.idle"]) is None


def test_blocks_with_other_ticks_and_other_order_of_cores_are_lined_up() -> None:
    ticks = np.array([0, SECOND, 2 * SECOND], np.int64)
    idle = Block("cpu.idle", ("0", "1"), ticks, np.array([[0, 0], [50, 100], [50, 200]], np.int64))
    user = Block("cpu.user", ("1", "0"), ticks, np.array([[0, 0], [0, 50], [0, 150]], np.int64))
    late = np.array([SECOND, 2 * SECOND], np.int64)
    system = Block("cpu.system", ("0", "1"), late, np.zeros((2, 2), np.int64))
    found = core_shares([idle, user, system])
    assert found is not None
    assert found.cores == (0, 1)
    assert np.isnan(found.busy[:, 0]).all(), "system was not read at the first tick"
    assert found.busy[:, 1].tolist() == [100, 0]


counts = st.integers(0, 10**12) | st.integers(0, 200)
row = st.none() | st.fixed_dictionaries(dict.fromkeys(CPU_MODES, counts))


def is_reboot(a: dict[str, int], b: dict[str, int]) -> bool:
    return b["user"] + b["system"] < a["user"] + a["system"] and b["idle"] < a["idle"]


@given(st.lists(row, min_size=2, max_size=6))
def test_shares_lie_within_0_and_100_and_make_100_whatever_the_kernel_says(
    rows: list[dict[str, int] | None],
) -> None:
    found = shares(*rows)
    known = ~np.isnan(found.busy[0])
    assert known.tolist() == [
        a is not None and b is not None and not is_reboot(a, b) for a, b in pairwise(rows)
    ]
    values = np.vstack([found.percent[:, 0, known], found.idle[:, known]])
    assert (values >= 0).all()
    assert (values <= 100 + 1e-9).all()
    assert values.sum(axis=0) == pytest.approx(100)
    assert found.busy[0, known] == pytest.approx(values[:5].sum(axis=0))
