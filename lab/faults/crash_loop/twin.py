from __future__ import annotations

from lab.expected import Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    """A script that starts several programs a round, hundreds in all; a client of nobody's."""
    dice = stage.dice
    stage.record()
    port = dice.number(20_000, 30_000)
    stage.actor("service", 600, port)
    words = ("127.0.0.1", port, dice.between(0.4, 0.7), stage.log)
    stage.actor("client", *words, name=stage.watched)
    stage.quiet(dice.between(6, 9))
    names = [str(stage.program(dice.name())) for _ in range(3)]
    jobs = "; ".join(f"{name} spin -1 0.02" for name in names)
    seconds = dice.between(25, 35)
    end = f"end=$(($(date +%s) + {int(seconds)}))"
    script = f"{end}; while [ $(date +%s) -lt $end ]; do {jobs}; done"
    stage.spawn(["sh", "-c", script]).wait(120)
    stage.quiet(dice.between(3, 5))
    return Expected()
