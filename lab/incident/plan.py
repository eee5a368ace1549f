"""What happens in the night: who, where and when. All files are made from this."""

from __future__ import annotations

import random
from bisect import bisect_right

from msgspec import Struct

from lab.dice import Dice

HOUR_S = 3600.0
PIECE_S = 120
PIECE_GAP_S = 1.6
"""perf takes that long to end one recording and begin the next."""
WATCHDOG_S = 5.0
"""A transmit queue that waits longer makes the driver reset the card."""
SAMPLED_LATE_S = 1.4
"""From the time in a piece's name to its first sample."""
KERNEL_LOG_AHEAD_S = 0.05
"""The kernel log's clock, and perf's, begin a little before uptime does."""
_MIN_APART_S = 45.0
_BURSTS_AN_HOUR = 3.0
_RESETS_OF_BURSTS = 1 / 12


class Burst(Struct, frozen=True):
    """The payer is held in the kernel, on one core."""

    start_s: float
    """This and all other instants: since the night began."""
    seconds: float
    core: int
    zombies: int
    queue: int | None = None
    """Of the network card, if the core serves one."""
    reset_s: float | None = None
    """When the driver reset the card; None where nobody was harmed."""

    @property
    def end_s(self) -> float:
        return self.start_s + self.seconds


class Incident(Struct, frozen=True):
    seed: int
    seconds: int
    cores: int
    hz: float
    """Of the pieces in which a reset falls; the others are sampled less often."""
    host: str
    began_s: int
    """Seconds since 1970, a whole minute."""
    booted_s: float
    interface: str
    pci: str
    queue_cores: tuple[int, ...]
    """By queue, the core that serves it."""
    hot_core: int
    """Where the payer runs most of the time."""
    training_cores: tuple[int, ...]
    payer: str
    payer_pid: int
    unit: str
    container: str
    image: str
    job: str
    trainer: str
    live_cgroups: int
    restarts_s: tuple[float, ...]
    """Each leaves one zombie."""
    restarts_before: int
    zombies_before: int
    bursts: tuple[Burst, ...]

    def zombies_at(self, at_s: float) -> int:
        return self.zombies_before + bisect_right(self.restarts_s, at_s)

    def epoch_s(self, at_s: float) -> float:
        return self.began_s + at_s

    def uptime_s(self, at_s: float) -> float:
        return self.began_s + at_s - self.booted_s

    def kernel_s(self, at_s: float) -> float:
        """On the clock of the kernel log and of perf."""
        return self.uptime_s(at_s) + KERNEL_LOG_AHEAD_S

    @property
    def resets(self) -> tuple[Burst, ...]:
        return tuple(burst for burst in self.bursts if burst.reset_s is not None)


def plan(seed: int, hours: float = 12.0, cores: int = 96, hz: float = 97.0) -> Incident:
    dice, rng = Dice(seed), random.Random(f"incident {seed}")
    seconds = round(hours * HOUR_S)
    queues = max(2, min(8, cores // 4))
    queue_cores = tuple(rng.sample(range(cores), queues))
    began = 1_735_689_600 + rng.randrange(500) * 86_400 + rng.randrange(20, 23) * 3600
    pace = rng.uniform(10.1, 10.9)
    # At ten seconds each, the number of the story takes about a week.
    zombies_end = rng.randint(64_000, 74_000)
    restarts = _restarts(rng, seconds, pace)
    before = zombies_end - len(restarts)
    hot_queue = rng.randrange(queues)
    culprit = dice.name()
    training = rng.sample(range(cores), max(1, round(cores * rng.uniform(0.55, 0.7))))
    per_zombie_s = rng.uniform(62e-6, 78e-6)
    return Incident(
        seed=seed,
        seconds=seconds,
        cores=cores,
        hz=hz,
        host=f"gpu-{dice.name().rpartition('-')[2]}-{rng.randrange(10, 99)}",
        began_s=began,
        booted_s=began - before * pace * 1.002 - rng.uniform(60, 600),
        interface="eth0",
        pci=f"0000:{rng.randrange(16, 160):02x}:{rng.randrange(1, 32):02x}.0",
        queue_cores=queue_cores,
        hot_core=queue_cores[hot_queue],
        training_cores=tuple(sorted(training)),
        payer=dice.name(),
        payer_pid=rng.randrange(1200, 9000),
        unit=f"{culprit}.service",
        container=culprit,
        image=f"vendor/{culprit}:latest",
        job=f"raysubmit_{''.join(rng.choices('ABCDEFGHJKLMNPQRSTUVWXYZabcdefgh123456789', k=16))}",
        trainer="ray::TrainWork",
        live_cgroups=rng.randint(200, 280),
        restarts_s=restarts,
        restarts_before=before,
        zombies_before=before,
        bursts=_bursts(rng, seconds, cores, queue_cores, hot_queue, per_zombie_s, before, restarts),
    )


def _restarts(rng: random.Random, seconds: int, pace: float) -> tuple[float, ...]:
    found, at = [], rng.uniform(0, pace)
    while at < seconds:
        found.append(at)
        at += rng.uniform(pace - 0.3, pace + 0.3)
    return tuple(found)


def _bursts(
    rng: random.Random,
    seconds: int,
    cores: int,
    queue_cores: tuple[int, ...],
    hot_queue: int,
    per_zombie_s: float,
    zombies_before: int,
    restarts: tuple[float, ...],
) -> tuple[Burst, ...]:
    count = max(4, round(seconds / HOUR_S * _BURSTS_AN_HOUR))
    harmful = set(rng.sample(range(count), max(1, round(count * _RESETS_OF_BURSTS))))
    slot = seconds / count
    others = [core for core in range(cores) if core not in queue_cores]
    hot = queue_cores[hot_queue]
    found = []
    for number in range(count):
        room = max(1.0, slot - _MIN_APART_S)
        start = number * slot + min(20.0, slot / 4) + rng.uniform(0, room * 0.8)
        zombies = zombies_before + bisect_right(restarts, start)
        is_harmful = number in harmful
        # Every ancestor of the zombies is asked in turn: one of them alone takes less.
        asked = rng.uniform(1.25, 1.5) if is_harmful else rng.choice((0.65, 0.8, 0.95))
        elsewhere = not is_harmful and rng.random() < 0.3
        if elsewhere:
            asked = rng.uniform(0.7, 1.5)
        core = rng.choice(others) if elsewhere else hot
        length = per_zombie_s * zombies * asked * rng.uniform(0.97, 1.03)
        reset = None
        if is_harmful:
            length = max(length, WATCHDOG_S + 0.6)
            reset = start + rng.uniform(WATCHDOG_S + 0.2, length)
        elif core == hot:
            length = min(length, WATCHDOG_S - 0.2)
        queue = queue_cores.index(core) if core in queue_cores else None
        found.append(Burst(start, length, core, zombies, queue, reset))
    return tuple(found)
