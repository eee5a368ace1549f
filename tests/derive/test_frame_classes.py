from __future__ import annotations

from exhume.derive.frame_classes import FrameClass, frame_classes
from exhume.model.stack import Frame, FrameKind


def kernel(name: str) -> Frame:
    return Frame(name, "[kernel]", FrameKind.KERNEL)


def test_kernel_code_below_an_interrupts_entry_is_of_that_interrupt() -> None:
    frames = (
        Frame("", "", FrameKind.UNKNOWN),
        Frame("python", "", FrameKind.PROCESS),
        Frame("main", "python", FrameKind.USER),
        kernel("do_syscall_64"),
        kernel("asm_common_interrupt"),
        kernel("ena_intr_msix_io"),
        kernel("handle_softirqs"),
        kernel("ena_io_poll"),
    )
    found = frame_classes([-1, 0, 1, 2, 3, 4, 5, 6], frames)
    assert found[1:] == [
        FrameClass.PROCESS,
        FrameClass.USER,
        FrameClass.KERNEL,
        FrameClass.IRQ,
        FrameClass.IRQ,
        FrameClass.SOFTIRQ,
        FrameClass.SOFTIRQ,
    ]


def test_a_brother_of_an_interrupt_is_not_of_it() -> None:
    frames = (
        Frame("", "", FrameKind.UNKNOWN),
        Frame("python", "", FrameKind.PROCESS),
        kernel("asm_common_interrupt"),
        kernel("vfs_read"),
        Frame("[unknown]", "", FrameKind.UNKNOWN),
    )
    found = frame_classes([-1, 0, 1, 1, 2], frames)
    assert found[2:] == [FrameClass.IRQ, FrameClass.KERNEL, FrameClass.UNKNOWN]
