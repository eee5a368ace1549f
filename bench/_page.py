"""A server of its own and the system's Chromium: for bench.page, the pictures and tests/ui."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
START_SECONDS = 30.0


@contextmanager
def served(data: Path, token: str = "") -> Iterator[str]:
    """A server process on a free port; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "exhume", "serve", "--data", str(data), "--port", str(port)]
    environment = {**os.environ, "TZ": "UTC", "EXHUME_TOKEN": token}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        address = f"http://127.0.0.1:{port}/"
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, "the server ended at once"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
