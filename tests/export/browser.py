"""A headless Chromium as the reader of what is exported: pages, their scripts, their pictures.

It is spoken to over a pipe (--remote-debugging-pipe), so that nothing listens on any port.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--allow-file-access-from-files", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_SECONDS = 30


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, command: str, home: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def three_and_four() -> None:
            # Chromium reads its orders from descriptor 3 and answers on 4; either may be taken.
            spare = fcntl.fcntl(to_write, fcntl.F_DUPFD, 10)
            os.dup2(fcntl.fcntl(to_read, fcntl.F_DUPFD, 10), 3)
            os.dup2(spare, 4)

        self._process = subprocess.Popen(
            [command, *FLAGS, f"--user-data-dir={home}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=three_and_four,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._rest = b""

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._receive())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> bytes:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            assert more, "Chromium is gone"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return message

    def open(self, url: str) -> Page:
        target = self.send("Target.createTarget", url=url)["targetId"]
        found = self.send("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, found["sessionId"])
        page.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        return page


class Page:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def ask(self, expression: str) -> Any:
        """The value of an expression, as JSON has it."""
        answer = self._browser.send(
            "Runtime.evaluate",
            self._session,
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.ask(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def picture(self, file: Path, width: int = 1300, height: int = 800) -> None:
        self._browser.send(
            "Emulation.setDeviceMetricsOverride", self._session,
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        found = self._browser.send("Page.captureScreenshot", self._session, format="png")
        file.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browsing(home: Path) -> Iterator[Browser]:
    command = chromium()
    assert command is not None
    browser = Browser(command, home)
    try:
        yield browser
    finally:
        browser.close()
