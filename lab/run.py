"""One run: record, let it happen, ask why, compare with what is true."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from exhume.errors import EXIT_PERMISSION, ExhumeError
from lab.dice import Dice
from lab.expected import Expected, Weighed, weigh
from lab.faults import FAULTS
from lab.ledger import FOLDER, clean_all
from lab.stage import Stage, staged

_ASK_SECONDS = 120.0
CONSENT = "--yes-break-this-machine"
RECORDING, RUN_FILE = "recording", "run.json"


class Run(Struct, frozen=True):
    fault: str
    healthy: bool
    """Its twin, which looks alike and harms nobody."""
    seed: int
    expected: Expected
    troubles: tuple[tuple[float, float], ...]
    """When it happened, in epoch seconds."""
    weighed: Weighed
    answer_seconds: float
    """How long `exhume why` took."""
    case: Any
    """All that it said."""


def play(
    fault: str,
    *,
    healthy: bool,
    seed: int,
    data: Path,
    say: Callable[[str], None],
) -> Run:
    act = actor_of(fault, healthy)
    with alone(say), staged(Dice(seed), data, say) as stage:
        expected = act(stage)
        harmed = any(stage.did_harm(cause.victims) for cause in expected.causes)
    began = time.monotonic()
    case = ask_why(data)
    took = time.monotonic() - began
    return Run(
        fault, healthy, seed, expected, tuple(stage.troubles),
        weigh(case, expected, harmed=harmed), round(took, 2), case,
    )  # fmt: skip


def actor_of(fault: str, healthy: bool) -> Callable[[Stage], Expected]:
    module = import_module(f"lab.faults.{FAULTS[fault]}.{'twin' if healthy else 'inject'}")
    act: Callable[[Stage], Expected] = module.act
    return act


def ask_why(data: Path, *options: str) -> Any:
    command = [sys.executable, "-m", "exhume", "why", "--data", str(data), "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ASK_SECONDS)
    if run.returncode not in (0, 1, 2):
        raise ExhumeError(f"exhume why failed: {run.stderr.strip()}")
    return json.loads(run.stdout)


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """One run at a time on a machine; what an earlier one left is taken away first."""
    if os.geteuid() != 0:
        raise ExhumeError(
            "the lab breaks the machine on purpose, which needs root",
            todo="run it as root, on a machine that you may break",
            exit_code=EXIT_PERMISSION,
        )
    FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ExhumeError(
                "another run of the lab goes on here", todo="wait for its end"
            ) from None
        left = clean_all()
        if left:
            say(f"an earlier run left what can't be taken away: {', '.join(left)}")
        yield


def keep(run: Run, path: Path) -> None:
    path.write_text(json.dumps(to_builtins(run), indent=1) + "\n")
