"""Silence tells that nobody was harmed only where somebody could have spoken."""

from __future__ import annotations

from typing import Any

import pytest

from exhume.diagnose.witnesses import can_tell_of_harm, mute_samples
from tests.diagnose.made_up import event, observation, series, span

MINUTES: dict[str, Any] = {
    "sampled": (span(0, 120),), "timed": (span(0, 120),), "unnamed_kernel_ratio": 0.1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "can_tell"),
    [
        ({}, False),
        (MINUTES, True),
        (MINUTES | {"unnamed_kernel_ratio": 0.9}, False),
        (MINUTES | {"unnamed_kernel_ratio": None}, False),
        (MINUTES | {"timed": (span(0, 31),)}, False),
        (MINUTES | {"timed": ()}, False),
        (MINUTES | {"timed": (span(60, 63),)}, True),
    ],
)
def test_samples_tell_with_names_and_for_long_enough(more: dict[str, Any], can_tell: bool) -> None:
    seen = observation(window=span(0, 120), **more)
    assert can_tell_of_harm(seen, has_log=False) is can_tell
    assert can_tell_of_harm(seen, has_log=True)


def test_waits_for_a_core_and_lines_of_logs_tell() -> None:
    waits = [series(f"process.{one}", [0, 1], "7 a") for one in ("wait_ns", "slices")]
    assert can_tell_of_harm(observation(series=waits), has_log=False)
    assert not can_tell_of_harm(observation(series=waits[:1]), has_log=False)
    said = event(5, "kernel-log", "eth0", "link is up")
    assert can_tell_of_harm(observation(events=(said,)), has_log=False)


def test_why_samples_tell_nothing_is_said_with_what_to_record() -> None:
    for more, said in (
        (MINUTES, ""),
        ({}, ""),
        (MINUTES | {"unnamed_kernel_ratio": None}, "as root"),
        (MINUTES | {"timed": (span(0, 5),)}, "capture two minutes"),
        (MINUTES | {"timed": ()}, "no measure of time"),
    ):
        found = mute_samples(observation(window=span(0, 120), **more))
        assert said in found
        assert bool(found) is bool(said)
