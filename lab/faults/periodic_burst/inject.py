from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice, core = stage.dice, stage.dice.core()
    stage.record()
    work = dice.between(0.05, 0.08)
    victim = stage.daemon(core, dice.between(0.3, 0.5), work, limit=0.8)
    stage.quiet(dice.between(12, 18))
    busy, period, times = dice.between(1.6, 2.6), dice.between(6, 9), dice.number(5, 6)
    mode = dice.one_of("user", "system")
    with stage.trouble():
        burst = stage.actor(
            "realtime", core, dice.number(5, 60), busy, period, times, mode,
            at_most=period * times + 5,
        )  # fmt: skip
        burst.process.wait()
    stage.quiet(dice.between(3, 6))
    return Expected((Cause("realtime-hog", (burst.name,), (burst.name,), (victim.name,), core),))
