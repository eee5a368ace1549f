from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# A process of its own: it blocks signals, and they must not end the tests.
SUPERVISOR = """
import json, sys
from exhume.record import supervise
for name, value in json.loads(sys.argv[1]).items():
    setattr(supervise, name, value)
children = [
    supervise.Child(f"child {n}", command, backoff_seconds=supervise.FIRST_BACKOFF_SECONDS)
    for n, command in enumerate(json.loads(sys.argv[2]))
]
sys.exit(supervise.supervise(children, lambda line: print(line, flush=True)))
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    import json

    running: list[subprocess.Popen[str]] = []

    def begin(*commands: list[str], **settings: float) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, json.dumps(settings), json.dumps(commands)],
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_that_dies_is_started_again_after_longer_and_longer_pauses(
    start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    parent = start(
        shell(f"date +%s.%N >> {log}; exit 3"),
        FIRST_BACKOFF_SECONDS=0.1,
        LONGEST_BACKOFF_SECONDS=0.8,
        POLL_SECONDS=0.02,
    )
    wait_for(lambda: len(lines(log)) >= 6)
    parent.terminate()
    out, _ = parent.communicate(timeout=10)
    assert parent.returncode == 0
    pauses = [line.split(" in ")[1] for line in out.splitlines()][:6]
    assert pauses == ["0.1 s", "0.2 s", "0.4 s", "0.8 s", "0.8 s", "0.8 s"][: len(pauses)]
    assert "child 0 ended (exit code 3)" in out
    times = [float(line) for line in lines(log)]
    assert times[2] - times[1] >= 0.2
    assert times[3] - times[2] >= 0.4


def test_one_that_is_killed_is_named_with_the_signal_and_started_again(
    start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    parent = start(
        shell(f"echo $$ >> {log}; exec sleep 60"), FIRST_BACKOFF_SECONDS=0.05, POLL_SECONDS=0.02
    )
    wait_for(lambda: len(lines(log)) == 1)
    os.kill(int(lines(log)[0]), signal.SIGKILL)
    wait_for(lambda: len(lines(log)) == 2)
    parent.terminate()
    out, _ = parent.communicate(timeout=10)
    assert "killed by SIGKILL" in out
    assert not is_alive(int(lines(log)[1]))


@pytest.mark.parametrize("code", [0, 64, 65, 77])
def test_an_ending_that_no_restart_mends_ends_everything_with_its_code(
    code: int, start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "other"
    parent = start(
        shell(f"echo $$ > {log}; exec sleep 60"),
        shell(f"sleep 0.3; exit {code}"),
        POLL_SECONDS=0.02,
    )
    parent.communicate(timeout=20)
    assert parent.returncode == code
    assert not is_alive(int(lines(log)[0]))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_all_within_two_seconds(
    number: signal.Signals, start: Start, tmp_path: Path
) -> None:
    logs = [tmp_path / "a", tmp_path / "b"]
    parent = start(*(shell(f"echo $$ > {log}; exec sleep 60") for log in logs))
    wait_for(lambda: all(len(lines(log)) == 1 for log in logs))
    began = time.monotonic()
    parent.send_signal(number)
    parent.communicate(timeout=10)
    assert time.monotonic() - began < 2
    assert parent.returncode == 0
    assert not any(is_alive(int(lines(log)[0])) for log in logs)


def test_one_that_will_not_stop_is_killed_after_its_time(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "log"
    deaf = "import signal, time, os; signal.signal(15, signal.SIG_IGN)\n"
    deaf += f"open({str(log)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    parent = start([sys.executable, "-c", deaf], STOP_SECONDS=0.3)
    wait_for(lambda: len(lines(log)) == 1)
    began = time.monotonic()
    parent.terminate()
    parent.communicate(timeout=10)
    assert 0.3 <= time.monotonic() - began < 2
    assert not is_alive(int(lines(log)[0]))


def test_children_end_with_a_supervisor_that_is_killed(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = start(shell(f"echo $$ > {log}; exec sleep 60"))
    wait_for(lambda: len(lines(log)) == 1)
    parent.kill()
    wait_for(lambda: not is_alive(int(lines(log)[0])))


def test_children_hear_signals_although_the_supervisor_blocks_them(
    start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    look = f"grep SigBlk /proc/self/status > {log}; exec sleep 60"
    parent = start(shell(look))
    wait_for(lambda: len(lines(log)) == 2)
    parent.terminate()
    parent.communicate(timeout=10)
    blocked = int(lines(log)[1], 16)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        assert not blocked >> (number - 1) & 1
