from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """They are alive and nobody loops; a collector empties one of them, which is quick."""
    dice = stage.dice
    groups = stage.groups()
    if (switch := groups.memory / "cgroup.subtree_control").exists():  # v2
        switch.write_text("+memory")
    for number in range(dice.number(2_000, 4_000)):
        (groups.memory / f"{dice.one_of('job', 'pod', 'unit')}{number}").mkdir()
    stage.record()
    first = next(path for path in groups.memory.iterdir() if path.is_dir())
    file = first / "memory.force_empty"
    stage.collector(file, begin=10, pause=3, times=8, core=dice.core())
    stage.quiet(dice.between(12, 18))
    seconds = dice.between(14, 20)
    stage.actor("spin", dice.core(), seconds)
    stage.last(seconds + 3)
    return Expected()
