from __future__ import annotations

import pytest

from exhume.derive.zone_names import minutes_east


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [
        ("UTC", 0), ("CET", 60), ("CEST", 120), ("EST", -300), ("PDT", -420), ("+08", 480),
        ("+0530", 330), ("-03:00", -180), ("CST", None), ("IST", None), ("+99", None), ("X", None),
    ],
)  # fmt: skip
def test_only_names_that_mean_one_thing_are_known(zone: str, minutes: int | None) -> None:
    assert minutes_east(zone) == minutes
