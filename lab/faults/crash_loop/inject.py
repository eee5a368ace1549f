from __future__ import annotations

from lab.expected import Cause, Expected
from lab.stage import Stage


def act(stage: Stage) -> Expected:
    dice = stage.dice
    stage.record()
    port = dice.number(20_000, 30_000)
    service, supervisor = dice.name(), dice.name()
    program = str(stage.program(service))
    # First it is well; then it lives for a second and stays away for another.
    well = stage.actor("service", 600, port, name=service)
    client = stage.actor(
        "client", "127.0.0.1", port, dice.between(0.4, 0.7), stage.log, name=stage.watched
    )
    stage.quiet(dice.between(12, 18))
    with stage.trouble():
        well.end()
        life, every = dice.between(0.5, 1.0), dice.between(1.5, 2.2)
        seconds = dice.between(68, 75)  # a minute makes a loop
        words = (seconds, every, program, "service", life, port)
        stage.actor("supervise", *words, name=supervisor, at_most=seconds + 5)
        stage.last(seconds)
    stage.quiet(3)
    called = (service, supervisor)
    return Expected((Cause("crash-loop", called, victims=(client.name,)),))
