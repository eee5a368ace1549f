"""Where the page is, and what is said where it can't be there."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from exhume.cli.main import main
from exhume.errors import EXIT_USAGE


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("command", ["serve", "up"])
@pytest.mark.parametrize("port", [70_000, -1])
def test_what_is_no_port_is_a_usage_error(
    command: str, port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--data", str(tmp_path), "--port", str(port)]) == EXIT_USAGE
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"exhume: --port {port} is no port\n  from 0 to 65535\n")


@pytest.mark.parametrize("command", ["serve", "up"])
def test_a_port_that_is_taken_is_told_instead_of_an_address(
    command: str, taken: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--data", str(tmp_path), "--port", str(taken)]) == EXIT_USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    what = f"cannot listen on 127.0.0.1:{taken}: somebody else does"
    assert shown.err == f"exhume: {what}\n  choose another --port\n"


def test_an_address_of_another_machine_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXHUME_TOKEN", "x" * 32)
    words = ["serve", "--data", str(tmp_path), "--address", "192.0.2.1", "--insecure"]
    assert main(words) == EXIT_USAGE
    assert "choose another --port or --address" in capsys.readouterr().err


def test_any_free_port_is_told_by_its_number(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "exhume", "serve", "--data", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            assert not address.endswith(":0/")
            with urlopen(f"{address}api/openapi.json", timeout=30) as answer:
                assert answer.status == 200
        finally:
            server.terminate()
