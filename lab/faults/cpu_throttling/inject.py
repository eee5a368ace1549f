from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice, core = stage.dice, stage.dice.core()
    groups = stage.groups()
    groups.limit_cpu(dice.between(0.02, 0.04), dice.between(0.1, 0.2))
    work, every = dice.between(0.02, 0.04), dice.between(0.5, 0.8)
    victim = stage.daemon(core, every, work, limit=0.9, within=groups)
    # The recorder looks for limited cgroups once a minute, and this one has been there for long.
    stage.quiet(3)
    stage.record()
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        seconds = dice.between(22, 28)
        eaters = dice.name()
        for _ in range(dice.number(10, 14)):
            stage.actor("spin", core, seconds, name=eaters, within=groups, at_most=seconds + 3)
        stage.last(seconds)
    stage.quiet(dice.between(4, 7))
    called = (groups.name, eaters)
    return Expected((Cause("cpu-throttling", called, victims=(victim.name,)),))
