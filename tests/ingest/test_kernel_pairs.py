from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.ingest.kernel_pairs import KernelHints, KernelPairs
from exhume.ingest.piece import Trust

NS = 1_000_000_000
BOOT = 1_794_773_712 * NS + 345_678_901
KERNEL_TIMES = st.lists(st.integers(10 * NS, 3600 * NS), min_size=1, max_size=60).map(sorted)


@given(KERNEL_TIMES, st.data())
@settings(deadline=None)
def test_late_lines_are_placed_by_the_prompt_ones_near_them(
    kernel: list[int], data: st.DataObject
) -> None:
    pairs = KernelPairs()
    for at in kernel:
        late = data.draw(st.integers(0, 20 * NS))
        placed = pairs.place(BOOT + at + late, at, 0)
        assert BOOT + at <= placed <= BOOT + at + late, "never before it was said, nor later"
    claim = pairs.claim()
    assert claim is not None
    assert claim.offset_ns >= BOOT


@given(KERNEL_TIMES)
@settings(deadline=None)
def test_whole_seconds_of_many_lines_tell_the_offset_better_than_to_a_second(
    kernel: list[int],
) -> None:
    pairs = KernelPairs()
    for at in kernel:
        pairs.place((BOOT + at) // NS * NS, at, NS)
    claim = pairs.claim()
    assert claim is not None
    assert abs(claim.offset_ns - BOOT) <= NS
    spread = {(BOOT + at) % NS * 10 // NS for at in kernel}
    if len(spread) == 10:
        assert abs(claim.offset_ns - BOOT) <= NS // 5


@given(KERNEL_TIMES)
@settings(deadline=None)
def test_lines_of_whole_seconds_stay_in_the_second_of_their_stamp(kernel: list[int]) -> None:
    pairs = KernelPairs()
    for at in kernel:
        wall = (BOOT + at) // NS * NS
        assert wall <= pairs.place(wall, at, NS) <= BOOT + at


def test_a_reboot_in_the_middle_starts_anew() -> None:
    pairs = KernelPairs()
    pairs.place(BOOT + 500 * NS, 500 * NS, 0)
    assert pairs.place(BOOT + 900 * NS, 3 * NS, 0) == BOOT + 900 * NS
    claim = pairs.claim()
    assert claim is not None
    assert claim.offset_ns == BOOT + 897 * NS


def test_the_kernel_itself_tells_wall_time_now_and_then() -> None:
    hints = KernelHints()
    assert hints.claim() is None
    hints.look(2 * NS, "audit: type=2000 audit(1794773713.572:1): state=initialized")
    assert hints.claim() is None, "so early the clock may not have been set"
    hints.look(
        4 * NS, "rtc_cmos 00:05: setting system clock to 2026-11-15T20:15:16 UTC (1794773716)"
    )
    claim = hints.claim()
    assert claim is not None
    assert (claim.offset_ns, claim.trust) == (1_794_773_712 * NS, Trust.HARDWARE_CLOCK)
    for late in (5, 0, 7):
        hints.look(100 * NS + late, "audit: type=1400 audit(1794773812.500:7): apparmor=x")
    claim = hints.claim()
    assert claim is not None
    assert (claim.offset_ns, claim.trust) == (1_794_773_712_500_000_000, Trust.UPTIME)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("PM: RTC time: 20:15:13, date: 2026-11-15", 1_794_773_713),
        ("RTC time:  8:15:13, date: 11/15/26", 1_794_730_513),
        ("RTC time: 165:165:165, date: 165/165/65", None),
        ("RTC time: 20:15:13, date: 2026-13-15", None),
    ],
)
def test_the_hardware_clock_as_it_is_read_at_first_will_do(line: str, seconds: int | None) -> None:
    hints = KernelHints()
    hints.look(NS, line)
    claim = hints.claim()
    assert (claim and claim.offset_ns) == (seconds and (seconds - 1) * NS)
    # What the clock was set by is the better one, and stays.
    hints.look(
        4 * NS, "rtc_cmos 00:05: setting system clock to 2026-11-15T20:15:16 UTC (1794773716)"
    )
    hints.look(5 * NS, line)
    claim = hints.claim()
    assert claim is not None
    assert claim.offset_ns == 1_794_773_712 * NS


def test_lines_after_a_sleep_are_placed_after_it() -> None:
    pairs = KernelPairs()
    for second in range(100, 130):
        pairs.place(BOOT + second * NS, second * NS, 0)
    slept = 8 * 3600 * NS  # the kernel's clock stands still meanwhile
    assert pairs.place(BOOT + slept + 131 * NS, 131 * NS, 0) == BOOT + slept + 131 * NS
    claim = pairs.claim()
    assert claim is not None
    assert claim.offset_ns == BOOT + slept


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("2025-01-02 03:04:05 UTC", 1735787045),
        ("2025-01-02T03:04:05 UTC", 1735787045),
        ("2025-01-02 03:04:05 UTC (1735787045)", 1735787045),
        ("2025-01-02 03:04:05 UTC (17357", 1735787045),
        ("2025-02-31 03:04:05 UTC", None),
        ("2025-01-02 03:04:05 CET", None),
        ("2025-01-02", None),
    ],
)
def test_the_hardware_clock_is_told_as_a_number_or_as_a_date_alone(
    said: str, seconds: int | None
) -> None:
    hints = KernelHints()
    hints.look(2 * NS, f"rtc_cmos 00:01: setting system clock to {said}")
    claim = hints.claim()
    assert (claim and claim.offset_ns) == (seconds and (seconds - 2) * NS)
