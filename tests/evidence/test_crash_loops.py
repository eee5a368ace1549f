"""Who starts again and again: a bare process, a unit, a container; and who only seems to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.evidence import container, engine, loops
from tests.evidence.conftest import Story
from tests.kernel.node import needs_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(400), needs_root]


def lifecycle(story: Story, kind: str, name: str) -> Any:
    rows = story.units["lifecycles"]
    return next(one for one in rows if (one["kind"], one["name"]) == (kind, name))


def births(story: Story, pattern: str) -> int:
    return sum(one["born"] for one in story.zombies["names"] if re.fullmatch(pattern, one["name"]))


def test_a_bare_process_that_dies_at_once_is_a_loop_with_its_rate_and_lifetime(
    story: Story,
) -> None:
    found = lifecycle(story, "process", story.loop.name)
    assert found["mark"] == "loop"
    assert found["starts"] == pytest.approx(story.loop.starts, abs=2)
    assert found["starts_per_hour"] == pytest.approx(story.loop.starts_per_hour, rel=0.15)
    each = (story.loop.ended - story.loop.began) / story.loop.starts
    assert found["pace_seconds"] == pytest.approx(each, rel=0.25)
    assert found["median_lifetime_seconds"] == pytest.approx(loops.LIFE_SECONDS, abs=0.2)
    assert found["detail"].startswith("xs"), "who starts it"


def test_a_build_is_no_loop(story: Story) -> None:
    rows = story.units["lifecycles"]
    tools = [one for one in rows if one["name"] in ("make", "gcc", "cc1", "as")]
    compiled = [one for one in tools if (one["name"], one["detail"]) == ("gcc", "make")]
    seen = [(one["name"], one["detail"], one["starts"]) for one in tools]
    assert sum(one["starts"] for one in compiled) >= loops.SOURCE_FILES, seen
    assert {one["mark"] for one in tools} <= {"many short jobs", "healthy"}


@container.missing
def test_a_unit_of_a_real_systemd_that_crash_loops_is_listed(story: Story) -> None:
    machine = story.container
    if machine is None:
        pytest.skip("systemd does not boot in systemd-nspawn here")
    found = lifecycle(story, "unit", machine.unit)
    assert found["mark"] == "crash loop"
    # It fails each time; None where it ran whenever systemd was asked.
    assert not found["success_percent_of_known_ends"]
    assert found["median_lifetime_seconds"] == pytest.approx(container.LIFE_SECONDS, abs=0.3)
    # systemd is asked every 10 s: what it did since the last time is not in the answer yet.
    born = births(story, f"{machine.cgroup}/.*{machine.unit}")
    hours = story.units["recorded_seconds"] / 3600
    assert found["starts_per_hour"] == pytest.approx(born / hours, rel=0.35)
    assert 10 < found["restarts"] <= found["starts"]


@container.missing
def test_what_that_unit_leaks_is_told_by_its_cgroups(story: Story) -> None:
    machine = story.container
    if machine is None:
        pytest.skip("systemd does not boot in systemd-nspawn here")
    found = lifecycle(story, "unit", machine.unit)
    born = births(story, f"{machine.cgroup}/.*{machine.unit}")
    assert born > 15
    assert found["cgroups_born"] == born
    assert found["zombies_per_start"] == pytest.approx(1, abs=0.5)
    assert not found["zombies_at_most"], "no other has a cgroup of that name"
    parents = [one["path"] for one in story.zombies["parents"]]
    assert any(path.startswith(machine.cgroup) for path in parents)


@container.missing
def test_its_processes_are_seen_from_the_host(story: Story) -> None:
    machine = story.container
    if machine is None:
        pytest.skip("systemd does not boot in systemd-nspawn here")
    window = story.window(story.loop.began, story.loop.ended)
    events = story.trusting.ask("events", "--kind", "exit", "--subject", "sh", *window)["events"]
    inside = [e for e in events if str(e["fields"].get("cgroup", "")).startswith(machine.cgroup)]
    assert sum(event["count"] for event in inside) > 15
    lives = [event["fields"].get("lifetime_seconds") for event in inside]
    lifetimes = sorted(life for life in lives if life is not None)
    assert lifetimes[len(lifetimes) // 2] == pytest.approx(container.LIFE_SECONDS, abs=0.3)
    # Who is gone before anybody looked has the cgroup of whom it came from.
    assert any(event["fields"]["cgroup"].endswith(machine.unit) for event in inside)


@engine.missing
def test_a_container_that_is_removed_and_run_anew_is_a_crash_loop(story: Story) -> None:
    agent = story.agent
    if agent is None:
        pytest.skip("dockerd does not start here")
    found = lifecycle(story, "container", agent.name)
    assert found["detail"] == agent.image
    assert found["mark"] == "crash loop"
    assert not found["restarts"], "to Docker each of them is a new one"
    assert found["success_percent_of_known_ends"] == 0
    assert found["median_lifetime_seconds"] == pytest.approx(engine.LIFE_SECONDS, abs=0.6)
    # The last look was up to 10 s ago.
    assert found["ids"] == pytest.approx(agent.runs, rel=0.25)
    assert found["starts_per_hour"] == pytest.approx(agent.runs_per_hour, rel=0.35)


@engine.missing
def test_without_asking_docker_its_cgroups_tell_the_same(story: Story) -> None:
    agent = story.agent
    if agent is None:
        pytest.skip("dockerd does not start here")
    folded = r".*/docker/\*|.*/docker-\*\.scope|/docker/\*"
    assert births(story, folded) == pytest.approx(agent.runs, abs=2)


@engine.missing
def test_each_run_is_an_event_with_its_time_and_exit_code(story: Story) -> None:
    agent = story.agent
    if agent is None:
        pytest.skip("dockerd does not start here")
    window = story.window(agent.began, agent.ended)
    events = story.trusting.ask("events", "--subject", agent.name, *window)["events"]
    starts = [event for event in events if event["kind"] == "container-start"]
    exits = [event for event in events if event["kind"] == "container-exit"]
    assert len({event["fields"]["id"] for event in starts}) == len(starts) >= 0.7 * agent.runs
    assert {event["fields"]["exit_code"] for event in exits} == {3}
    assert len({round(event["time"], 1) for event in starts}) == len(starts), "each at its own time"
