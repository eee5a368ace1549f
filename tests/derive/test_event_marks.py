from __future__ import annotations

from exhume.derive.event_marks import MOST_MARKS, event_marks
from exhume.model.answers import EventAnswer

SECOND = 1_000_000_000


def event(second: float, kind: str = "unit-failed", subject: str = "x", core: int = 1,
          **fields: str | int | float) -> EventAnswer:  # fmt: skip
    return EventAnswer(int(second * SECOND), kind, subject, "", core, None, 1, fields)


def test_like_events_that_would_touch_are_one_mark() -> None:
    found = event_marks([event(0), event(1), event(2), event(20)], 5 * SECOND)
    assert [(m.first_wall_ns, m.last_wall_ns, m.count) for m in found] == [
        (0, 2 * SECOND, 3),
        (20 * SECOND, 20 * SECOND, 1),
    ]


def test_unlike_events_stay_apart_and_a_core_is_told_only_where_all_agree() -> None:
    found = event_marks([event(0), event(0.1, subject="y"), event(0.2, core=2)], SECOND)
    assert [(m.subject, m.core) for m in found] == [("x", None), ("y", 1)]


def test_what_is_of_no_account_has_no_mark() -> None:
    assert event_marks([event(0, kind="exec")], SECOND) == ()


def test_of_a_flood_the_severe_stay() -> None:
    flood = [event(index, subject=str(index), kind="rate") for index in range(MOST_MARKS)]
    harm = event(0.5, kind="job-log", subject="job")
    found = event_marks(sorted([*flood, harm], key=lambda e: e.wall_ns), 1)
    assert len(found) == MOST_MARKS
    assert any(mark.severity == 3 for mark in found)
    assert [m.first_wall_ns for m in found] == sorted(m.first_wall_ns for m in found)
