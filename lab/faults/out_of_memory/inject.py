from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage

MIB = 1 << 20


def act(stage: Stage) -> Expected:
    dice = stage.dice
    stage.record()
    groups = stage.groups()
    limit = dice.number(80, 200)
    groups.limit_memory(limit * MIB)
    stage.daemon(-1, 0.5, 0.01, limit=1.5, within=groups)
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        eater = stage.actor("eat", dice.number(60, 150), 4 * limit, -1, within=groups, at_most=30)
        eater.process.wait()
    stage.quiet(dice.between(4, 7))
    called = (eater.name, groups.name)
    return Expected((Cause("out-of-memory", called, victims=called),))
