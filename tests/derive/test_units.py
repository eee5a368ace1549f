from __future__ import annotations

import numpy as np
import pytest

from exhume.derive.looks import Looks, looks_at
from exhume.derive.units import (
    PARTS,
    LooksOf,
    of_containers,
    of_processes,
    of_units,
    worst_first,
)
from exhume.model.answers import SeriesAnswer
from exhume.model.lifecycles import Lifecycle
from exhume.model.window import Window
from tests.derive.lives import NS, T0, Row, compile_like, event, lived, process_events

NOTHING = process_events([])


def by_name(found: list[Lifecycle]) -> dict[str, Lifecycle]:
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


def test_a_unit_that_systemd_restarts_every_ten_seconds_is_a_crash_loop() -> None:
    events = []
    for index in range(60):
        at = 10.0 * index
        events.append(event("unit-start", "ecs.service", at, sub_state="auto-restart"))
        events.append(event("unit-failed", "ecs.service", at + 1.2, result="exit-code"))
    (found,) = of_units(events, {"ecs.service": 59}, NOTHING, 600)
    assert (found.kind, found.name, found.mark) == ("unit", "ecs.service", "crash loop")
    assert (found.starts, found.restarts, found.starts_per_hour) == (60, 59, 360)
    assert found.median_lifetime_seconds == pytest.approx(1.2)
    assert found.success_percent_of_known_ends == 0
    assert found.pace_seconds == pytest.approx(10)
    assert found.last_start_wall_ns == T0 + 590 * NS


def test_one_look_tells_no_rate_of_an_instant() -> None:
    (found,) = of_units([event("unit-start", "a.service", 0.0)], {}, NOTHING, 1e-9)
    assert found.starts_per_hour == 60


def test_a_restart_in_a_log_says_nothing_of_how_the_unit_ended() -> None:
    lines = [event("unit-start", "a.service", 10.0 * n, restarts_total=n) for n in range(60)]
    (found,) = of_units(lines, {"a.service": 59}, NOTHING, 600)
    assert (found.mark, found.success_percent_of_known_ends) == ("crash loop", None)
    seen = [event("unit-start", "b.service", 10.0 * n, sub_state="exited") for n in range(60)]
    (found,) = of_units(seen, {}, NOTHING, 600)
    assert found.success_percent_of_known_ends == 100


def test_of_one_that_still_runs_nobody_knows_how_it_will_end() -> None:
    seen = [event("unit-start", "a.service", 100.0 * n, sub_state="running") for n in range(3)]
    (once,) = of_units(seen[:1], {}, NOTHING, 300)
    assert once.success_percent_of_known_ends is None
    (thrice,) = of_units(seen, {}, NOTHING, 300)
    assert thrice.success_percent_of_known_ends == 100
    rows: list[Row] = [(5.0, "exit", "job", "systemd", 1, 1, 3.0)]
    ran = event("unit-start", "b.service", 2.0, pid=77, sub_state="running")
    (over,) = of_units([ran], {}, process_events(rows, [77]), 100)
    assert over.success_percent_of_known_ends == 100


@pytest.mark.parametrize(
    ("result", "mark"), [("start-limit-hit", "crash loop"), ("exit-code", "healthy")]
)
def test_what_its_supervisor_gave_up_on_is_a_crash_loop_however_few_starts_that_took(
    result: str, mark: str
) -> None:
    events = [event("unit-start", "agent", 2.0 * n) for n in range(4)]
    events.append(event("unit-failed", "agent", 7.0, result=result))
    (found,) = of_units(events, {}, NOTHING, 600)
    assert found.mark == mark


def test_looks_at_a_unit_that_waits_again_and_again_show_a_crash_loop() -> None:
    """Most of its starts fall between two looks, and the list says nothing of results."""
    states = ["auto-restart", "auto-restart", "running"] * 10
    events = [
        event("unit-start", "a.service", 120.0 * n, sub_state=state)
        if state == "running"
        else event("unit-waiting", "a.service", 120.0 * n, sub_state=state)
        for n, state in enumerate(states)
    ]
    (found,) = of_units(events, {}, NOTHING, 3600)
    assert (found.mark, found.starts) == ("crash loop", 10)
    assert found.success_percent_of_known_ends is None
    (never_up,) = of_units([e for e in events if e.kind == "unit-waiting"], {}, NOTHING, 3600)
    assert (never_up.mark, never_up.starts) == ("crash loop", 0)


