from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.log_events import LogLine
from exhume.derive.signatures import Match, job_log, match
from exhume.derive.unit_lines import is_unit_line, unit_events
from exhume.model.event import Event

SECOND = 10**9
EXITED = "a.service: Main process exited, code=exited, status=1/FAILURE"
KILLED = "a.service: Main process exited, code=killed, status=9/KILL"
FAILED = "a.service: Failed with result 'exit-code'."
RESTART = "a.service: Scheduled restart job, restart counter is at {}."
BOTH = (
    "a.service: Main process {} exited, code=exited, status=1/FAILURE after {}ms; "
    "restart counter is at {}."
)


def found(text: str) -> Match:
    one = match(text, job_log())
    assert one is not None, text
    assert is_unit_line(one)
    return one


def events(*lines: tuple[int, str]) -> tuple[Event, ...]:
    return unit_events((LogLine(time_ns, text), found(text)) for time_ns, text in lines)


@pytest.mark.parametrize(
    ("ended", "started"),
    [
        (
            "App [api:0] exited with code [1] via signal [SIGINT]",
            "App [api:0] starting in -fork mode-",
        ),
        (
            "App [api] with id [2] and pid [160], exited with code [1] via signal [SIGINT]",
            "Starting execution sequence in -fork mode- for app name:api id:2",
        ),
        (
            "App name:api id:0 exited with code 8",
            "Starting execution sequence in -cluster mode- for app name:api id:0",
        ),
        (
            "error    : 'api' process is not running",
            "info     : 'api' start: /etc/init.d/api start",
        ),
    ],
)
def test_supervisors_tell_of_ends_and_starts_in_words_of_their_own(
    ended: str, started: str
) -> None:
    told = events((1, ended), (2, started), (30 * SECOND, ended), (31 * SECOND, started))
    assert [(one.kind, one.subject) for one in told] == [
        ("unit-failed", "api"), ("unit-start", "api"),
    ] * 2  # fmt: skip


def test_systemd_says_an_end_twice_and_it_counts_once() -> None:
    failed, start = events((1, EXITED), (2, FAILED), (10 * SECOND, RESTART.format(41)))
    assert (failed.kind, failed.subject, failed.count, failed.time_ns) == (
        "unit-failed", "a.service", 1, 1,
    )  # fmt: skip
    assert failed.fields == {"result": "exit-code", "main_status": 1}
    assert failed.text == "failed with result 'exit-code'"
    assert (start.kind, start.count, start.fields) == ("unit-start", 1, {"restarts_total": 41})


def test_an_end_that_is_said_twice_over_the_turn_of_a_second_counts_once() -> None:
    (failed,) = events((SECOND, EXITED), (2 * SECOND, FAILED))
    assert (failed.kind, failed.count, failed.time_ns) == ("unit-failed", 1, SECOND)
    first, second = events((SECOND, EXITED), (2 * SECOND, FAILED), (4 * SECOND, FAILED))
    assert (first.count, second.count, second.time_ns) == (1, 1, 4 * SECOND)
    exited: dict[str, int] = {}
    calls = [unit_events([(LogLine(SECOND, EXITED), found(EXITED))], exited)]
    calls.append(unit_events([(LogLine(2 * SECOND, FAILED), found(FAILED))], exited))
    assert [len(call) for call in calls] == [1, 0]


def test_an_end_and_the_start_after_it_in_one_line_are_both_told() -> None:
    failed, start = events((5, BOTH.format(180, 29, 1)), (9, BOTH.format(181, 8, 2)))
    assert (failed.kind, failed.count, failed.pid) == ("unit-failed", 2, None)
    assert failed.fields["lifetime_seconds"] in (0.029, 0.008)
    assert (start.kind, start.count, start.fields["restarts_total"]) == ("unit-start", 2, 2)
    assert failed.time_ns < start.time_ns


def test_a_clean_end_is_no_failure_and_a_kill_is() -> None:
    clean = "a.service: Main process exited, code=exited, status=0/SUCCESS"
    assert events((1, clean)) == ()
    (killed,) = events((1, KILLED))
    assert (killed.kind, killed.fields["result"]) == ("unit-failed", "signal")


