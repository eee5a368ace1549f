"""Containers of any runtime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from exhume.host import Host
from exhume.model.container import Container
from exhume.sources import containers
from exhume.sources.containers import ContainerReader
from tests.sources.made_cri import answer, serving
from tests.sources.test_cri import MESSAGE
from tests.sources.test_docker import ROWS
from tests.sources.test_docker import serving as serving_docker

AGENT = Container("a1", "ecs-agent", "amazon/amazon-ecs-agent", "docker", "running", 10**18)


def test_both_runtimes_are_asked_and_one_that_fails_does_not_hide_the_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "containerd").mkdir()
    (tmp_path / "containerd/containerd.sock").touch()
    reader = ContainerReader(Host(run=tmp_path))
    answers = {"/containers/json?all=1": (200, json.dumps(ROWS).encode())}
    with serving_docker(tmp_path / "docker.sock", answers):
        found = reader.read()
    assert found is not None
    assert len(found) == 2
    assert "CRI" in reader.problem


def test_a_runtime_that_answers_has_no_problem(tmp_path: Path) -> None:
    reader = ContainerReader(Host(run=tmp_path))
    with serving(tmp_path / "containerd/containerd.sock", [answer(MESSAGE)]):
        found = reader.read()
    assert found is not None
    assert (len(found), reader.problem) == (2, "")


def test_no_runtime_is_none(tmp_path: Path) -> None:
    assert ContainerReader(Host(run=tmp_path)).read() is None


def test_remove_and_run_shows_as_an_exit_and_a_start_of_the_same_name() -> None:
    again = replace(AGENT, id="b2")
    found = containers.events({AGENT.id: AGENT}, (again,), 5)
    assert [(event.kind, event.subject, event.fields["id"]) for event in found] == [
        ("container-start", "ecs-agent", "b2"),
        ("container-exit", "ecs-agent", "a1"),
    ]


def test_an_ended_container_that_is_no_longer_listed_was_removed() -> None:
    ended = replace(AGENT, state="exited", exit_code=1)
    (found,) = containers.events({AGENT.id: ended}, (), 5)
    assert (found.kind, found.subject, found.fields["id"]) == (
        "container-removed",
        "ecs-agent",
        "a1",
    )


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (AGENT, AGENT, []),
        (AGENT, replace(AGENT, state="exited", exit_code=1), ["container-exit"]),
        (replace(AGENT, state="exited"), AGENT, ["container-start"]),
        (AGENT, replace(AGENT, restarts_total=3), ["container-start"]),
    ],
)
def test_starts_and_exits_are_seen_between_two_readings(
    before: Container, after: Container, kinds: list[str]
) -> None:
    found = containers.events({before.id: before}, (after,), 5)
    assert [event.kind for event in found] == kinds


def test_of_several_runs_under_one_name_the_last_has_the_count_of_restarts() -> None:
    pod = replace(AGENT, pod_name="p", pod_namespace="ns", name="c", restarts_total=2)
    found = containers.readings((pod, replace(pod, id="x", restarts_total=3), AGENT))
    by_field = {reading.field: reading for reading in found}
    assert by_field["container.restarts"].instances == ("ns/p/c",)
    assert by_field["container.restarts"].values.tolist() == [3]
    assert by_field["container.running"].values.tolist() == [3]


def test_a_pod_without_a_known_namespace_is_called_by_its_own_name() -> None:
    pod = replace(AGENT, pod_name="p", pod_namespace="", name="c", restarts_total=2)
    (found,) = containers.events({}, (pod,), 5)
    assert (found.subject, found.fields["pod"], found.fields["restarts_total"]) == ("p/c", "p", 2)
