from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """Steady bursts of an ordinary process: whoever else is there takes turns with it."""
    dice, core = stage.dice, stage.dice.core()
    stage.record()
    stage.daemon(core, dice.between(0.3, 0.5), 0.01, limit=0.8)
    stage.quiet(dice.between(8, 12))
    busy, period, times = dice.between(1.0, 2.0), dice.between(4, 6), dice.number(4, 5)
    burst = stage.actor("realtime", core, 0, busy, period, times, dice.one_of("user", "system"))
    burst.process.wait()
    stage.quiet(dice.between(2, 4))
    return Expected()
