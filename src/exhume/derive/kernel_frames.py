"""What the names of kernel functions say about what a core was doing."""

from __future__ import annotations

import re

from exhume.model.stack import Frame, FrameKind, Mode

IDLE_LOOP = frozenset(
    {
        "acpi_idle_do_entry", "acpi_idle_enter", "acpi_idle_enter_bm", "acpi_idle_lpi_enter",
        "acpi_processor_ffh_cstate_enter", "acpi_safe_halt",
        "amd_e400_idle", "arch_cpu_idle", "cpu_do_idle", "cpu_idle", "cpu_idle_poll",
        "cpu_startup_entry", "cpuidle_enter", "cpuidle_enter_state",
        "default_enter_idle", "default_idle", "default_idle_call", "do_idle", "halt_idle",
        "intel_idle", "intel_idle_hlt", "intel_idle_ibrs", "intel_idle_irq", "intel_idle_xstate",
        "io_idle", "mwait_idle", "mwait_idle_with_hints", "native_safe_halt", "poll_idle",
        "psci_enter_idle_state", "pv_native_safe_halt", "tdx_halt", "tdx_safe_halt",
        "xen_hypercall_sched_op", "xen_safe_halt",
        # kernels before 3.10 and 4.6; where the section of idle loops begins has a name of its own
        "acpi_idle_enter_c1", "acpi_idle_enter_simple", "c1e_idle", "call_cpuidle",
        "cpu_idle_loop", "cpuidle_idle_call", "__cpuidle_text_start",
        # arm and arm64, s390, POWER, MIPS, LoongArch
        "cpu_v6_do_idle", "cpu_v7_do_idle", "__psci_enter_domain_idle_state",
        "enabled_wait", "psw_idle", "psw_idle_exit",
        "dedicated_cede_loop", "nap_loop", "shared_cede_loop", "snooze_loop", "stop_loop",
        "__r4k_wait", "r4k_wait", "__arch_cpu_idle",
    }
)  # fmt: skip
"""A sample of the idle task is idle only if its leaf is one of these. Interrupt and softirq work on
top of an idle core has other leaves, and is kept: in the story it is the evidence."""

_CLONE_SUFFIX = re.compile(r"(\.(isra|constprop|cold|llvm|part)(\.\d+)?)+$")


def plain_name(name: str) -> str:
    """A kernel function without the suffixes of the compiler's clones."""
    return _CLONE_SUFFIX.sub("", name)


def is_idle_loop(name: str) -> bool:
    """Also of a clone: Intel's idle cores are in mwait_idle_with_hints.constprop.0 (5.4 on)."""
    return plain_name(name) in IDLE_LOOP


_SOFTIRQ = frozenset(
    {
        "handle_softirqs",  # since 6.10; before, the next one
        "__do_softirq", "do_softirq", "do_softirq_own_stack", "__softirqentry_text_start",
        "run_ksoftirqd",
    }
)  # fmt: skip
_IRQ = re.compile(
    r"^(asm_)?(sysvec_|common_interrupt|fred_|exc_nmi|do_IRQ$|ret_from_intr)|"
    r"^(__)?handle_irq|^handle_(edge|fasteoi|level|percpu)_irq|^__common_interrupt|"
    r"^(el[01]_irq|el[01][th]?_64_irq|el[01]_interrupt|gic_handle_irq|do_interrupt_handler)|"
    r"^(smp_)?apic_timer_interrupt|^smp_call_function_interrupt|^reschedule_interrupt"
)


def kernel_mode(frame: Frame) -> Mode | None:
    """The mode that the code below this frame runs in; None where it does not decide it."""
    if frame.kind != FrameKind.KERNEL:
        return None
    if plain_name(frame.name) in _SOFTIRQ:
        return Mode.SOFTIRQ
    if _IRQ.match(frame.name):
        return Mode.IRQ
    return None
