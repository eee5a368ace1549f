"""Where the page is, and what is said where it can't be there."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exhume.cli import serve
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


def test_who_stops_a_server_in_the_middle_of_an_answer_is_told_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = threading.Event()

    async def slow(_: Request) -> Response:
        asked.set()
        await asyncio.sleep(60)
        return Response()

    server = serve.server_of(Starlette(routes=[Route("/", slow)]))
    with serve.listen("127.0.0.1", 0) as listening:
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        running.start()
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert asked.wait(30)
            server.should_exit = True
            running.join(30)
    assert not running.is_alive()
    assert capsys.readouterr().err == ""
