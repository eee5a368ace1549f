"""Containers over the CRI."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.container import Container
from exhume.sources import cri
from tests.sources.made_cri import answer, container, frame, serving

POD = {
    "io.kubernetes.pod.name": "agent-x7k2p",
    "io.kubernetes.pod.namespace": "kube-system",
    "io.kubernetes.pod.uid": "8f0d",
}
MESSAGE = container("ab" * 32, "agent", "repo/agent:1", 1, 7, POD) + container(
    "cd" * 32, "new", "repo/new:1", 0, 0, {}
)


def test_containers_have_pod_names_attempts_and_states(tmp_path: Path) -> None:
    with serving(tmp_path / "containerd/containerd.sock", [answer(MESSAGE)]):
        found = cri.read(Host(run=tmp_path))
    assert found == (
        Container(
            id="ab" * 32,
            name="agent",
            image="repo/agent:1",
            runtime="containerd",
            state="running",
            created_wall_ns=1_794_777_657_000_000_000,
            restarts_total=7,
            pod_name="agent-x7k2p",
            pod_namespace="kube-system",
            pod_uid="8f0d",
        ),
        Container(
            "cd" * 32, "new", "repo/new:1", "containerd", "created", 1_794_777_657 * 10**9, 0
        ),
    )


def test_a_runtime_that_only_knows_the_old_version_is_asked_for_that(tmp_path: Path) -> None:
    unknown = frame(4, 0, 0, b"") + frame(1, 5, 1, b"\x88")
    with serving(tmp_path / "crio/crio.sock", [unknown, answer(MESSAGE)]) as received:
        found = cri.read(Host(run=tmp_path))
    assert found is not None
    assert found[0].runtime == "cri-o"
    assert b"/runtime.v1alpha2.RuntimeService/ListContainers" in received[1]


def test_no_runtime_is_none(tmp_path: Path) -> None:
    assert cri.read(Host(run=tmp_path)) is None


@given(st.one_of(st.binary(max_size=200), st.integers(0, len(MESSAGE)).map(lambda n: MESSAGE[:n])))
def test_garbage_is_a_parse_error_or_well_formed(message: bytes) -> None:
    with contextlib.suppress(ParseError):
        cri.parse(message, "containerd")


@pytest.mark.kernel
def test_a_real_containerd_answers(tmp_path: Path) -> None:
    program = shutil.which("containerd")
    if program is None:
        pytest.skip("containerd is not installed")
    config = tmp_path / "config.toml"
    config.write_text("version = 2\n")
    socket = tmp_path / "containerd/containerd.sock"
    command = [program, "--config", str(config), "--root", str(tmp_path / "root")]
    command += ["--state", str(tmp_path / "state"), "--address", str(socket)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(100):
                if socket.exists():
                    break
                time.sleep(0.1)
            deadline = time.monotonic() + 20
            found = None
            while found is None and time.monotonic() < deadline:
                try:
                    found = cri.read(Host(run=tmp_path))
                except OSError:
                    time.sleep(0.2)
            assert found == ()
        finally:
            process.terminate()
