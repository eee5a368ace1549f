"""What is over in less than a second, and what lives for less than one."""

from __future__ import annotations

import pytest

from exhume.model.answers import Filter
from exhume.store.queries import events, sub_second, top
from tests.kernel.conftest import BURST_SECONDS, CORE, Scene
from tests.kernel.node import SECOND, Node, needs_root, wait_for, window

pytestmark = [pytest.mark.kernel, needs_root]
ROWS = 50
HZ = 97


def test_a_burst_of_300_ms_is_in_the_heat_map_where_it_was(node: Node, scene: Scene) -> None:
    """It worked from 0.35 to 0.65 of one second, rows 17 to 32 of 50, unless it was woken late."""
    burst = scene.burst
    began = burst.ended - BURST_SECONDS
    first = int(began) - 1
    around = window(first, 4)
    mine = sub_second(node.recording(), around, ROWS, Filter(comms=("xh_burster",)))
    assert mine.start_ns == first * SECOND
    assert mine.counts.shape == (ROWS, 4)
    rows = slice(int((began - first) * ROWS) - 1, int((burst.ended - first) * ROWS) + 2)
    inside = int(mine.counts.T.reshape(-1)[rows].sum())
    assert inside > 0.6 * HZ * burst.cpu_seconds > 5  # 29 where nobody else wants the core
    assert inside >= int(mine.counts.sum()) - 2  # the odd one when it starts up

    core = sub_second(node.recording(), around, ROWS, Filter(cores=(CORE,)))
    assert (core.counts >= mine.counts).all()


@pytest.mark.parametrize("kind", ["exec", "exit"])
def test_a_crash_loop_shows_by_its_births_and_deaths_whoever_supervises_it(
    kind: str, node: Node, scene: Scene
) -> None:
    loop = window(scene.loop_began, scene.loop_ended - scene.loop_began + 1)
    found = events(node.recording(), loop, (kind,), "xh_crasher")
    assert sum(event.count for event in found) == 20
    assert {event.fields["parent"] for event in found} == {"xh_looper"}
    if kind == "exit":
        lifetimes = [float(event.fields["lifetime_seconds"]) for event in found]
        assert all(0.6 <= lifetime < 3 for lifetime in lifetimes)
    alone = [event for event in found if event.count == 1]
    assert len({event.pid for event in alone}) == len(alone)


def test_names_of_functions_are_known_although_each_lived_for_less_than_a_second(
    node: Node, scene: Scene
) -> None:
    loop = window(scene.loop_began, scene.loop_ended - scene.loop_began + 1)
    crasher = Filter(comms=("xh_crasher",))

    def is_named() -> bool:
        frames = top(node.recording(), loop, filter=crasher).frames
        return any(row.frame.name == "exhume_crash_work" for row in frames)

    wait_for(is_named, 10, "the symbols of a program that crashes")
    answer = top(node.recording(), loop, filter=crasher)
    assert len(answer.processes) > 10
    work = next(row for row in answer.frames if row.frame.name == "exhume_crash_work")
    assert work.inclusive_percent_of_selection > 50
