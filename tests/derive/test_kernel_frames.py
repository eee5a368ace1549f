from __future__ import annotations

import pytest

from exhume.derive.kernel_frames import IDLE_LOOP, is_idle_loop, kernel_mode
from exhume.model.stack import Frame, FrameKind, Mode

# Leaves of samples of the idle task: x86 bare metal, KVM, Xen, TDX; arm64; s390, POWER, arm.
IDLE_LEAVES = [
    "acpi_idle_do_entry", "acpi_safe_halt", "cpu_idle_poll", "cpuidle_enter_state", "default_idle",
    "default_idle_call", "do_idle", "intel_idle", "intel_idle_irq", "intel_idle_ibrs",
    "mwait_idle", "native_safe_halt", "poll_idle", "pv_native_safe_halt", "psci_enter_idle_state",
    "xen_safe_halt", "arch_cpu_idle", "cpu_do_idle", "cpu_startup_entry", "default_enter_idle",
    "acpi_idle_lpi_enter", "c1e_idle", "cpuidle_idle_call", "__cpuidle_text_start",
    "enabled_wait", "psw_idle", "snooze_loop", "shared_cede_loop", "cpu_v7_do_idle",
]  # fmt: skip

# Leaves of work that interrupted the idle task, or of the switch away from it: the evidence.
WORK_ON_AN_IDLE_CORE = [
    "_raw_spin_unlock_irqrestore", "ena_clean_tx_irq", "ena_io_poll", "finish_task_switch",
    "handle_softirqs", "__do_softirq", "napi_complete_done", "net_rx_action",
    "run_rebalance_domains",
    "scheduler_tick", "hrtimer_interrupt", "rcu_core", "tick_nohz_idle_exit", "schedule_idle",
    "update_blocked_averages", "mem_cgroup_nr_lru_pages", "flush_smp_call_function_queue",
    "intel_pmu_handle_irq", "irq_enter_rcu", "tick_irq_enter", "try_to_wake_up",
]  # fmt: skip


def mode(name: str, kind: FrameKind = FrameKind.KERNEL) -> Mode | None:
    return kernel_mode(Frame(name, "kernel", kind))


@pytest.mark.parametrize("leaf", IDLE_LEAVES)
def test_the_idle_loop_itself_is_idle(leaf: str) -> None:
    assert is_idle_loop(leaf)


@pytest.mark.parametrize(
    "leaf",
    ["mwait_idle_with_hints.constprop.0", "intel_idle.isra.0", "cpu_idle_poll.llvm.1234567890",
     "acpi_safe_halt.part.0", "cpuidle_enter_state.cold"],
)  # fmt: skip
def test_a_clone_of_the_idle_loop_is_idle_too(leaf: str) -> None:
    assert is_idle_loop(leaf)
    assert not is_idle_loop(f"not_{leaf}")


@pytest.mark.parametrize("leaf", WORK_ON_AN_IDLE_CORE)
def test_work_on_an_idle_core_is_not(leaf: str) -> None:
    assert not is_idle_loop(leaf)


def test_no_frame_of_the_idle_loop_says_that_an_interrupt_ran() -> None:
    assert {name: mode(name) for name in IDLE_LOOP if mode(name) is not None} == {}


@pytest.mark.parametrize(
    "name",
    [
        "handle_softirqs",
        "handle_softirqs.isra.0",
        "__do_softirq",
        "do_softirq",
        "do_softirq_own_stack",
        "run_ksoftirqd",
    ],
)
def test_softirqs_are_told_by_their_entry(name: str) -> None:
    assert mode(name) == Mode.SOFTIRQ


@pytest.mark.parametrize(
    "name",
    [
        "asm_common_interrupt", "common_interrupt", "__common_interrupt",
        "asm_sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt",
        "asm_sysvec_call_function_single", "sysvec_reschedule_ipi",
        "apic_timer_interrupt", "smp_apic_timer_interrupt", "do_IRQ", "ret_from_intr",
        "handle_irq_event_percpu", "__handle_irq_event_percpu", "handle_edge_irq",
        "handle_fasteoi_irq", "el1_irq", "el1h_64_irq", "el0t_64_irq", "el1_interrupt",
        "gic_handle_irq", "exc_nmi", "reschedule_interrupt", "fred_extint",
    ],
)  # fmt: skip
def test_hardware_interrupts_are_told_by_their_entry(name: str) -> None:
    assert mode(name) == Mode.IRQ


@pytest.mark.parametrize(
    "name",
    [
        "irq_exit_rcu", "__irq_exit_rcu", "irq_exit", "_raw_spin_lock_irqsave", "local_bh_enable",
        "do_IRQ_stub_for_tests", "softirq_init", "sys_read", "entry_SYSCALL_64_after_hwframe",
        "exc_page_fault", "asm_exc_page_fault", "handle_mm_fault", "enable_irq",
        "request_threaded_irq",
    ],
)  # fmt: skip
def test_functions_that_only_sound_like_it_do_not_decide(name: str) -> None:
    assert mode(name) is None


@pytest.mark.parametrize("kind", [FrameKind.USER, FrameKind.PROCESS, FrameKind.UNKNOWN])
@pytest.mark.parametrize("name", ["do_softirq", "common_interrupt"])
def test_a_program_cannot_claim_to_be_an_interrupt(kind: FrameKind, name: str) -> None:
    assert mode(name, kind) is None
