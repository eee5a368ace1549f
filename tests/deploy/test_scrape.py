"""A real Prometheus scrapes a real recorder's node and answers a query."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.node import EXHUME, needs_root, wait_for

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: exhume
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""
RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "exhume.rules.yml"
PATIENCE_SECONDS = 60
"""A quarter of that is enough where nobody else is at work."""
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="needs prometheus (package prometheus)"
)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def busy_core(core: int) -> Iterator[None]:
    """Full, yet in nobody's way; ends by itself should we be killed."""
    code = "import os, time\nos.nice(19)\nend = time.monotonic() + 60\n"
    code += "while time.monotonic() < end: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        os.sched_setaffinity(process.pid, {core})
        yield
    finally:
        process.kill()
        process.wait()


def query(port: int, expression: str) -> list[Any]:
    """What Prometheus answers; nothing while it starts."""
    asked = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/api/v1/query?{asked}", timeout=5
        ) as r:
            found: list[Any] = json.load(r)["data"]["result"]
            return found
    except (urllib.error.URLError, OSError):
        return []


@pytest.mark.kernel
@needs_root
@needs_prometheus
def test_prometheus_scrapes_a_recorder_and_answers_which_core_time_was_starved(
    tmp_path: Path,
) -> None:
    ours, theirs = free_port(), free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(CONFIG.format(port=ours, rules=RULES))
    core = max(os.sched_getaffinity(0))
    up = (*EXHUME, "up", "--data", str(tmp_path / "data"), "--port", str(ours), "--label", "zone=a")
    prometheus = ("prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb",
                  f"--web.listen-address=127.0.0.1:{theirs}", "--log.level=warn")  # fmt: skip
    said = tmp_path / "up.log", tmp_path / "prometheus.log"
    with busy_core(core), running(said[0], *up) as node, running(said[1], *prometheus) as server:
        began = time.monotonic()

        def starved() -> list[Any]:
            assert node.poll() is None, said[0].read_text()
            assert server.poll() is None, said[1].read_text()
            return query(theirs, 'exhume_starved_core_seconds_total{zone="a"} > 0')

        wait_for(starved, PATIENCE_SECONDS, "Prometheus tells of the busy core")
        took = time.monotonic() - began
        found = starved()[0]
        assert found["metric"]["instance"] == f"127.0.0.1:{ours}"
        wait_for(lambda: query(theirs, "exhume_scrape_duration_seconds"), 20, "a second scrape")
        (worst,) = query(theirs, 'exhume_core_utilisation_worst_ratio{window="15s"}')
        assert float(worst["value"][1]) > 0.9
        assert query(theirs, 'exhume_cases{kind="zombie-cgroups",status="found"}')
        (health,) = query(theirs, "up")
        assert health["value"][1] == "1"
        (cost,) = query(theirs, "exhume_scrape_duration_seconds")
        print(f"answered after {took:.1f} s; a scrape took {float(cost['value'][1]) * 1e3:.1f} ms")
        assert float(cost["value"][1]) < 1
