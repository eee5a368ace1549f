"""Who had a core in a short window, and for how long without a break."""

from __future__ import annotations

from msgspec import Struct, field

from exhume.model.window import Window


class Occupant(Struct, frozen=True):
    """A process on one core. Shares are of the samples named."""

    comm: str
    """Empty where it is only known that somebody was there."""
    pid: int
    cgroup: str
    unit: str
    container: str
    pod: str
    samples: int
    core_ns: int
    """The core time those samples stand for."""
    share_of_window: float
    """Of the core's time in the window."""
    user_share: float
    softirq_share: float
    """Of its own samples; the rest is the kernel on its behalf."""
    longest_run: Window
    """The longest stretch in which every sample of the core was one thread's of it."""
    frames: dict[str, float] = field(default_factory=dict)
    """Kernel and user functions in its stacks, with the share of its samples that have them."""
    is_kernel_thread: bool = False
    unnamed_share: float = 0.0
    """Of its own samples, those in the kernel that have no function's name there."""
    is_told: bool = False
    """Its functions are of the kernel's own trace, not of samples."""
    others_between: int = 0
    """Samples of other programs from its own first to its last: they had their turns meanwhile."""

    @property
    def turns_of_others(self) -> float:
        """How much they had of that time."""
        return self.others_between / max(1, self.others_between + self.samples)

    @property
    def name(self) -> str:
        return self.comm or "somebody"

    @property
    def is_unnamed(self) -> bool:
        """What it did in the kernel can't be told."""
        return self.unnamed_share >= 0.5

    @property
    def system_share(self) -> float:
        return max(0.0, 1.0 - self.user_share)


class Occupancy(Struct, frozen=True):
    core: int
    window: Window
    samples: int
    occupants: tuple[Occupant, ...]
    """Who had most of it first."""
    softirq_share: float
    """Of the core's time in the window, whoever was interrupted."""


class Hold(Struct, frozen=True):
    """A thread that stayed in the kernel, from its first sample to its last."""

    core: int
    window: Window
    comm: str
    """Empty where the kernel's line does not say who it was."""
    pid: int
    tid: int
    cgroup: str
    is_one_call: bool
    """No sample in between was in user mode or on its way there: as far as samples can tell, it
    was one system call."""
    call: str
    """The kernel function that every one of its stacks has, nearest to the system call."""
    deepest: str
    """The deepest function that nearly all of them have: where the time went."""
    is_alone: bool = True
    """It had the core to itself; otherwise others had their turns on it meanwhile."""
    is_told: bool = False
    """Not sampled: the kernel's line about a stuck core said so, and it began earlier than that."""
    core_ns: int | None = None
    """The core time its samples stand for: less than the window where others had their turns. None
    where it was not sampled."""
    functions: tuple[str, ...] = ()
    """Of the kernel, all that nearly all of them have."""

    @property
    def core_seconds(self) -> float:
        return self.window.seconds if self.core_ns is None else self.core_ns / 1e9
