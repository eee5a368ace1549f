"""What the kernel's own lines tell of who held a core: no more than they say."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from exhume.diagnose.hypotheses import hogs
from exhume.diagnose.judge import case_of
from exhume.diagnose.symptoms import symptoms
from exhume.diagnose.told import told_holds, told_occupant
from exhume.model.answers import EventAnswer
from exhume.model.case import Case
from tests.diagnose.made_up import event, observation, scene


def stuck(signature: str, subject: str, **fields: Any) -> EventAnswer:
    return event(
        60, "kernel-log", subject, "the line", core=7, signature=signature,
        **{"class": "cpu"}, **fields,
    )  # fmt: skip


def told(one: EventAnswer) -> Case:
    seen = observation(events=(one,), holds=told_holds((one,), ()))
    like = symptoms(seen)
    occupant = told_occupant(seen.events, 7, like[0].window)
    assert occupant is not None
    made = scene(seen, like, [occupant], core=7)
    return case_of(seen, made, list(hogs.suspects(made)), (), (), ())


@pytest.mark.parametrize("signature", ["hardlockup", "rcu.self", "rcu.core"])
def test_where_the_line_names_nobody_nobody_is_named(signature: str) -> None:
    case = told(stuck(signature, signature))
    assert case.verdict.root_cause is None
    assert case.verdict.summary == (
        "somebody keeps CPU 7 to itself inside the kernel, and nobody else runs there meanwhile; "
        "who it is is not said"
    )
    assert case.suspects[0].culprit.comm is None
    assert [link.role for link in case.chain] == ["symptom", "mechanism"]
    assert signature not in " ".join(link.claim for link in case.chain)


def test_whom_it_names_is_named() -> None:
    case = told(stuck("hardlockup", "stress", comm="stress", pid=1234))
    assert case.suspects[0].culprit == replace(case.suspects[0].culprit, comm="stress", pid=1234)
    assert case.verdict.summary.startswith("stress keeps CPU 7 to itself")
