from __future__ import annotations

from lab.expected import Cause, Expected
from lab.faults.zombies.bare import MANY, Leak
from lab.stage import Stage

QUIET_SECONDS = 40.0


def act(stage: Stage) -> Expected:
    dice = stage.dice
    core, elsewhere = dice.cores(2)
    leak = Leak(stage, dice.number(*MANY), dice.between(64, 70), elsewhere)
    stage.record()
    leak.watch(QUIET_SECONDS + 12)
    victim = stage.daemon(core, dice.between(0.4, 0.7), dice.between(0.03, 0.08), limit=0.9)
    stage.quiet(QUIET_SECONDS)
    hog, mode = dice.name(), dice.one_of("user", "system")
    with stage.trouble():
        leak.begin()
        for _ in range(4):
            stage.last(dice.between(9, 12))
            busy = dice.between(4, 6)
            words = (core, dice.number(10, 60), busy, busy, 1, mode)
            stage.actor("realtime", *words, name=hog, at_most=busy + 2).process.wait()
        stage.last(4)
    hogged = Cause("realtime-hog", (hog,), (hog,), (victim.name,), core)
    return Expected((hogged, leak.cause))
