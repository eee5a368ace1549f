"""The kernel's functions around a system call proper. Pure."""

from __future__ import annotations

from collections.abc import Iterable

# Frames between user space and the system call proper, and on the way back: they say nothing.
_ENTRY = (
    "entry_", "do_syscall", "x64_sys_call", "el0", "el0t", "invoke_syscall", "do_el0_svc",
    "syscall_", "__syscall", "ret_from_", "exit_to_user_mode", "asm_", "exc_", "sysret",
    "irqentry_", "do_fast_syscall", "int80", "swapgs_",
)  # fmt: skip


def inside(functions: Iterable[str]) -> list[str]:
    """Those that say what the call was, in the same order."""
    return [name for name in functions if not name.startswith(_ENTRY)]
