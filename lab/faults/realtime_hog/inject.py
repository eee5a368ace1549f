from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice, core = stage.dice, stage.dice.core()
    stage.record()
    work = dice.between(0.03, 0.08)
    victim = stage.daemon(core, dice.between(0.4, 0.7), work, limit=0.9)
    stage.daemon(-1, dice.between(0.4, 0.7), 0.01, watched=False)
    stage.quiet(dice.between(18, 25))
    culprit, mode = dice.name(), dice.one_of("user", "system")
    for _ in range(dice.number(2, 3)):
        seconds = dice.between(4, 7)
        with stage.trouble():
            hog = stage.actor(
                "realtime", core, dice.number(10, 60), seconds, seconds, 1, mode,
                name=culprit, at_most=seconds + 2,
            )  # fmt: skip
            hog.process.wait()
        stage.quiet(dice.between(5, 9))
    return Expected((Cause("realtime-hog", (culprit,), (culprit,), (victim.name,), core),))
