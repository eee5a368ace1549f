from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice = stage.dice
    stage.record()
    stage.daemon(-1, dice.between(0.5, 0.8), 0.01, limit=1.5)
    stage.quiet(dice.between(8, 12))
    seconds = dice.between(14, 18)
    stage.actor("spin", dice.core(), seconds)
    job = stage.program(dice.name())
    end = f"end=$(($(date +%s) + {int(seconds)}))"
    script = f"{end}; while [ $(date +%s) -lt $end ]; do {job} spin -1 0.01; true; done"
    stage.spawn(["sh", "-c", script]).wait(60)
    stage.quiet(dice.between(3, 5))
    return Expected()
