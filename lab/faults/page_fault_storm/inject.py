from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice, core = stage.dice, stage.dice.core()
    stage.record()
    every, work = dice.between(0.5, 0.8), dice.between(0.06, 0.09)
    victim = stage.daemon(core, every, work, limit=0.9)
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        seconds, workers = dice.between(12, 16), dice.number(24, 32)
        storm = stage.actor(
            "faults", core, seconds, workers, dice.number(4, 16), at_most=seconds + 4
        )
        stage.last(seconds)
    stage.quiet(dice.between(4, 7))
    return Expected(
        (Cause("page-fault-storm", (storm.name,), (storm.name,), (victim.name,), core),)
    )
