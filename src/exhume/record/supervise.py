"""Keeps processes running under one command: the recorder now, a page server beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from exhume.errors import EXIT_DATA, EXIT_PERMISSION, EXIT_USAGE
from exhume.processes import die_with

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
STOP_SECONDS = 2.0
FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 60.0
POLL_SECONDS = 0.2
# Starting again would fail in the same way: the user has to do something first.
_FINAL = {0, EXIT_USAGE, EXIT_DATA, EXIT_PERMISSION}


class Child(Struct):
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    backoff_seconds: float = FIRST_BACKOFF_SECONDS
    started: float = field(default_factory=time.monotonic)
    restart_at: float = 0.0
    is_vital: bool = True
    """Without it nothing goes on; others may end for good and are only told of."""


def supervise(children: Sequence[Child], say: Callable[[str], None]) -> int:
    """Run them until a signal, or until one ends in a way that no restart mends. Its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        for child in children:
            _start(child)
        while signal.sigtimedwait(STOP_SIGNALS, POLL_SECONDS) is None:
            for child in children:
                code = _look_after(child, say)
                if code is not None:
                    return code
        return 0
    finally:
        _stop(children)


def _start(child: Child) -> None:
    # The mask is inherited: blocked signals would never reach a child that doesn't wait for them.
    parent = os.getpid()

    def unblock() -> None:
        # Were we killed, it would go on by itself and be in the way of the next `exhume up`.
        die_with(parent, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        # Ctrl-C goes to the whole group; only we hear it, and stop the children in order.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    child.process = subprocess.Popen(child.command, stdin=subprocess.DEVNULL, preexec_fn=unblock)
    child.started = time.monotonic()


def _look_after(child: Child, say: Callable[[str], None]) -> int | None:
    now = time.monotonic()
    if child.process is None:
        if now >= child.restart_at:
            _start(child)
        return None
    code = child.process.poll()
    if code is None:
        return None
    if code in _FINAL and child.is_vital:
        return code
    if code in _FINAL:
        say(f"{child.name} ended ({_ending(code)}); the rest goes on without it")
        child.process, child.restart_at = None, float("inf")
        return None
    if now - child.started > LONGEST_BACKOFF_SECONDS:
        child.backoff_seconds = FIRST_BACKOFF_SECONDS
    say(f"{child.name} ended ({_ending(code)}); starting it again in {child.backoff_seconds:g} s")
    child.process = None
    child.restart_at = now + child.backoff_seconds
    child.backoff_seconds = min(child.backoff_seconds * 2, LONGEST_BACKOFF_SECONDS)
    return None


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _stop(children: Sequence[Child]) -> None:
    running = [child.process for child in children if child.process is not None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
