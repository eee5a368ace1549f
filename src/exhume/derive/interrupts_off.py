"""Where time goes that cpu-clock can't see: to the place where interrupts come back on."""

from __future__ import annotations

from exhume.derive.kernel_frames import plain_name
from exhume.model.stack import Frame, FrameKind

INTERRUPTS_COME_BACK = frozenset(
    {
        "_raw_spin_unlock_irqrestore",
        "_raw_spin_unlock_irq",
        "_raw_read_unlock_irqrestore",
        "_raw_read_unlock_irq",
        "_raw_write_unlock_irqrestore",
        "_raw_write_unlock_irq",
        "__raw_spin_unlock_irqrestore",
        "__raw_spin_unlock_irq",
        "raw_spin_rq_unlock_irq",
        "finish_task_switch",
        "finish_lock_switch",
        "handle_softirqs",
        "__do_softirq",
        "__softirqentry_text_start",
        "do_softirq",
        "do_softirq_own_stack",
        "exit_to_user_mode_loop",
        "local_irq_enable",
        "local_irq_restore",
        "raw_local_irq_enable",
        "raw_local_irq_restore",
        "arch_local_irq_enable",
        "arch_local_irq_restore",
        "native_irq_enable",
        "native_restore_fl",
        "pv_native_irq_enable",
        "xen_irq_enable_direct",
        "xen_restore_fl_direct",
    }
)
"""Kernel functions that switch interrupts back on. cpu-clock is a timer interrupt: the time spent
with interrupts off before is charged here, so as a leaf they speak of their caller."""


def interrupts_were_off(leaf: Frame) -> bool:
    return leaf.kind == FrameKind.KERNEL and plain_name(leaf.name) in INTERRUPTS_COME_BACK
