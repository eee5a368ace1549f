from __future__ import annotations

import subprocess

from lab.expected import Cause, Expected
from lab.network import receive_on, veth_pair
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice = stage.dice
    core, elsewhere = dice.cores(2)
    pair = veth_pair(stage)
    receive_on(pair, core)
    port = dice.number(20_000, 60_000)
    taps = dice.number(60, 100)
    sink = stage.actor(
        "sink", taps, port, inside=pair.inside(pair.receiver), stdout=subprocess.PIPE
    )
    assert sink.process.stdout is not None
    sink.process.stdout.readline()
    stage.record()
    every, work = dice.between(0.8, 1.1), dice.between(0.15, 0.2)
    victim = stage.daemon(core, every, work, limit=1.2)
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        seconds = dice.between(12, 16)
        blaster = stage.actor(
            "blast", pair.address, port, seconds, elsewhere, 0,
            inside=pair.inside(pair.sender), at_most=seconds + 3,
        )  # fmt: skip
        stage.last(seconds)
    stage.quiet(dice.between(4, 7))
    called = (blaster.name, "xh0", sink.name)
    return Expected((Cause("softirq-flood", called, victims=(victim.name,), core=core),))
