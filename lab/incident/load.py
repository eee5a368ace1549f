"""What each core does in each second: the same for mpstat and for perf."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lab.incident.plan import Incident

CHUNK_S = 600
Jiffies = NDArray[np.int16]
"""Of a hundred, by second and core."""


class Usage(Struct, frozen=True):
    """From `first_s` on. What is left of a hundred is idle."""

    first_s: int
    user: Jiffies
    system: Jiffies
    softirq: Jiffies
    iowait: Jiffies


def usage(incident: Incident, chunk: int) -> Usage:
    """Ten minutes of the night, or what is left of it."""
    first = chunk * CHUNK_S
    seconds = min(CHUNK_S, incident.seconds - first)
    rng = np.random.default_rng([incident.seed, 1, chunk])
    shape = (seconds, incident.cores)
    user, system = rng.integers(0, 3, shape), rng.integers(0, 2, shape)
    softirq, iowait = (rng.random(shape) < 0.05).astype(np.int64), np.zeros(shape, np.int64)
    # Training comes in steps: all ranks compute, then all wait for each other.
    step = 18 + incident.seed % 9
    phase = (first + np.arange(seconds)) % step
    level = np.where(phase < step - 3, 76, 30)[:, np.newaxis]
    training = list(incident.training_cores)
    busy = np.clip(level + rng.normal(0, 5, (seconds, len(training))), 5, 86).astype(np.int64)
    user[:, training] = busy
    system[:, training] = rng.integers(1, 5, busy.shape)  # page faults
    for core in incident.queue_cores:
        softirq[:, core] += rng.integers(0, 3, seconds)
    iowait[:, 0] = rng.integers(0, 2, seconds)
    found = [user, system, softirq, iowait]
    for burst in incident.bursts:
        for second in range(int(burst.start_s), int(burst.end_s) + 1):
            if first <= second < first + seconds:
                held = min(burst.end_s, second + 1) - max(burst.start_s, second)
                row = second - first
                for values in found:
                    values[row, burst.core] = round(values[row, burst.core] * (1 - held))
                system[row, burst.core] += round(100 * held)
    total = user + system + softirq + iowait
    user -= np.maximum(0, total - 100)
    user, system, softirq, iowait = (np.clip(v, 0, 100).astype(np.int16) for v in found)
    return Usage(first, user, system, softirq, iowait)


def chunks(incident: Incident) -> range:
    return range(-(-incident.seconds // CHUNK_S))