def test_several_looks_at_one_wait_are_no_loop() -> None:
    events = [
        event("unit-waiting", "a.service", 2.0 * n, sub_state="auto-restart") for n in range(5)
    ]
    events.append(event("unit-start", "a.service", 10.0, sub_state="running"))
    (found,) = of_units(events, {}, NOTHING, 600)
    assert (found.mark, found.success_percent_of_known_ends) == ("healthy", None)


def test_starts_between_two_looks_are_counted() -> None:
    events = [event("unit-start", "a.service", 10.0 * i, count=5) for i in range(10)]
    (found,) = of_units(events, {}, NOTHING, 100)
    assert (found.starts, found.restarts) == (50, None)


def test_when_each_started_is_told_by_equal_parts_of_the_window() -> None:
    window = Window(T0, T0 + 600 * NS)
    events = [
        event("unit-start", "a.service", at, count=n) for at, n in ((0.0, 1), (5.0, 3), (599.0, 2))
    ]
    events.append(event("unit-start", "a.service", 700.0))
    (found,) = of_units(events, {}, NOTHING, 600, window)
    assert found.starts_over_time == (1 + 3, *[0] * (PARTS - 2), 2)
    (unit,) = of_units(events, {}, NOTHING, 600)
    assert unit.starts_over_time == ()
    (container,) = of_containers([event("container-start", "b", 300.0)], {}, 600, window)
    assert container.starts_over_time.index(1) == PARTS // 2
    rows: list[Row] = [(10.0 * i, "exec", "job", "cron", 1, 1, 0.0) for i in range(60)]
    (process,) = of_processes(process_events(rows), 600, window)
    assert process.starts_over_time == (1,) * PARTS


def test_the_exit_of_a_units_main_process_tells_its_life_where_nothing_failed() -> None:
    rows: list[Row] = [(5.0, "exit", "job", "systemd", 1, 1, 3.0)]
    found = of_units([event("unit-start", "job.service", 2.0, pid=77)], {},
                     process_events(rows, [77]), 100)  # fmt: skip
    assert found[0].median_lifetime_seconds == pytest.approx(3)
    assert found[0].success_percent_of_known_ends == 100


def test_a_container_removed_and_run_anew_shows_by_its_ids() -> None:
    events = []
    for index in range(30):
        at, id_ = 10.0 * index, f"{index:064x}"
        created = T0 + round((at - 2) * NS)
        events.append(
            event("container-start", "ecs-agent", at, id=id_, image="amazon/amazon-ecs-agent",
                  created_wall_ns=created)
        )  # fmt: skip
        events.append(event("container-exit", "ecs-agent", at + 8, id=id_, text="gone"))
    events.append(event("container-start", "db", 5.0, id="d" * 64, image="postgres"))
    found = by_name(of_containers(events, {"ecs-agent": 0, "db": 0}, 300))
    agent = found["ecs-agent"]
    assert (agent.mark, agent.ids, agent.restarts, agent.starts) == ("crash loop", 30, 0, 30)
    assert agent.detail == "amazon/amazon-ecs-agent"
    assert agent.median_lifetime_seconds == pytest.approx(8)
    assert agent.success_percent_of_known_ends is None
    assert found["db"].mark == "healthy"


def test_a_container_that_came_and_went_between_two_looks_lived_since_its_creation() -> None:
    created = T0 + 2 * NS
    events = [
        event("container-start", "x", 9.0, id="a", created_wall_ns=created),
        event("container-exit", "x", 9.0, id="a", created_wall_ns=created, exit_code=1),
    ]
    (found,) = of_containers(events, {}, 60)
    assert found.median_lifetime_seconds == pytest.approx(7)
    assert found.success_percent_of_known_ends == 0


def test_a_bare_process_that_its_parent_restarts_is_a_loop() -> None:
    rows: list[Row] = []
    for index in range(40):
        rows += lived(3.0 * index, "agent", "supervise", 99, 0.4)
        rows += lived(3.0 * index + 0.5, "sleep", "supervise", 99, 2.4)
    found = by_name(of_processes(process_events(rows), 120))
    agent = found["agent"]
    assert (agent.mark, agent.detail, agent.starts) == ("loop", "supervise", 40)
    assert agent.median_lifetime_seconds == pytest.approx(0.4)
    assert agent.pace_seconds == pytest.approx(3)
    assert agent.success_percent_of_known_ends is None
    assert found["sleep"].mark != "loop"


def test_a_build_is_no_loop_but_many_short_jobs() -> None:
    found = of_processes(process_events(compile_like()), 200)
    assert {one.name: one.mark for one in found} == dict.fromkeys(
        ("sh", "gcc", "cc1", "as"), "many short jobs"
    )
    assert all(one.pace_seconds is None for one in found)


