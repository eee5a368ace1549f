from __future__ import annotations

from lab import docker, systemd
from lab.expected import Expected
from lab.faults.zombies import supervised
from lab.faults.zombies.bare import MANY, Leak
from lab.stage import Stage

QUIET_SECONDS = 40.0


def act(stage: Stage) -> Expected:
    """Whatever of the three this machine can do, by lot."""
    can = ["bare", "bare"]
    can += [] if systemd.why_not() else ["unit"]
    can += [] if docker.why_not() else ["container"]
    variant = stage.dice.one_of(*can)
    seconds = stage.dice.between(64, 70)
    if variant == "bare":
        return bare(stage, zombies=stage.dice.number(*MANY), seconds=seconds)
    return Expected((supervised.act(stage, variant, quiet=QUIET_SECONDS, seconds=seconds),))


def bare(stage: Stage, *, zombies: int, seconds: float, quiet: float = QUIET_SECONDS) -> Expected:
    core, elsewhere = stage.dice.cores(2)
    leak = Leak(stage, zombies, seconds, core)
    stage.record()
    leak.watch(quiet + seconds / 6)
    stage.actor("spin", elsewhere, 600)  # a training job, busy and innocent
    stage.quiet(quiet)
    with stage.trouble():
        leak.begin()
        stage.last(seconds + 5)
    return Expected((leak.cause,))
