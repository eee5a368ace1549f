from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from exhume.derive.queues import core_of_thread, crowds, is_network, queues_on
from exhume.model.evidence import IrqLine


def line(queue: int | None, core: int | None, rate: float = 500.0, device: str = "eth0") -> IrqLine:
    name = f"{device}-Tx-Rx-{queue}"
    direction = "tx+rx" if queue is not None else "management"
    return IrqLine(str(30 + (queue or 0)), name, device, queue, direction, core, rate, rate * 2)


def test_queues_spread_over_cores_are_no_crowd() -> None:
    assert crowds([line(queue, queue) for queue in range(8)], 96) == ()


def test_all_queues_on_one_core_are_a_crowd() -> None:
    (found,) = crowds([line(queue, 39) for queue in range(8)], 96)
    assert (found.device, found.core, found.queues, found.of_queues) == ("eth0", 39, 8, 8)
    assert found.percent_of_its_interrupts == pytest.approx(100)


def test_nearly_all_the_work_on_one_core_is_a_crowd_too() -> None:
    lines = [line(0, 5, 9_000.0), line(1, 5, 9_000.0), line(2, 6, 10.0), line(3, 7, 10.0)]
    (found,) = crowds(lines, 8)
    assert (found.core, found.queues, found.of_queues) == (5, 2, 4)


def test_one_busy_queue_is_not_a_crowd_by_itself() -> None:
    assert crowds([line(0, 5, 9_000.0), line(1, 6, 1.0)], 8) == ()


def test_a_card_with_one_queue_has_nothing_to_spread() -> None:
    both = [replace(line(0, 1), direction="tx"), replace(line(0, 1), direction="rx")]
    assert crowds(both, 2) == ()


def test_one_core_a_silent_card_disks_and_unknown_places_are_no_crowds() -> None:
    assert crowds([line(queue, 0) for queue in range(4)], 1) == ()
    assert crowds([line(queue, 0, 0.0) for queue in range(4)], 8) == ()
    assert crowds([replace(line(queue, 0), direction="io") for queue in range(4)], 8) == ()
    assert crowds([line(queue, None) for queue in range(4)], 8) == ()
    assert crowds([line(queue, 0, math.nan) for queue in range(4)], 8) == ()


def test_a_management_interrupt_is_no_queue() -> None:
    assert not is_network(line(None, 3))
    assert queues_on([line(None, 3), line(0, 3), line(1, 3), line(2, 4)], 3) == 2


@pytest.mark.parametrize(
    ("name", "core"),
    [("ksoftirqd/39", 39), ("backlog_napi/3", 3), ("napi/eth0-8193", None), ("irq/38-eth0", None),
     ("ksoftirqd/999999", None), ("ksoftirqd/0 5002", 0)],
)  # fmt: skip
def test_some_threads_belong_to_a_core(name: str, core: int | None) -> None:
    assert core_of_thread(name) == core
