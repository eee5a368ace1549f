"""Every source can hang, return garbage or vanish while recording: the others keep their pace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exhume.record import sources
from exhume.record.lanes import Source
from exhume.sources import ethtool, processes
from tests.evidence.faults import (
    Illness,
    OfDriver,
    OfFile,
    OfServer,
    Patient,
    answer_docker,
    answer_systemd,
    machine,
)
from tests.sources.test_ethtool import STATS, FakeDriver

pytestmark = pytest.mark.kernel
SECOND_NS = 1_000_000_000
PHASES = (("hang", 5.6), ("babble", 2.6), ("vanish", 2.6))
WELL_SECONDS = 2.6
"""Before each of them, and after the last."""
SHARED = {"interrupts": ("affinity",)}
"""Sources that read the same file."""


@dataclass(frozen=True)
class Case:
    """A source, the file it lives on, a field that it fills, and how it is when that falls ill."""

    source: str
    file: str = ""
    gone: str = ""
    """What is taken away, where that is more than the file."""
    field: str = ""
    hang: tuple[str, ...] = ("slow",)
    babble: tuple[str, ...] = ("broken",)
    vanish: tuple[str, ...] = ("absent",)
    starts_ill: bool = False
    """It opens its files at the start and keeps them."""


OK = ("ok",)
V1 = "sys/fs/cgroup"
CASES = (
    Case("cpu", "proc/stat", field="cpu.user"),
    Case("softirqs", "proc/softirqs", field="softirq.net_rx"),
    Case("interrupts", "proc/interrupts", field="irq.timer"),
    Case("softnet", "proc/net/softnet_stat", field="softnet.processed"),
    Case("vmstat", "proc/vmstat", field="vm.faults"),
    Case("pressure", "proc/pressure/cpu", "proc/pressure", "pressure.cpu.some_us"),
    # Its files are open: nobody can take them away, and they are opened at the start only.
    Case("netthreads", "proc/10/schedstat", field="netthread.run_ns", vanish=OK, starts_ill=True),
    Case("processes", "proc/5001/stat", vanish=OK),
    # Opened without waiting and kept: it neither hangs nor vanishes.
    Case("kmsg", "dev/kmsg", hang=OK, vanish=OK),
    # Of a log all text is fine. A pipe in its place can't be read from where one was.
    Case("log", "job.log", hang=("broken",), babble=OK, vanish=OK),
    Case("meminfo", "proc/meminfo", field="memory.slab_unreclaimable_bytes"),
    Case("memcg", "proc/cgroups", field="memcg.tracked", vanish=("broken",)),
    Case(
        "memcg-holders", f"{V1}/memory/memory.stat", field="memcg.pinned_shmem_bytes", vanish=OK
    ),
    Case(
        "cpu-bandwidth", f"{V1}/cpu/limited/cpu.stat", field="cgroup.cpu_throttled", vanish=OK
    ),
    Case("affinity", "proc/irq/30/effective_affinity_list", field="irq.core", vanish=OK),
    Case("nic", field="nic.stat"),
    # Both give up by themselves after 2 s.
    Case("units", hang=("broken", "slow"), vanish=("broken",)),
    Case("containers", field="container.total", hang=("broken", "slow")),
)


@dataclass
class Ward:
    patients: dict[str, Patient]
    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    """By phase."""


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """All of them at once, each on a machine of its own; what is slow is asked every second."""
    patch = pytest.MonkeyPatch()
    slow = sources.slow

    def hurried(context: sources.Context) -> list[Source]:
        found = slow(context)
        for source in found:
            source.every_ns = SECOND_NS
        return found

    patch.setattr(sources, "slow", hurried)
    patch.setattr(processes, "ROUND_NS", SECOND_NS // 2)
    folder = tmp_path_factory.mktemp("w")
    ward = Ward({})
    try:
        for case in CASES:
            tree = machine(folder / case.source)
            patient = Patient(case.source, tree, _illness(case, tree.root), folder / f"{case.source}.d")
            ward.patients[case.source] = patient
        driver = ward.patients["nic"].illness
        healthy = FakeDriver(dict(STATS))
        # Which of them asks can't be told from the call: only one has a second card.
        patch.setattr(
            ethtool, "_system_ioctl", lambda i, b: (driver if i == "eth1" else healthy)(_card(i), b)
        )
        for case in CASES:
            if case.starts_ill:
                ward.patients[case.source].illness.hang()
            ward.patients[case.source].start()
        _go_through(ward)
        yield ward
    finally:
        for patient in ward.patients.values():
            patient.stop()
            if isinstance(patient.illness, OfServer):
                patient.illness.close()
        patch.undo()
