from __future__ import annotations

import math

import pytest

from exhume.cli.render.amounts import amount, number, short_unit


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0, "interrupts per second", "0"),
        (0.004, "runs per second", "< 0.01"),
        (0.25, "runs per second", "0.25"),
        (12.345, "", "12.3"),
        (312.4, "", "312"),
        (1_234_567, "cgroups", "1,234,567"),
        (-3.5, "", "−3.5"),
        (3_250_000, "bytes", "3.1 MiB"),
        (3_250_000, "bytes per second", "3.1 MiB/s"),
        (2048, "KiB per second", "2.0 MiB/s"),
        (5_000_000, "nanoseconds per second", "5 ms/s"),
        (5_000, "microseconds per second", "5 ms/s"),
        (1_500_000_000, "nanoseconds", "1.5 s"),
        (None, "bytes", "–"),
        (math.nan, "", "–"),
    ],
)
def test_amounts_are_as_people_say_them(value: float | None, unit: str, shown: str) -> None:
    assert amount(value, unit) == shown


def test_a_rate_is_said_by_a_stroke() -> None:
    assert short_unit("interrupts per second") == "interrupts/s"
    assert short_unit("bytes") == "bytes"
    assert number(math.nan) == "–"
