"""Stacks as a prefix tree: a sample points at the node where its stack ends."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from exhume.model.arrays import I32, U8


class FrameKind(IntEnum):
    PROCESS = 0
    """The first level of every stack: the name of the process."""
    USER = 1
    KERNEL = 2
    UNKNOWN = 3
    """Code nobody could name: `module+0x1f0`, where its function begins if that is known, or a run
    of them folded to `[unknown]`; `[anon]` where a JIT made it."""


class Mode(IntEnum):
    """What a core did at the instant of a sample."""

    USER = 0
    SYSTEM = 1
    SOFTIRQ = 2
    IRQ = 3


class Frame(Struct, frozen=True):
    name: str
    module: str
    kind: FrameKind


class StackTree(Struct, frozen=True):
    """Nodes in breadth-first order (parent[i] < i), so that sums run up the tree in one sweep.

    Node 0 is the root, with no frame (frame 0 is the empty one) and parent -1.
    """

    parent: I32
    frame: I32
    """Index into `frames`."""
    mode: U8
    """The `Mode` of a sample whose stack ends at this node."""
    frames: tuple[Frame, ...]
