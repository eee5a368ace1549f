from __future__ import annotations

import os

from lab.expected import Cause, Expected
from lab.stage import Stage

MIB = 1 << 20
MAPPINGS = 400


def act(stage: Stage) -> Expected:
    dice = stage.dice
    limit, size = dice.number(150, 200), dice.number(500, 700)
    file = big_file(stage, size)
    groups = stage.groups()
    groups.limit_memory(limit * MIB)
    stage.record()
    every, touch = dice.between(0.6, 0.9), dice.number(70, 90)
    victim = stage.daemon(-1, every, 0.01, limit=1.0, touch=touch, within=groups)
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        seconds, threads = dice.between(14, 18), dice.number(4, 6)
        reader = stage.actor(
            "thrash", file, seconds, threads, MAPPINGS, -1, within=groups, at_most=seconds + 3
        )
        stage.last(seconds)
    stage.quiet(dice.between(3, 6))
    called = (reader.name, groups.name)
    return Expected((Cause("memory-reclaim", called, victims=(victim.name,)),))


def big_file(stage: Stage, mebibytes: int) -> os.PathLike[str]:
    path = stage.folder / stage.dice.name()
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(b"x" * MIB)
        os.fsync(file.fileno())
        # Whoever reads it first pays for it.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path
