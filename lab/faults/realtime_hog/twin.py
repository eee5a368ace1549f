from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """Cores are full, of ordinary processes; who waits among them takes turns."""
    dice = stage.dice
    stage.record()
    stage.daemon(dice.core(), 0.5, 0.01, limit=0.9)
    stage.quiet(dice.between(12, 18))
    seconds = dice.between(12, 18)
    for core in dice.cores(2):
        stage.actor(dice.one_of("spin", "calls"), core, seconds)
    stage.last(seconds + 4)
    return Expected()
