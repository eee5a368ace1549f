from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.snapshots_time import instant, instant_ns
from tests.ingest.test_snapshots import NS, START


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1794773717", START * NS), ("1794773717.63", START * NS + 630_000_000),
        ("1794773717630", START * NS + 630_000_000), ("2026-11-15T20:15:17Z", START * NS),
        ("2026-11-15T20:15:17.630Z", START * NS + 630_000_000),
        ("2026-11-15 22:15:17+02:00", START * NS), ("2026-11-15T20:15:17", START * NS),
        ("Sun Nov 15 20:15:17 UTC 2026", START * NS),
        ("Sun Nov 15 08:15:17 PM UTC 2026", START * NS),
        ("Sun, 15 Nov 2026 20:15:17 +0000", START * NS), ("20261115-201517", START * NS),
        ("So 15. Nov 21:15:17 CET 2026", START * NS),
        ("Sun Nov 15 15:15:17 EST 2026", START * NS),
        ("dim. 15 nov. 2026 20:15:17 UTC", START * NS),
        ("15.11.2026 21:15:17 CET", START * NS), ("So 15.11.2026, 20:15:17", START * NS),
        ("2026-11-15-20:15:17", START * NS), ("2026-11-15_20-15-17Z", START * NS),
        ("20261115201517", START * NS), ("20261315201517", None), ("15.13.2026 20:15:17", None),
        ("Mon Nov 16 04:15:17 +08 2026", START * NS),
        ("mar. 17 nov. 2026 20:15:17 UTC", (START + 2 * 86400) * NS),
        ("2026-13-15T20:15:17", None), ("Sun Foo 15 20:15:17 UTC 2026", None),
        ("20:15:17", None), ("17", None),
        ("\uff11\uff17\uff19\uff14\uff17\uff17\uff13\uff17\uff11\uff17", None),
    ],
)  # fmt: skip
def test_instants_as_people_write_them(text: str, expected: int | None) -> None:
    assert instant_ns(text) == expected


@given(st.text(max_size=40))
def test_no_text_is_too_odd_for_an_instant(text: str) -> None:
    found = instant_ns(text)
    assert found is None or found > 0


@pytest.mark.parametrize(
    ("text", "has_zone"),
    [
        ("2026-11-15 20:15:17", False), ("2026-11-15 20:15:17 CET", True),
        ("Sun Nov 15 20:15:17 2026", False), ("1794773717", True),
        ("Sun Nov 15 20:15:17 CST 2026", False),  # Chicago, or Shanghai
    ],
)  # fmt: skip
def test_whether_an_instant_tells_its_zone(text: str, has_zone: bool) -> None:
    found = instant(text)
    assert found is not None
    assert found.has_zone == has_zone
