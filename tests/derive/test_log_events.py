"""Log lines become events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.log_events import MAX_EVENTS, LogLine, at_their_own_time, events_of
from exhume.derive.signatures import job_log, kernel_log
from exhume.model.event import Event
from exhume.model.fields import EVENT_KINDS

PAUSED = (
    "ena 0000:00:05.0 eth0: TX q {} is paused for too long (threshold 5000000). "
    "usecs since napi {}. napi scheduled: 1. napi CPU: 39. msecs since interrupt: 1"
)
SECOND = 10**9


def test_a_known_line_is_an_event_with_subject_core_and_figures() -> None:
    (event,) = events_of([LogLine(5, PAUSED.format(5, 6328000), 3)], kernel_log())
    assert (event.kind, event.subject, event.core, event.time_ns) == ("kernel-log", "eth0", 39, 5)
    assert event.fields["signature"] == "ena.tx_paused"
    assert event.fields["class"] == "netdev-starve"
    assert event.fields["since_napi_seconds"] == 6.328
    assert event.kind in {kind.id for kind in EVENT_KINDS}


def test_a_flood_of_one_second_is_one_event_with_its_count_and_worst_figure() -> None:
    lines = [LogLine(number, PAUSED.format(5, 5_000_000 + number)) for number in range(3000)]
    (event,) = events_of(lines, kernel_log())
    assert event.count == 3000
    assert event.fields["since_napi_seconds"] == 5.002999


def test_other_queues_and_other_seconds_stay_apart() -> None:
    lines = [
        LogLine(1, PAUSED.format(5, 1)),
        LogLine(2, PAUSED.format(6, 1)),
        LogLine(2 * SECOND, PAUSED.format(5, 1)),
    ]
    assert [event.fields["queue"] for event in events_of(lines, kernel_log())] == [5, 6, 5]


def test_a_tab_before_a_number_is_no_part_of_it() -> None:
    line = "\t1-....: (20999 ticks this GP) idle=a26/1/0x4000000000000000 softirq=1/1 fqs=5"
    (event,) = events_of([LogLine(1, line, 3)], kernel_log())
    assert (event.text[:3], event.core) == (" 1-", 1)


def test_unknown_lines_are_kept_from_warning_upwards() -> None:
    lines = [LogLine(1, "odd", 6), LogLine(2, "worse", 4), LogLine(3, "worse", 4)]
    (event,) = events_of(lines, kernel_log())
    assert (event.text, event.count, event.subject) == ("worse", 2, "")
    assert "signature" not in event.fields


def test_a_followed_file_keeps_only_what_it_knows() -> None:
    lines = [LogLine(1, "epoch 5 done"), LogLine(2, "ray.exceptions.ActorDiedError: gone")]
    (event,) = events_of(lines, job_log(), kind="job-log", keep_level=-1)
    assert (event.kind, event.fields["signature"]) == ("job-log", "ray.actor_died")


def test_a_batch_gives_a_bounded_number_of_events_and_says_what_is_missing() -> None:
    lines = [LogLine(number, f"line {number}", 3) for number in range(MAX_EVENTS + 70)]
    events = events_of(lines, kernel_log())
    assert len(events) == MAX_EVENTS + 1
    assert (events[-1].subject, events[-1].count) == ("flood", 70)


@given(
    st.lists(st.tuples(st.integers(0, 5 * SECOND), st.text(max_size=80), st.integers(0, 7))),
)
def test_no_line_is_lost_or_counted_twice(raw: list[tuple[int, str, int]]) -> None:
    lines = [LogLine(*one) for one in raw]
    events = events_of(lines, kernel_log(), keep_level=7)
    assert sum(event.count for event in events) == len(lines)
    assert [event.time_ns for event in events] == sorted(event.time_ns for event in events)


@pytest.mark.parametrize(
    ("text", "moved_s"),
    [
        ("2026-11-15T23:59:59.250Z ERROR request timed out", -0.75),  # written before it was read
        ("ERROR request timed out", 0.0),
        ("2026-11-15T23:50:00Z ERROR request timed out", 0.0),  # of another clock, or zone
        ("2026-11-16T00:00:01Z ERROR request timed out", 0.0),  # not written yet: it lies
    ],
)
def test_a_line_happened_when_it_says_itself(text: str, moved_s: float) -> None:
    second = 1_000_000_000
    read_ns = 50 * second
    (one,) = at_their_own_time([Event(read_ns, "job-log", "x", text)], 1_794_787_150 * second)
    assert one.time_ns == read_ns + moved_s * second


def test_a_file_server_that_does_not_answer_is_named() -> None:
    line = LogLine(1, "nfs: server 10.0.0.1 not responding, still trying", 5)
    assert [event.subject for event in events_of([line], kernel_log())] == ["10.0.0.1"]
