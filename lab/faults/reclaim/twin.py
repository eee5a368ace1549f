from __future__ import annotations

from lab.expected import Expected
from lab.faults.reclaim.inject import MIB, big_file
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """Reclaim goes on all the time in one cgroup, and nobody else has to pay for it."""
    dice = stage.dice
    file = big_file(stage, 300)
    groups = stage.groups()
    groups.limit_memory(250 * MIB)
    stage.record()
    stage.daemon(-1, 0.8, 0.01, limit=1.5, touch=10)
    stage.quiet(dice.between(8, 12))
    seconds = dice.between(12, 16)
    stage.actor("thrash", file, seconds, 2, 0, dice.core(), within=groups)
    stage.spawn(["sh", "-c", 'exec gzip -1 -c "$0" > /dev/null', str(file)])
    stage.last(seconds + 3)
    return Expected()
