"""What is random in a run: names, cores, rates and times. The same seed throws the same."""

from __future__ import annotations

import os
import random
import string

from exhume.errors import ExhumeError

_FIRST = (
    "log", "metric", "cache", "queue", "disk", "trace", "cert", "dns", "blob", "auth", "sync",
    "node", "image", "audit", "mail", "kv", "usage", "probe", "stat", "batch",
)  # fmt: skip
_LAST = ("-agent", "d", "-proxy", "-relay", "mon", "-feed", "ctl", "-sweep", "srv", "-hub")
MOST_LETTERS = 15
"""Of a process's name, as the kernel keeps it."""


class Dice:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = random.Random(seed)
        self._given: set[str] = set()

    def name(self) -> str:
        """Plausible, and nobody else's. Letters only: digits would be folded."""
        while True:
            tail = "".join(self._random.choices(string.ascii_lowercase, k=3))
            stem = self._random.choice(_FIRST) + self._random.choice(_LAST)
            name = f"{stem[: MOST_LETTERS - 4]}-{tail}"
            if name not in self._given:
                self._given.add(name)
                return name

    def core(self) -> int:
        return self._random.choice(sorted(os.sched_getaffinity(0)))

    def cores(self, count: int) -> list[int]:
        """Different ones."""
        here = sorted(os.sched_getaffinity(0))
        if len(here) < count:
            raise ExhumeError(f"this fault needs {count} cores, and here is {len(here)}")
        return self._random.sample(here, count)

    def between(self, low: float, high: float) -> float:
        return round(self._random.uniform(low, high), 3)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def one_of(self, *choices: str) -> str:
        return self._random.choice(choices)


def random_name(prefix: str, length: int = 8) -> str:
    """Of no seed. Letters only: digits would be folded."""
    return prefix + "".join(random.choices(string.ascii_lowercase, k=length))