def test_a_script_at_work_is_no_loop() -> None:
    rows: list[Row] = []
    for index in range(100):
        for step, name in enumerate(("mkdir", "head", "xxd", "touch", "rmdir")):
            rows += lived(1.0 * index + step / 10, name, "leak.sh", 42, 0.01)
    found = of_processes(process_events(rows), 100)
    assert {one.mark for one in found} == {"many short jobs"}


def test_a_loop_stands_out_among_others_of_its_name() -> None:
    rows = compile_like(100)
    for index in range(30):
        rows += lived(4.0 * index, "sh", "watchdog", 7, 0.2)
        rows += lived(2.5 * index, "sh", "cron", 8000 + index, 0.2)
    found = {(one.name, one.detail): one.mark for one in of_processes(process_events(rows), 120)}
    assert found["sh", "watchdog"] == "loop"
    assert found["sh", "cron"] == "many short jobs"


def test_what_is_folded_in_a_storm_still_counts() -> None:
    rows: list[Row] = [
        (float(second), "exec", "true", "python", 5, 60, float("nan")) for second in range(20)
    ]
    rows += [(second + 0.5, "exit", "true", "python", 5, 60, 0.002) for second in range(20)]
    (found,) = of_processes(process_events(rows), 20)
    assert (found.starts, found.mark) == (1200, "many short jobs")
    assert found.median_lifetime_seconds == pytest.approx(0.002)


def test_nothing_gives_nothing() -> None:
    assert of_processes(NOTHING, 0) == []
    assert of_units([], {}, NOTHING, 0) == []
    assert of_containers([], {}, 0) == []


def test_a_process_without_a_known_parent_is_listed_without_one() -> None:
    (found,) = of_processes(process_events([(0.0, "exec", "x", "", -1, 1, float("nan"))]), 10)
    assert (found.name, found.detail, found.mark) == ("x", "", "healthy")


def test_the_worst_come_first() -> None:
    events = [event("unit-start", "calm.service", 1.0)]
    events += [event("unit-start", "slow.service", 100.0 * i, sub_state="auto-restart")
               for i in range(6)]  # fmt: skip
    events += [event("unit-start", "fast.service", 10.0 * i, sub_state="auto-restart")
               for i in range(6)]  # fmt: skip
    ranked = worst_first(of_units(events, {}, NOTHING, 600))
    assert [one.mark for one in ranked] == ["crash loop", "crash loop", "healthy"]
    assert ranked[-1].name == "calm.service"


def test_a_start_that_was_seen_running_tells_of_no_end() -> None:
    events = []
    for index in range(10):
        at, state = 10.0 * index, "running" if index % 2 else "auto-restart"
        events.append(event("unit-start", "a.service", at, sub_state=state, count=6))
        if state == "auto-restart":
            events.append(event("unit-failed", "a.service", at + 0.5, result="exit-code"))
    (found,) = of_units(events, {"a.service": 54}, NOTHING, 100)
    assert (found.mark, found.success_percent_of_known_ends) == ("crash loop", 0)


def looks_every(seconds: int, *, counted: bool = False) -> LooksOf:
    wall = T0 + np.arange(0, 601, seconds, dtype=np.int64) * NS
    return lambda _kind, _name, _starts: Looks(wall, is_counted=counted)


def test_looks_see_at_least_so_many_starts_and_lives_of_at_most_so_long() -> None:
    """A loop of 3 s, `docker run --rm`: each look finds another one, and the last is gone."""
    events = []
    for look in range(10, 600, 10):
        events.append(event("container-start", "box", look - 2.0, id=str(look)))
        events.append(event("container-exit", "box", look + 10.0, id=str(look), text="gone"))
    (found,) = of_containers(events, {}, 600, looks_of=looks_every(10))
    assert (found.starts, found.starts_at_least, found.looked_every_seconds) == (59, True, 10)
    assert found.pace_seconds == pytest.approx(10)  # at most
    assert (found.median_lifetime_seconds, found.lifetime_at_most) == (12, True)


def test_one_that_most_looks_show_unchanged_was_started_when_it_changed() -> None:
    events = [event("container-start", "box", 100.0 * n + 3, id=str(n)) for n in range(6)]
    (found,) = of_containers(events, {}, 600, looks_of=looks_every(10))
    assert (found.starts_at_least, found.pace_seconds) == (False, 100)
    assert found.looked_every_seconds == 10


