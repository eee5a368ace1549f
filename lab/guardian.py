"""Watches over a run from a process of its own: ends what goes on too long, and cleans up after a
run that was killed.

    python -m lab.guardian LEDGER

It reads orders from its standard input until that is closed, which the kernel does for a run that
dies, however it dies. `until SECONDS PID START` gives a process so long; `bye` says that the run
has cleaned up itself. A real-time priority above all that the lab uses keeps it able to act.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from lab.ledger import Ledger, kill_process, start_of

PRIORITY = 80
_LOOK_SECONDS = 0.2


class Guardian:
    """The run's end of it."""

    def __init__(self, ledger: Ledger) -> None:
        root = str(Path(__file__).parent.parent)
        paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lab.guardian", str(ledger.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths},
        )

    def allow(self, pid: int, seconds: float) -> None:
        """So long and no longer."""
        self._tell(f"until {seconds} {pid} {start_of(pid) or 0}")

    def dismiss(self) -> None:
        """All is cleaned up."""
        with suppress(BrokenPipeError):
            self._tell("bye")
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(30)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()


def watch(ledger: Ledger, orders: int) -> None:
    deadlines: list[tuple[float, int, int]] = []
    rest = b""
    while True:
        ready, _, _ = select.select([orders], [], [], _LOOK_SECONDS)
        if ready:
            data = os.read(orders, 4096)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, *more = line.decode().split()
                if word == "bye":
                    return
                deadlines.append((time.monotonic() + float(more[0]), int(more[1]), int(more[2])))
        for due, pid, started in deadlines:
            if time.monotonic() >= due:
                kill_process(pid, started)
        deadlines = [one for one in deadlines if one[0] > time.monotonic()]
    ledger.clean()


def main() -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    watch(Ledger(Path(sys.argv[1])), sys.stdin.fileno())


if __name__ == "__main__":
    main()
