from __future__ import annotations

from collections.abc import Mapping

from exhume.derive import standing
from exhume.model.answers import EventAnswer
from tests.derive.lives import NS, T0
from tests.derive.lives import event as made

MINUTE, WEEK = 60, 7 * 86_400


def unit(at: int, kind: str, sub_state: str, restarts: int | None = None) -> EventAnswer:
    fields: dict[str, str | int | float] = {"sub_state": sub_state}
    if restarts is not None:
        fields["restarts_total"] = restarts
    return made(kind, "agent.service", at, of=fields)


def seen(
    name: str, state: str, age: int, restarts: int | None = None, identity: str = "", at: int = 0
) -> EventAnswer:
    fields: dict[str, str | int | float] = {
        "id": identity or name, "state": state, "created_wall_ns": T0 + (at - age) * NS,
    }  # fmt: skip
    if restarts is not None:
        fields["restarts_total"] = restarts
    return made("container-seen", name, at, of=fields)


def test_a_unit_that_waits_once_more_after_many_restarts_loops() -> None:
    assert standing.of_unit([unit(0, "unit-waiting", "auto-restart", 51_234)]) == 51_234


def test_a_unit_that_waits_and_of_which_nobody_counts_may_just_have_been_late() -> None:
    assert standing.of_unit([unit(0, "unit-waiting", "auto-restart")]) is None
    assert standing.of_unit([unit(0, "unit-waiting", "auto-restart", 2)]) is None


def test_a_unit_that_was_seen_running_since_waits_no_more() -> None:
    told = [unit(0, "unit-waiting", "auto-restart", 40), unit(9, "unit-start", "running", 41)]
    assert standing.of_unit(told) is None


def test_a_few_lines_of_a_log_tell_how_often_it_was_restarted_and_many_tell_the_pace() -> None:
    line = made("unit-start", "agent.service", 0, of={"restarts_total": 8640})
    assert standing.of_unit([line], 5) == 8640
    assert standing.of_unit([line], WEEK) is None
    assert standing.of_unit([line]) is None
    line = made("unit-start", "agent.service", 0, of={"restarts_total": 40})
    assert standing.of_unit([line], 5) is None
    seen_since = unit(9, "unit-start", "running", 8641)
    assert standing.of_unit([line, seen_since], 5) is None


def test_a_container_that_has_just_been_started_for_the_thousandth_time_loops() -> None:
    told = [seen("agent", "running", 12, 1204), seen("proxy", "running", WEEK, 0)]
    assert standing.of_containers(told) == {"agent": 1204}


def test_a_dozen_restarts_may_be_those_of_a_year() -> None:
    others = [seen("proxy", "running", WEEK, 0)]
    now = seen("agent", "running", 12, 13, "b")
    assert standing.of_containers([now, *others]) == {}
    before = seen("agent", "exited", WEEK, 12, "a")
    assert standing.of_containers([now, before, *others]) == {}
    before = seen("agent", "exited", 5 * MINUTE, 12, "a")
    assert standing.of_containers([now, before, *others]) == {"agent": 13}


def test_the_run_before_is_not_the_newest() -> None:
    told = [
        seen("etcd", "exited", 5 * MINUTE, 39, "a"), seen("etcd", "running", 2 * 3600, 40, "b"),
        seen("proxy", "running", WEEK, 0),
    ]  # fmt: skip
    assert standing.of_containers(told) == {}


def test_after_a_boot_all_have_just_been_started() -> None:
    told = [seen("apiserver", "running", 90, 185), seen("etcd", "running", 95, 39)]
    assert standing.of_containers(told) == {}


def restarting(waited: int) -> Mapping[str, int | None]:
    ended = made("container-exit", "agent", -waited, id="agent", state="restarting", exit_code=1)
    return standing.of_containers([ended, seen("agent", "restarting", WEEK)])


def test_docker_waits_the_longer_the_more_often_it_failed() -> None:
    assert restarting(42) == {"agent": None}
    assert restarting(1) == {}
