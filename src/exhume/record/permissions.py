"""What the recorder may do, and precisely what it loses where it may not."""

from __future__ import annotations

from msgspec import Struct

from exhume.host import Host
from exhume.model.status import Missing


class Capability(Struct, frozen=True):
    name: str
    bit: int
    gives: str


CAPABILITIES = (
    Capability(
        "CAP_PERFMON",
        38,
        "samples of every process and of the kernel (CAP_SYS_ADMIN before Linux 5.8)",
    ),
    Capability("CAP_SYSLOG", 34, "the names of kernel functions, and the kernel log"),
    Capability(
        "CAP_SYS_PTRACE", 19, "names of functions in processes of other users and in containers"
    ),
    Capability(
        "CAP_DAC_READ_SEARCH", 2, "symbol tables of programs that only their owner may read"
    ),
    Capability("CAP_IPC_LOCK", 14, "rings large enough to bridge a stall of 15 s"),
)
_SYS_ADMIN = 21


def effective(host: Host) -> int:
    """The effective capability set of this process."""
    try:
        status = host.read_proc("self/status") or ""
        return int(status.partition("\nCapEff:")[2].split()[0], 16)
    except (OSError, ValueError, IndexError):
        return 0  # not told: say rather too much than too little


def missing(host: Host) -> tuple[Missing, ...]:
    have = effective(host)
    found = []
    for capability in CAPABILITIES:
        is_there = have >> capability.bit & 1
        if capability.name == "CAP_PERFMON":
            is_there |= have >> _SYS_ADMIN & 1
        if not is_there:
            found.append(
                Missing(
                    capability.gives,
                    f"the recorder lacks {capability.name}",
                    f"run as root or grant {capability.name}",
                )
            )
    return tuple(found)


def why_no_samples(host: Host, error: OSError) -> Missing:
    """The kernel refused perf_event_open: what that costs, and what to do."""
    paranoid = (host.read_proc("sys/kernel/perf_event_paranoid") or "").strip()
    what = "samples: who was on which core, in which function (per-core times go on without)"
    if isinstance(error, PermissionError):
        why = f"perf_event_open was refused (kernel.perf_event_paranoid is {paranoid or 'unknown'})"
        return Missing(
            what,
            why,
            "run as root, grant CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), or set "
            "kernel.perf_event_paranoid to -1",
        )
    return Missing(
        what,
        f"this kernel has no usable perf events: {error.strerror}",
        "a kernel with CONFIG_PERF_EVENTS; in a container, a seccomp profile that allows "
        "perf_event_open",
    )
