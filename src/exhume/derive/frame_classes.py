"""What each frame of a stack is: a process, user code, the kernel for it, or interrupt work."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from exhume.derive.kernel_frames import kernel_mode
from exhume.model.stack import Frame, FrameKind, Mode


class FrameClass(IntEnum):
    PROCESS = 0
    USER = 1
    KERNEL = 2
    SOFTIRQ = 3
    IRQ = 4
    UNKNOWN = 5


_OF_KIND = {
    FrameKind.PROCESS: FrameClass.PROCESS,
    FrameKind.USER: FrameClass.USER,
    FrameKind.KERNEL: FrameClass.KERNEL,
    FrameKind.UNKNOWN: FrameClass.UNKNOWN,
}
_OF_MODE = {Mode.SOFTIRQ: FrameClass.SOFTIRQ, Mode.IRQ: FrameClass.IRQ}


def frame_classes(parent: Sequence[int], frames: Sequence[Frame]) -> list[FrameClass]:
    """Of each node of a tree whose parents come first. Kernel code below the entry of an interrupt
    is of that interrupt."""
    said = {frame: kernel_mode(frame) for frame in set(frames)}
    found: list[FrameClass] = []
    for above, frame in zip(parent, frames, strict=True):
        own = _OF_KIND[frame.kind]
        mode = said[frame]
        if mode is not None:
            own = _OF_MODE[mode]
        elif own == FrameClass.KERNEL and above >= 0 and found[above] in _OF_MODE.values():
            own = found[above]
        found.append(own)
    return found
