"""/proc/PID/stat: name, state, times and the core a process or thread last ran on."""

from __future__ import annotations

from dataclasses import dataclass

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.sources.scan import number

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD; nobody in user space can set it
_LAST_COLUMN = 36  # processor, counted from the state; there since 2.2


@dataclass(frozen=True, slots=True)
class ProcessStat:
    pid: int
    comm: str
    state: str
    """`R`unning or ready, `S`leeping, `D` uninterruptible, `Z`ombie, `I`dle kernel thread, …"""
    parent_pid: int
    is_kernel_thread: bool
    minor_faults_total: int
    major_faults_total: int
    user_jiffies: int
    """All its threads together."""
    system_jiffies: int
    threads: int
    start_jiffies: int
    """Since boot. With the pid it tells a process from a later one of the same number."""
    core: int


def read(host: Host, pid: int) -> ProcessStat | None:
    """None when there is no such process (any more)."""
    data = read_bytes(host.proc / str(pid) / "stat")
    return parse(data) if data else None


def parse(text: bytes) -> ProcessStat:
    # The name may hold anything, `) R 1` included: it ends at the last parenthesis.
    opening, closing = text.find(b" ("), text.rfind(b") ")
    columns = text[closing + 2 :].split()
    if opening < 0 or closing < opening or len(columns) <= _LAST_COLUMN or len(columns[0]) != 1:
        raise ParseError("proc/PID/stat", 1, "`pid (comm) state …`, 39 columns or more")

    def column(index: int) -> int:
        # Parents and groups outside this pid namespace are 0, sessions may be -1.
        return number(columns[index].removeprefix(b"-"), "proc/PID/stat", f"column {index + 3}")

    return ProcessStat(
        pid=number(text[:opening], "proc/PID/stat", "column 1"),
        comm=text[opening + 2 : closing].decode("utf-8", "replace"),
        state=columns[0].decode("ascii", "replace"),
        parent_pid=column(1),
        is_kernel_thread=bool(column(6) & _KERNEL_THREAD),
        minor_faults_total=column(7),
        major_faults_total=column(9),
        user_jiffies=column(11),
        system_jiffies=column(12),
        threads=column(17),
        start_jiffies=column(19),
        core=column(36),
    )


def state_of(text: bytes) -> str:
    """The state alone: what is asked of a hundred threads every second."""
    at = text.rfind(b") ") + 2
    if at < 2 or at >= len(text):
        raise ParseError("proc/PID/stat", 1, "`pid (comm) state …`")
    return chr(text[at])
