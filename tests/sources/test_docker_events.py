"""What Docker noted between two looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import containers, docker_events
from exhume.sources.containers import ContainerReader
from tests.sources.test_docker import serving
from tests.sources.trees import FakeClock

NS = 10**9


def line(action: str, seconds: int, id_: str = "ab" * 32, **attributes: str) -> bytes:
    event: dict[str, Any] = {
        "status": action,
        "Type": "container",
        "Action": action,
        "Actor": {"ID": id_, "Attributes": {"name": "ecs-agent", "image": "ecs", **attributes}},
        "timeNano": seconds * NS,
    }
    return json.dumps(event).encode() + b"\n"


def test_starts_and_deaths_come_with_name_exit_code_and_time() -> None:
    data = line("die", 12, exitCode="3") + line("start", 10)
    start, death = docker_events.parse(data)
    assert (start.wall_ns, start.container.state) == (10 * NS, "running")
    assert (death.container.name, death.container.exit_code) == ("ecs-agent", 3)
    noted = containers.noted_events((start, death), 4 * NS)
    assert [(one.kind, one.subject, one.time_ns) for one in noted] == [
        ("container-start", "ecs-agent", 6 * NS),
        ("container-exit", "ecs-agent", 8 * NS),
    ]
    assert noted[1].fields["exit_code"] == 3
    assert [one.fields["told_by"] for one in noted] == ["docker", "docker"]


def test_the_reader_asks_for_what_happened_since_the_last_time(tmp_path: Path) -> None:
    clock = FakeClock(100 * NS)
    reader = ContainerReader(Host(run=tmp_path, clock=clock))
    url = "/events?since=100.000000000&until=110.000000000&filters=" + docker_events._FILTERS
    happened = line("start", 99) + line("start", 104) + line("die", 106)
    answers = {"/containers/json?all=1": (200, b"[]"), url: (200, happened)}
    with serving(tmp_path / "docker.sock", answers):
        first, before = reader.read(), reader.happened
        clock.now_ns = 110 * NS
        second, since = reader.read(), reader.happened
    assert (first, second, before) == ((), (), None)
    assert [one.wall_ns // NS for one in since or ()] == [104, 106]


def test_an_engine_that_does_not_answer_is_silent_not_empty(tmp_path: Path) -> None:
    reader = ContainerReader(Host(run=tmp_path))
    with serving(tmp_path / "docker.sock", {"/containers/json?all=1": (500, b"")}):
        assert reader.read() == ()
    assert "docker" in reader.silent
    assert reader.happened is None
    one = docker_events.parse(line("start", 1))[0].container
    assert containers.events({one.id: one}, (), 5, reader.silent) == ()
    assert containers.events({one.id: one}, (), 5)[0].kind == "container-exit"


def test_without_a_record_the_lists_alone_tell(tmp_path: Path) -> None:
    clock = FakeClock(100 * NS)
    reader = ContainerReader(Host(run=tmp_path, clock=clock))
    with serving(tmp_path / "docker.sock", {"/containers/json?all=1": (200, b"[]")}):
        reader.read()
        clock.now_ns = 110 * NS
        reader.read()
    assert reader.happened is None
    assert reader.problem == ""


@given(st.one_of(st.binary(max_size=80), st.just(line("start", 1)), st.just(b"{}\n[]\n")))
def test_garbage_is_a_parse_error_or_well_formed(data: bytes) -> None:
    try:
        found = docker_events.parse(data)
    except ParseError:
        return
    assert all(one.container.state in ("running", "exited") for one in found)


@pytest.mark.parametrize("action", ["destroy", "", "START"])
def test_anything_but_a_start_or_death_was_not_asked_for(action: str) -> None:
    with pytest.raises(ParseError, match="start or death"):
        docker_events.parse(line(action, 1))
