"""/proc/PID/stat: name, state, times and the core a process or thread last ran on."""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host, read_line

PATH = "proc/PID/stat"
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD; nobody in user space can set it
_COLUMNS = 39  # from the state to the policy, which is there since 2.5.19
_DEADLINE = 6  # SCHED_DEADLINE
_MOST = 1 << 63


class ProcessStat(Struct, frozen=True):
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
    real_time_priority: int
    """Of the main thread: 1 to 99, 100 for a deadline thread, which is above them, 0 for others."""


class Usage(Struct, frozen=True):
    """The part that is asked of every process."""

    state: str
    is_kernel_thread: bool
    start_jiffies: int
    used_jiffies: int
    """User and system, all threads."""


def read(host: Host, pid: int) -> ProcessStat | None:
    """None when there is no such process (any more)."""
    data = read_line_of(host, pid)
    return parse(data) if data else None


def read_line_of(host: Host, pid: int) -> bytes | None:
    return read_line(f"{host.proc}/{pid}/stat")


def parse(text: bytes) -> ProcessStat:
    opening, closing, columns = _cut(text)
    try:
        # Parents and groups outside this pid namespace are 0.
        numbers = [int(columns[index]) for index in (1, 6, 7, 9, 11, 12, 17, 19, 36, 37, 38)]
        parent, flags, minor, major, user, system, threads, start, core, priority, policy = numbers
        pid = int(text[:opening])
    except ValueError:
        raise _broken() from None
    if min(numbers) < 0 or max(numbers) >= _MOST or not text[:opening].isdigit():
        raise _broken()
    return ProcessStat(
        pid=pid,
        comm=text[opening + 2 : closing].decode("utf-8", "replace"),
        state=chr(text[closing + 2]),
        parent_pid=parent,
        is_kernel_thread=bool(flags & _KERNEL_THREAD),
        minor_faults_total=minor,
        major_faults_total=major,
        user_jiffies=user,
        system_jiffies=system,
        threads=threads,
        start_jiffies=start,
        core=core,
        real_time_priority=100 if policy == _DEADLINE else priority,
    )


def parse_usage(text: bytes) -> Usage:
    _, closing, columns = _cut(text)
    try:
        flags, user, system, start = [int(columns[index]) for index in (6, 11, 12, 19)]
    except ValueError:
        raise _broken() from None
    if min(flags, user, system, start) < 0 or max(user, system, start) >= _MOST:
        raise _broken()
    return Usage(chr(text[closing + 2]), bool(flags & _KERNEL_THREAD), start, user + system)


def _cut(text: bytes) -> tuple[int, int, list[bytes]]:
    """Where the name begins and ends, and the columns from the state on: digits and signs."""
    # The name may hold anything, `) R 1` included: it ends at the last parenthesis.
    opening, closing = text.find(b" ("), text.rfind(b") ")
    columns = text[closing + 2 :].split()
    if opening < 0 or closing < opening or len(columns) < _COLUMNS or len(columns[0]) != 1:
        raise _broken()
    # All at once: `int` alone would take `1_0` and `+1`.
    if text[closing + 3 :].translate(None, b"0123456789- \n"):
        raise _broken()
    return opening, closing, columns


def _broken() -> ParseError:
    return ParseError(PATH, 1, f"`pid (comm) state …`, {_COLUMNS + 2} columns or more")


def state_of(text: bytes) -> str:
    """The state alone: what is asked of a hundred threads every second."""
    at = text.rfind(b") ") + 2
    if at < 2 or at >= len(text):
        raise ParseError("proc/PID/stat", 1, "`pid (comm) state …`")
    return chr(text[at])
