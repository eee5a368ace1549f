from __future__ import annotations

import pytest

from exhume.derive.backoffs import SIGNATURE
from exhume.derive.units import of_containers
from exhume.model.answers import EventAnswer
from exhume.model.lifecycles import Lifecycle
from tests.derive.lives import event

NAME = "kube-system/agent-x7k2p/agent"


def line(at: float, wait: str = "5m0s", signature: str = SIGNATURE) -> EventAnswer:
    pod = "agent-x7k2p_kube-system(8f0d)"
    return event(
        "job-log", "agent-x7k2p", at, signature=signature, container="agent", pod=pod, wait=wait
    )


def found(*events: EventAnswer) -> list[Lifecycle]:
    return of_containers(events, {}, 600)


def test_a_container_that_the_kubelet_waits_to_start_again_is_a_crash_loop() -> None:
    (one,) = found(*(line(20.0 * n) for n in range(30)))
    assert (one.kind, one.name, one.mark) == ("container", NAME, "crash loop")
    assert one.starts == 0, "the lines don't tell how often it was started"
    assert one.success_percent_of_known_ends is None
    assert one.detail == "CrashLoopBackOff, 5m0s"


def test_its_starts_where_the_runtime_tells_of_them_are_the_same_row() -> None:
    starts = [event("container-start", NAME, at, image="agent:1") for at in (100.0, 400.0)]
    (one,) = found(*starts, *(line(20.0 * n) for n in range(30)))
    assert (one.starts, one.mark, one.detail) == (2, "crash loop", "agent:1")


@pytest.mark.parametrize(
    ("events", "loops"),
    [
        ([line(0, "10s")], False),
        ([line(0, "10s"), line(10, "20s")], False),
        ([line(0, "10s"), line(10, "20s"), line(40, "40s")], True),
        ([line(0, "1m20s")], True),
        ([line(0, signature="kube.probe")], False),
    ],
)
def test_an_end_or_two_are_no_loop_yet(events: list[EventAnswer], loops: bool) -> None:
    assert bool(found(*events)) == loops