def test_a_count_of_restarts_tells_the_pace_between_two_looks() -> None:
    """Looks every 10 s at a loop of 2.5 s."""
    events = [
        event("unit-start", "a.service", 10.0 * n, count=4, sub_state="running",
              restarts_total=4 * n)
        for n in range(1, 60)
    ]  # fmt: skip
    looks = looks_every(10, counted=True)
    (found,) = of_units(events, {"a.service": 236}, NOTHING, 600, looks_of=looks)
    assert (found.starts, found.starts_at_least) == (236, False)
    assert found.pace_seconds == pytest.approx(2.5)


def test_a_counter_in_a_log_tells_of_the_restarts_that_have_no_line() -> None:
    lines = [event("unit-start", "a.service", 30.0 * n, restarts_total=10 * n) for n in range(20)]
    (found,) = of_units(lines, {}, NOTHING, 600)
    assert (found.starts, found.pace_seconds) == (191, 3)


def test_a_state_beside_a_count_tells_of_no_further_start() -> None:
    """`systemctl list-units` and `systemctl show`, each every 30 s."""
    shown = [
        event("unit-start", "a.service", 30.0 * n, sub_state="running", restarts_total=n)
        for n in range(20)
    ]
    listed = [event("unit-start", "a.service", 30.0 * n + 5, sub_state="running") for n in range(9)]
    (found,) = of_units([*shown, *listed], {}, NOTHING, 600)
    assert (found.starts, found.pace_seconds) == (20, 30)


def test_an_end_that_a_list_of_states_shows_was_before() -> None:
    """Active at one look, failed at the next: it lived from after the look before the first on."""
    events = []
    for n in range(6):
        events.append(event("unit-start", "a.service", 60.0 * n + 30, sub_state="running"))
        events.append(event("unit-failed", "a.service", 60.0 * n + 60, sub_state="failed"))
    (found,) = of_units(events, {}, NOTHING, 600, looks_of=looks_every(30))
    assert (found.median_lifetime_seconds, found.lifetime_at_most) == (60, True)
    assert found.starts_at_least


def test_a_unit_that_was_started_several_times_since_may_have_lived_less() -> None:
    events = []
    for n in range(6):
        at = 10.0 * n
        events.append(event("unit-start", "a.service", at + 0.5, count=3, restarts_total=3 * n))
        events.append(event("unit-failed", "a.service", at + 9.5, result="exit-code"))
    (found,) = of_units(events, {}, NOTHING, 60)
    assert (found.median_lifetime_seconds, found.lifetime_at_most) == (9, True)


def test_what_the_kubelet_counts_tells_of_the_starts_between_two_looks() -> None:
    """A loop of 20 s, looked at each minute: the two last runs are listed."""
    starts = [
        event("container-start", "p/c", 60.0 * look - back, id=f"{look}-{back}",
              restarts_total=3 * look - (back > 10))
        for look in range(1, 11) for back in (25, 5)
    ]  # fmt: skip
    wall = np.arange(0, 660, 60, dtype=np.int64) * NS + T0
    total = SeriesAnswer("container.total", "", wall, wall, np.zeros(len(wall), np.uint8))
    looks = looks_at("container", "p/c", starts, lambda *_: total)
    (found,) = of_containers(starts, {}, 600, looks_of=lambda *_: looks)
    assert (found.starts, found.starts_at_least) == (29, False)
    anew = [event("container-start", "p/c", 60.0 * n, id=str(n), restarts_total=0) for n in (1, 2)]
    assert not looks_at("container", "p/c", anew, lambda *_: total).is_counted


def test_what_a_log_tells_of_each_restart_is_counted() -> None:
    events = [
        event("container-start", "agent", 15 * n, id=f"{n:012}", restarts_total=7 + n,
              told_by="containerd")
        for n in range(6)
    ]  # fmt: skip
    (one,) = of_containers(events, {"agent": 0}, 90)  # which one look saw
    assert (one.restarts, one.ids, one.mark) == (5, 6, "crash loop")


def test_the_pod_that_ends_and_the_container_of_it_that_waits_are_one() -> None:
    lines = [
        event("container-exit", "ns/pod-1", 10.0 * n, id=str(n), told_by="kubelet")
        for n in range(3)
    ]
    waits = [
        event(
            "job-log", "pod-1_ns(8f0d)", 10.0 * n + 1,
            signature="kubelet.backoff", pod="pod-1_ns(8f0d)", container="agent", wait="40s",
        )
        for n in range(3)
    ]  # fmt: skip
    (found,) = of_containers([*lines, *waits], {}, 600)
    assert (found.name, found.mark) == ("ns/pod-1", "crash loop")
    (alone,) = of_containers(waits, {}, 600)
    assert alone.name == "ns/pod-1/agent"
