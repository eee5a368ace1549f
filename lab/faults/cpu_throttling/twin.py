from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """A quota is there, and what is in the cgroup keeps within it."""
    dice = stage.dice
    groups = stage.groups()
    groups.limit_cpu(0.08, 0.1)
    stage.daemon(-1, 0.5, 0.01, limit=0.9, within=groups)
    stage.daemon(dice.core(), 0.2, 0.09, limit=5.0, watched=False, within=groups)
    stage.quiet(3)
    stage.record()
    stage.actor("spin", dice.core(), 20)
    stage.quiet(dice.between(24, 30))
    return Expected()
