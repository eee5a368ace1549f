"""A real recorder on this machine, in a process of its own, and what it wrote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exhume.model.arrays import I64
from exhume.model.window import Window
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files, read_heads
from exhume.store.recording import Recording

SECOND = 1_000_000_000
EXHUME = (sys.executable, "-m", "exhume")
START_SECONDS = 30.0
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root: opens perf events of the whole machine"
)


def monotonic_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def window(start: float, seconds: float) -> Window:
    """Of epoch seconds."""
    return Window(int(start * SECOND), int((start + seconds) * SECOND))


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


@dataclass
class Node:
    """One data directory and, between `start` and the end, the recorder that writes to it."""

    data: Path
    command: Sequence[str] = ()
    """Instead of `exhume record`; the directory is appended."""
    prefix: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(init=False)
    _before: int = 0

    def __post_init__(self) -> None:
        self.log = self.data.with_name(self.data.name + ".log")

    def start(self, *options: str) -> None:
        self.launch(*options)
        self.wait_for_first_second()

    def launch(self, *options: str) -> None:
        command = [*self.command, str(self.data)] if self.command else [
            *EXHUME, "record", "--data", str(self.data), *options,
        ]  # fmt: skip
        self._before = last_tick(self.data)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_for_first_second(self) -> None:
        wait_for(
            lambda: last_tick(self.data) > self._before or self.process_ended,
            START_SECONDS,
            "the recorder's first second",
        )
        assert not self.process_ended, self.said

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def process_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def stop(self, by: signal.Signals = signal.SIGTERM) -> float:
        """How long it took to end, in seconds."""
        assert self.process is not None
        began = time.monotonic()
        with suppress(ProcessLookupError):
            self.process.send_signal(by)
        try:
            self.process.wait(20)
        finally:
            self.kill()
        return time.monotonic() - began

    def kill(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def wait_until_recorded(self, wall_seconds: float | None = None) -> None:
        """Until what happened by then (now, where nothing is said) has been written."""
        ahead = 0.0 if wall_seconds is None else wall_seconds - time.time()
        until = monotonic_ns() + int(ahead * SECOND)
        wait_for(
            lambda: last_tick(self.data) >= until or self.process_ended,
            ahead + 20,
            "the recorder's next second",
        )
        assert not self.process_ended, self.said

    def recording(self) -> Recording:
        return Recording.open(self.data, heads=read_heads)

    def exhume(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*EXHUME, command, "--data", str(self.data), *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def ask(self, command: str, *options: str) -> Any:
        """The JSON that a command answers."""
        run = self.exhume(command, "--json", *options)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def top(self, start: float, seconds: float, *options: str) -> Any:
        return self.ask("top", "--at", f"{start:.6f}", "--for", f"{int(seconds * 1e3)}ms", *options)

    def status(self) -> Any:
        run = self.exhume("status", "--json")
        return json.loads(run.stdout)

    def ticks(self) -> I64:
        """The end of every second that can be read, on CLOCK_MONOTONIC."""
        blocks = [
            block.tick_ns
            for view in self.recording().views()
            for block in view.blocks("self.cpu_ns")
        ]
        return np.unique(np.concatenate(blocks))


def last_tick(data: Path) -> int:
    """The end of the newest second in a head log, on CLOCK_MONOTONIC; 0 where there is none."""
    for path in reversed(head_files(data)):
        with suppress(FileNotFoundError):
            ends = [f.end_ns for f in HeadFile(path).frames if f.kind == FrameKind.TICK]
            if ends:
                return ends[-1]
    return 0


def process_in(answer: Any, comm: str) -> Any | None:
    """The row of a process in what `exhume top` answers."""
    return next((row for row in answer["processes"] if row["comm"] == comm), None)


def frames_in(answer: Any, *modules: str) -> dict[str, Any]:
    """By name, of these files (`kernel` is one): many programs have a `main`."""
    frames = (row for row in answer["frames"] if row["frame"]["module"] in modules)
    return {row["frame"]["name"]: row for row in frames}


def longest_gap_seconds(ticks: I64) -> float:
    return float(np.diff(ticks).max(initial=0)) / SECOND
