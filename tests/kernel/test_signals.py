"""How a recorder ends, and how it refuses to begin."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.store.queries import events
from tests.kernel.node import (
    EXHUME,
    SECOND,
    Node,
    last_tick,
    monotonic_ns,
    needs_root,
    wait_for,
    window,
)

pytestmark = [pytest.mark.kernel, needs_root]


@pytest.fixture
def own(events_are_allowed: None, tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data")
    yield node
    node.kill()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_two_seconds_and_nothing_is_lost(
    by: signal.Signals, own: Node
) -> None:
    own.start()
    time.sleep(1.3)  # somewhere within a second
    asked, wall = monotonic_ns(), time.time()
    assert own.stop(by) < 2
    assert own.process is not None
    assert own.process.returncode == 0
    assert own.said == ""
    assert last_tick(own.data) >= asked - SECOND // 10
    kinds = [
        event.kind
        for event in events(own.recording(), window(wall - 60, 120))
        if event.kind.startswith("recorder")
    ]
    assert kinds == ["recorder-start", "recorder-stop"]
    assert own.status()["state"] == "stopped"
    assert own.exhume("status").returncode == 1
    children = subprocess.run(["pgrep", "-f", str(own.data)], capture_output=True, check=False)
    assert children.stdout == b""


def test_a_second_recorder_on_the_same_directory_is_refused(node: Node) -> None:
    run = node.exhume("record")
    assert run.returncode == 77
    assert f"another recorder (pid {node.pid}) writes to {node.data}" in run.stderr
    assert len(run.stderr.splitlines()) == 2
    assert not node.process_ended


@pytest.mark.parametrize(
    ("command", "where"),
    [("record", "/proc/nope"), ("record", "/dev/null/x"), ("up", "/proc/nope")],
)
def test_a_directory_that_cannot_be_made_gives_one_clear_error(command: str, where: str) -> None:
    run = subprocess.run(
        [*EXHUME, command, "--data", where], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 77
    first, second = run.stderr.splitlines()
    assert first.startswith(f"exhume: cannot make {where}")
    assert "--data" in second


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    run = subprocess.run(
        [*EXHUME, "record", "--data", str(tmp_path / "d"), "--hz", "0"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 64
    assert not (tmp_path / "d").exists()


def test_up_keeps_the_recorder_running_and_stops_with_it(
    events_are_allowed: None, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    up = subprocess.Popen(
        [*EXHUME, "up", "--data", str(data)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: last_tick(data), 30, "the first second")
        first = int((data / "lock").read_text())
        os.kill(first, signal.SIGKILL)
        killed = monotonic_ns()
        wait_for(lambda: last_tick(data) > killed, 30, "a new recorder's first second")
        second = int((data / "lock").read_text())
        assert second != first
        began = time.monotonic()
        os.killpg(up.pid, signal.SIGINT)  # as a terminal does
        out, _ = up.communicate(timeout=20)
        assert time.monotonic() - began < 2
    finally:
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGKILL)
        up.communicate()
    assert up.returncode == 0
    assert f"records this node into {data}" in out
    assert f"exhume status --data {data}" in out
    assert "killed by SIGKILL" in out
    assert not Path(f"/proc/{second}").exists()
