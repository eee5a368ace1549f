from __future__ import annotations

import pytest

from exhume.derive.interrupts_off import interrupts_were_off
from exhume.derive.kernel_frames import plain_name
from exhume.model.stack import Frame, FrameKind


@pytest.mark.parametrize(
    "name",
    [
        "_raw_spin_unlock_irqrestore",
        "finish_task_switch.isra.0",
        "__do_softirq",
        "do_softirq.part.0",
    ],
)
def test_a_kernel_leaf_where_interrupts_come_back_on_is_marked(name: str) -> None:
    assert interrupts_were_off(Frame(name, "[kernel]", FrameKind.KERNEL))


def test_a_user_function_of_the_same_name_is_not() -> None:
    assert not interrupts_were_off(Frame("do_softirq", "a.out", FrameKind.USER))
    assert not interrupts_were_off(Frame("cpumask_next", "[kernel]", FrameKind.KERNEL))


def test_suffixes_of_compiler_clones_are_taken_off() -> None:
    assert plain_name("shrink_node.constprop.12.isra.0") == "shrink_node"
    assert plain_name("tcp_v4_rcv.cold") == "tcp_v4_rcv"
    assert plain_name("x.y") == "x.y"
