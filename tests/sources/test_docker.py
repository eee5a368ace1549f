"""Containers over Docker's API."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import docker

ROWS = [
    {
        "Id": "ab" * 32,
        "Names": ["/ecs-agent"],
        "Image": "amazon/amazon-ecs-agent:latest",
        "State": "running",
        "Status": "Up 3 seconds",
        "Created": 1794777657,
        "Labels": {},
    },
    {
        "Id": "cd" * 32,
        "Names": ["/k8s_app"],
        "Image": "app",
        "State": "exited",
        "Status": "Exited (137) 4 minutes ago",
        "Created": 1794777000,
        "Labels": {"io.kubernetes.pod.name": "app-1", "io.kubernetes.pod.namespace": "default"},
    },
]


@contextmanager
def serving(path: Path, answers: dict[str, tuple[int, bytes]]) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    url = connection.recv(1 << 16).split()[1].decode()
                    status, body = answers.get(url, (404, b"{}"))
                    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n"
                    connection.sendall(head.encode() + body)

        threading.Thread(target=serve, daemon=True).start()
        yield
        server.shutdown(socket.SHUT_RDWR)


def test_containers_have_names_exit_codes_and_restart_counts(tmp_path: Path) -> None:
    answers = {
        "/containers/json?all=1": (200, json.dumps(ROWS).encode()),
        f"/containers/{'ab' * 32}/json": (200, b'{"RestartCount": 12}'),
    }
    with serving(tmp_path / "docker.sock", answers):
        found = docker.read(Host(run=tmp_path))
    assert found is not None
    agent, app = found
    assert (agent.name, agent.state, agent.restarts_total) == ("ecs-agent", "running", 12)
    assert agent.created_wall_ns == 1794777657 * 10**9
    assert (app.exit_code, app.pod_name, app.restarts_total) == (137, "app-1", None)


def test_a_container_that_is_gone_when_asked_about_stays_as_it_was_listed(tmp_path: Path) -> None:
    answers = {"/containers/json?all=1": (200, json.dumps(ROWS).encode())}
    with serving(tmp_path / "docker.sock", answers):
        found = docker.read(Host(run=tmp_path))
    assert found is not None
    assert found[0].restarts_total is None


def test_an_engine_in_trouble_is_an_error_not_an_empty_list(tmp_path: Path) -> None:
    answers = {"/containers/json?all=1": (500, b"boom")}
    with serving(tmp_path / "docker.sock", answers), pytest.raises(ParseError, match="500"):
        docker.read(Host(run=tmp_path))


def test_no_engine_is_none(tmp_path: Path) -> None:
    assert docker.read(Host(run=tmp_path)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Id", "Names", "Labels", "Status", "Created", "State", "x"]), inner
        )
    ),
    max_leaves=20,
)


@given(st.one_of(st.binary(max_size=100), JSON.map(lambda value: json.dumps(value).encode())))
def test_garbage_is_a_parse_error_or_well_formed(data: bytes) -> None:
    try:
        found = docker.parse(data)
    except ParseError:
        return
    assert set(docker.just_started(data)) <= {one.id for one in found}


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'[{"Id": 1}]', b"[" * 100_000])
def test_what_is_no_list_of_containers_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="docker"):
        docker.parse(data)
