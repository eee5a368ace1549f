"""Captures that the tests record themselves, and what perf says about them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

PERF = shutil.which("perf")
# Starts programs and threads, works in both modes, and goes to sleep: about half a second.
WORK = """
import hashlib, subprocess, threading, time
def work():
    end = time.time() + 0.3
    while time.time() < end:
        hashlib.sha256(open("/proc/self/maps", "rb").read() * 50).digest()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(6): subprocess.run(["true"])
for thread in threads: thread.join()
"""
_LINE = re.compile(
    r"^\s*(?P<comm>.+?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+"
    r"(?P<seconds>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\S+):\s*$"
)


class PerfSample(Struct, frozen=True, order=True):
    time_ns: int
    cpu: int
    pid: int
    tid: int
    comm: str
    event: str


def record(folder: Path, *options: str, to_pipe: bool = False) -> Path:
    """A capture of the whole machine; skips the test where that can't be made."""
    if PERF is None:
        pytest.skip("perf is not installed")
    path = folder / "perf.data"
    out = "-" if to_pipe else str(path)
    command = [PERF, "record", "-q", "-a", *options, "-o", out, "--", sys.executable, "-c", WORK]
    with open(path if to_pipe else folder / "out.txt", "wb") as stdout:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    if done.returncode or not path.stat().st_size:
        pytest.skip(f"perf record does not work here: {done.stderr.decode(errors='replace')}")
    return path


def perf_samples(path: Path) -> list[PerfSample]:
    """As perf script tells them, in the order of time."""
    assert PERF is not None
    fields = "comm,pid,tid,cpu,time,event"
    done = subprocess.run(
        [PERF, "script", "-f", "--ns", "-F", fields, "-i", str(path)],
        capture_output=True, text=True, errors="replace", check=True, timeout=60,
    )  # fmt: skip
    found = []
    for line in done.stdout.splitlines():
        if not line or line.startswith("\t"):
            continue  # of a pipe it writes the stacks, asked or not
        match = _LINE.match(line)
        assert match, line
        time_ns = int(match["seconds"]) * 10**9 + int(match["ns"])
        cpu, pid, tid = (int(match[name]) for name in ("cpu", "pid", "tid"))
        found.append(PerfSample(time_ns, cpu, pid, tid, match["comm"], match["event"]))
    return sorted(found)


def perf_text(path: Path, *options: str) -> str:
    assert PERF is not None
    done = subprocess.run(
        [PERF, "script", "-f", "--header", *options, "-i", str(path)],
        capture_output=True, text=True, errors="replace", check=True, timeout=60,
    )  # fmt: skip
    return done.stdout