def test_supervisord_is_a_supervisor_too() -> None:
    failed, start = events(
        (1, "INFO exited: agent (exit status 1; not expected)"),
        (2, "INFO spawned: 'agent' with pid 812"),
    )
    assert (failed.kind, failed.subject) == ("unit-failed", "agent")
    assert (start.kind, start.subject) == ("unit-start", "agent")


@pytest.mark.parametrize(
    ("exited", "started", "unit"),
    [
        (
            "a.service: main process exited, code=exited, status=5/NOTINSTALLED",
            "a.service holdoff time over, scheduling restart.",
            "a.service",
        ),
        (
            "a.service: main process exited, code=exited, status=1/FAILURE",
            "a.service has no holdoff time, scheduling restart.",
            "a.service",
        ),
        (
            "agent main process (1234) terminated with status 5",
            "agent main process ended, respawning",
            "agent",
        ),
        (
            "App [api:0] exited with code [5] via signal [SIGINT]",
            "App [api:0] starting in -fork mode-",
            "api",
        ),
        (
            "WARN exited: agent (terminated by SIGSEGV (core dumped); not expected)",
            "INFO spawned: 'agent' with pid 812",
            "agent",
        ),
    ],
)
def test_older_and_other_supervisors_are_known(exited: str, started: str, unit: str) -> None:
    failed, start = events((1, exited), (10 * SECOND, started))
    assert (failed.kind, failed.subject, failed.count) == ("unit-failed", unit, 1)
    assert (start.kind, start.subject, start.count) == ("unit-start", unit, 1)


def test_systemd_219_says_an_end_twice_and_it_counts_once() -> None:
    exited = "a.service: main process exited, code=exited, status=1/FAILURE"
    (failed,) = events((1, exited), (2, "Unit a.service entered failed state."))
    assert (failed.kind, failed.count) == ("unit-failed", 1)


def test_a_start_that_systemd_237_says_twice_counts_once() -> None:
    due = "a.service: Service hold-off time over, scheduling restart."
    (start,) = events((1, due), (2, RESTART.format(3)))
    assert (start.kind, start.count, start.fields) == ("unit-start", 1, {"restarts_total": 3})


@pytest.mark.parametrize(
    "line",
    [
        "a.service: Start request repeated too quickly.",
        "a.service start request repeated too quickly, refusing to start.",
        "start request repeated too quickly for a.service",
        "INFO gave up: a.service entered FATAL state, too many start retries too quickly",
        "a.service respawning too fast, stopped",
    ],
)
def test_a_unit_that_its_supervisor_gave_up_on_has_failed(line: str) -> None:
    (event,) = events((1, line))
    assert (event.kind, event.subject) == ("unit-failed", "a.service")
    assert event.fields["result"] == "start-limit-hit"


def test_how_the_last_try_failed_is_no_more_than_that_it_was_the_last() -> None:
    gave_up = "a.service: Start request repeated too quickly."
    (event,) = events((1, gave_up), (1, "a.service: Failed with result 'exit-code'."))
    assert event.fields["result"] == "start-limit-hit"


@pytest.mark.parametrize(
    "line",
    [
        "back-off 5m0s restarting failed container=agent pod=agent-x7k2p_kube-system(8f0d)",
        "health check timed out after 7.8s",
        "Start request repeated too quickly.",
    ],
)
def test_other_lines_are_no_units(line: str) -> None:
    one = match(line, job_log())
    assert one is None or not is_unit_line(one)


LINES = st.sampled_from([EXITED, KILLED, FAILED, RESTART.format(1), BOTH.format(1, 2, 3)])


@given(st.lists(st.tuples(st.integers(0, 5 * SECOND), LINES), max_size=30))
def test_no_start_is_lost_and_each_second_has_one_event_a_kind(
    lines: list[tuple[int, str]],
) -> None:
    told = events(*lines)
    starts = sum("restart counter" in text for _, text in lines)
    assert sum(event.count for event in told if event.kind == "unit-start") == starts
    keys = [(event.kind, event.time_ns // SECOND) for event in told]
    assert len(keys) == len(set(keys)) or any(t % SECOND >= SECOND - 1000 for t, _ in lines)
    assert [e.time_ns for e in told] == sorted(e.time_ns for e in told)
