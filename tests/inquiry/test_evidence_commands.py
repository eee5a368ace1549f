"""Whoever pastes the command beside a piece of evidence sees what it claims."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exhume.cli.main import main
from exhume.model.series import Block
from exhume.store.writer import write_segment
from lab.commands.replay import import_all
from lab.incident.make import make
from lab.incident.plan import plan
from tests.cli.story import BURST_AT, record
from tests.store.make import SECOND, START, T0, by_hand, jiffies

STACKS = (("app", "main"), ("app", "main", "k_sys_read", "k_walk"))
TIMES = jiffies(180, {core: {"user": 50, "idle": 50} for core in range(2)})
JOB_LINE = "ERROR health check timed out after 4.0s"


def story(root: Path) -> list[str]:
    return ["--data", record(root)]


def story_of_the_job(root: Path) -> list[str]:
    return [*story(root), "--event", str(T0 // SECOND + BURST_AT + 9)]


def held(root: Path) -> list[str]:
    """Six seconds in one call: only samples show it."""
    samples = [(0, step / 50, 0, int(6000 <= step < 6300)) for step in range(9000)]
    write_segment(root, by_hand(samples, stacks=STACKS, blocks=TIMES, seconds=180, hz=50))
    return ["--data", str(root)]


def starved(root: Path) -> list[str]:
    """One who is ready for 1.5 s and not run: only a counter shows it."""
    ticks = START + np.arange(181, dtype=np.int64) * SECOND
    waited = (np.arange(181) >= 100) * 1_500_000_000
    slices = np.arange(181)
    blocks = [
        Block(f"process.{name}", ("77 app server",), ticks, values[:, np.newaxis].astype(np.int64))
        for name, values in (("wait_ns", waited), ("slices", slices))
    ]
    samples = [(0, step / 10, 0, 0) for step in range(1800)]
    made = by_hand(samples, stacks=STACKS, blocks=(*TIMES, *blocks), seconds=180, hz=10)
    write_segment(root, made)
    return ["--data", str(root)]


def a_question(root: Path) -> list[str]:
    return [*held(root), "--at", str(T0 // SECOND + 60)]


def a_question_without_samples(root: Path) -> list[str]:
    write_segment(root, by_hand([], blocks=TIMES, seconds=180, stretches=()))
    return ["--data", str(root), "--at", str(T0 // SECOND + 60)]


def a_log_beside_it(root: Path) -> list[str]:
    at = datetime.fromtimestamp(T0 // SECOND + 100, UTC).strftime("%Y-%m-%dT%H:%M:%S.700Z")
    log = root / "the job's.log"
    log.write_text(f"{at} {JOB_LINE}\n")
    return [*held(root / "recording"), "--job-log", str(log)]


def incident(root: Path) -> list[str]:
    make(root / "files", plan(5, 0.2, 8, 20.0))
    import_all(root / "files", root / "data")
    return ["--data", str(root / "data")]


MADE = (
    story, story_of_the_job, held, starved, a_question, a_question_without_samples,
    a_log_beside_it, incident,
)  # fmt: skip


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> Any:
    words = shlex.split(command)
    if words[0] != "exhume":
        done = subprocess.run(words, capture_output=True, check=True)
        return done.stdout.decode()
    assert main([*words[1:], "--json"]) == 0, command
    return json.loads(capsys.readouterr().out)


def texts(answer: Any) -> str:
    return " ".join(one["text"] for one in answer["events"])


HOLDS: dict[str, Callable[[Any], bool]] = {
    "events": lambda answer: bool(answer["events"]),
    "top": lambda answer: bool(answer["processes"]),
    "flame": lambda answer: answer["samples"] > 0,
    "cores": lambda answer: bool(answer["map"]["cores"]),
    "units": lambda answer: any(one["mark"] != "healthy" for one in answer["lifecycles"]),
    "zombies": lambda answer: bool(answer["counts"] or answer["tracked"]),
    "series": lambda answer: any(any(one["values"]) for one in answer["series"]),
    "irqs": lambda answer: bool(answer["lines"]),
}


@pytest.mark.parametrize("made", MADE)
def test_every_command_beside_evidence_shows_something(
    made: Callable[[Path], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", *made(tmp_path), "--json"]) in (0, 1, 2)
    case = json.loads(capsys.readouterr().out)
    assert case["evidence"]
    claims = [*case["evidence"], *case["risks"], *case["meanwhile"]]
    for check in {one["check"] for one in claims}:
        answer = shown(check, capsys)
        name = check.split()[1]
        assert HOLDS[name](answer) if check.startswith("exhume ") else answer, check
    symptom = case["symptom"]
    first = shown(case["evidence"][0]["check"], capsys)
    if symptom["file"]:
        assert symptom["text"] in first
    elif symptom["source"] in ("kernel log", "job log"):
        assert symptom["text"] in texts(first)
    elif symptom["source"] == "samples":
        assert symptom["victim"]["comm"] in {one["comm"] for one in first["processes"]}
    elif symptom["kind"] == "starved-thread":
        assert [one["instance"] for one in first["series"]] == ["77 app server"]
