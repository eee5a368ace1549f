"""What `exhume up` says first: every line of it can be pasted into another terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exhume.cli.main import main
from exhume.cli.up import welcome
from exhume.errors import EXIT_PERMISSION
from exhume.record import lock, supervise
from exhume.record.supervise import Child

BIN = Path(sys.executable).parent


def commands(text: str) -> list[str]:
    return [line for line in text.split("From another terminal:\n")[1].splitlines() if line]


def test_where_exhume_is_not_found_it_says_how_to_find_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    hint, status, *_ = commands(welcome(str(tmp_path / "my data"), True, 0))
    shown = status.split("  what is recorded")[0]
    done = subprocess.run(
        ["sh", "-c", f"{hint}\n{shown} --json"],
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"state": "never"' in done.stdout, done.stderr


def test_where_it_is_found_there_is_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{BIN}:/usr/bin:/bin")
    assert all(line.startswith("  exhume ") for line in commands(welcome("/x", False, 7471)))


def test_beside_another_recorder_it_does_not_say_that_it_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = lock.acquire(tmp_path)
    try:
        assert main(["up", "--data", str(tmp_path), "--port", "0"]) == EXIT_PERMISSION
    finally:
        os.close(held)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"another recorder (pid {os.getpid()}) writes to {tmp_path}" in shown.err


def test_port_0_is_any_that_is_free_as_for_serve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Child] = []

    def start(children: list[Child], _: object) -> int:
        started.extend(children)
        return 0

    monkeypatch.setattr(supervise, "supervise", start)
    assert main(["up", "--data", str(tmp_path), "--port", "0"]) == 0
    (said,) = re.findall(r"The page: http://127\.0\.0\.1:(\d+)/", capsys.readouterr().out)
    assert int(said) > 0
    (command,) = (child.command for child in started if child.name == "server")
    assert command[command.index("--port") + 1] == said
