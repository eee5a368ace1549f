"""The driver's log of the Ray job: it dies of each reset, and is submitted again."""

from __future__ import annotations

import random
import time
from pathlib import Path

from lab.incident.plan import Incident

_EVERY_S = 30
_BACK_S = 240.0
"""From a failure to the next attempt."""


def write(path: Path, incident: Incident) -> None:
    rng = random.Random(f"job {incident.seed}")
    lines: list[tuple[float, str]] = []
    step, down_until = rng.randrange(1000, 5000), 0.0
    failures = [failed_s(incident, burst.reset_s) for burst in incident.resets if burst.reset_s]
    lines.append((1.0, f"INFO job_manager.py:1 -- Job {incident.job} started on {incident.host}"))
    for at in range(5, incident.seconds, _EVERY_S):
        if any(failed <= at < failed + _BACK_S for failed in failures):
            continue
        step += rng.randrange(8, 14)
        loss = 2.0 + 40 / (step**0.5) + rng.uniform(-0.02, 0.02)
        lines.append((at + rng.random(), f"INFO train.py:88 -- step {step} loss {loss:.4f}"))
    for failed in failures:
        down_until = failed + _BACK_S
        lines += [(failed, text) for text in _failure(incident, rng)]
        if down_until < incident.seconds:
            lines.append((down_until, "INFO job_manager.py:1 -- Retrying, attempt from checkpoint"))
    lines.sort(key=lambda line: line[0])
    path.write_text("".join(f"{_stamped(incident, *line)}\n" for line in lines), encoding="ascii")


def failed_s(incident: Incident, reset_s: float) -> float:
    """A fetch is given up some seconds after the card was gone."""
    rng = random.Random(f"failure {incident.seed} {reset_s}")
    return reset_s + rng.uniform(1.0, 9.0)


def _failure(incident: Incident, rng: random.Random) -> list[str]:
    obj = f"{rng.randrange(16**14):014x}ffffffffffffffffffffffff0300000006000000"
    node = f"{rng.randrange(16**24):024x}"
    return [
        "ERROR worker.py:409 -- Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
        f"ray::TrainWorker.run() (pid={rng.randrange(20000, 30000)}, ip=10.2.7.44)",
        '  File "train.py", line 212, in fit\n'
        f"ray.exceptions.ObjectFetchTimedOutError: Failed to retrieve object {obj}.",
        f"Fetch for object {obj} timed out because no locations were found for the object.",
        f"WARNING worker.py:1829 -- The node with node id: {node} and address: 10.2.7.44 and node "
        f"name: {incident.host} has been marked dead because the detector has missed too many "
        "heartbeats from it.",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
    ]


def _stamped(incident: Incident, at_s: float, text: str) -> str:
    if not text.startswith(("INFO", "WARNING", "ERROR")):
        return text  # a traceback has no times
    wall = incident.epoch_s(at_s)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(wall))
    return f"{stamp},{wall % 1 * 1000:03.0f} {text}"
