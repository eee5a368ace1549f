"""Every source can hang, return garbage or vanish while recording: the others keep their pace."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import pytest
from msgspec import Struct, field

from exhume.record import sources
from exhume.record.lanes import Source
from exhume.sources import ethtool, processes, schedstat
from tests.evidence.faults import (
    Illness,
    OfDevice,
    OfDriver,
    OfFile,
    OfLog,
    OfServer,
    Patient,
    answer_docker,
    answer_systemd,
    machine,
)
from tests.sources.test_ethtool import STATS, FakeDriver
from tests.sources.trees import Tree

pytestmark = pytest.mark.kernel
SECOND_NS = 1_000_000_000
PHASES = (("hang", 6.6), ("babble", 3.1), ("vanish", 3.1))
WELL_SECONDS = 3.1
"""Before each of them, and after the last."""
ILL_CARD = "eth1"
ONLY_THERE = ("units", "containers")
"""Only their own patient has them."""
SHARED = {"interrupts": ("affinity",)}
"""Sources that read the same file."""


class Case(Struct, frozen=True):
    """A source, the file it lives on, a field that it fills, and how it is when that falls ill."""

    source: str
    file: str = ""
    gone: str = ""
    """What is taken away, where that is more than the file."""
    field: str = ""
    hang: tuple[str, ...] = ("slow",)
    babble: tuple[str, ...] = ("broken",)
    vanish: tuple[str, ...] = ("absent",)


OK = ("ok",)
V1 = "sys/fs/cgroup"
SLOW = {
    "meminfo", "memcg", "memcg-holders", "cpu-bandwidth", "affinity", "nic", "units", "containers",
}  # fmt: skip
"""Asked every 10 s, here every second."""
CASES = (
    Case("cpu", "proc/stat", field="cpu.user"),
    Case("softirqs", "proc/softirqs", field="softirq.net_rx"),
    Case("interrupts", "proc/interrupts", field="irq.timer"),
    Case("softnet", "proc/net/softnet_stat", field="softnet.processed"),
    Case("vmstat", "proc/vmstat", field="vmstat.pgfault"),
    Case("pressure", "proc/pressure/cpu", "proc/pressure", "pressure.cpu.some_us"),
    # One thread of many; its files are kept open and, here, looked for every second.
    Case("netthreads", "proc/10/schedstat", field="netthread.run_ns", vanish=OK),
    # Of a program: the kernel's own threads are not looked at in every round.
    Case("processes", "proc/5002/stat", vanish=OK),
    # Opened without waiting and kept: it neither hangs nor vanishes.
    Case("kmsg", "dev/kmsg", hang=OK, vanish=OK),
    # Of a log all text is fine. A pipe in its place can't be read from where one was.
    Case("log", "job.log", hang=("broken",), babble=OK, vanish=OK),
    Case("meminfo", "proc/meminfo", field="memory.slab_unreclaimable_bytes"),
    Case("memcg", "proc/cgroups", field="memcg.tracked", vanish=("broken",)),
    Case("memcg-holders", f"{V1}/memory/memory.stat", field="memcg.pinned_shmem_bytes", vanish=OK),
    Case("cpu-bandwidth", f"{V1}/cpu/limited/cpu.stat", field="cgroup.cpu_throttled", vanish=OK),
    Case("affinity", "proc/irq/30/effective_affinity_list", field="irq.core", vanish=OK),
    Case("nic", field="nic.stat"),
    # Both give up by themselves after 2 s.
    Case("units", hang=("broken", "slow"), vanish=("broken",)),
    Case("containers", field="container.total", hang=("broken", "slow")),
)


class Ward(Struct):
    patients: dict[str, Patient]
    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    """By phase."""
    over: float = 0.0

    def go_through(self) -> None:
        for phase, seconds in PHASES:
            time.sleep(WELL_SECONDS)
            self.began[phase] = time.monotonic()
            for patient in self.patients.values():
                getattr(patient.illness, phase)()
            time.sleep(seconds)
            self.ended[phase] = time.monotonic()
            for patient in self.patients.values():
                patient.illness.heal()
        time.sleep(WELL_SECONDS)
        self.over = time.monotonic()


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """All of them at once, each on a machine of its own; what is slow is asked every second."""
    slow, driver = sources.slow, FakeDriver(dict(STATS))
    folder = tmp_path_factory.mktemp("w")
    ward = Ward({})

    def hurried(context: sources.Context) -> list[Source]:
        found = slow(context)
        for source in found:
            source.every_ns = SECOND_NS
        return found

    def ioctl(interface: str, buffer: ctypes.Array[ctypes.c_char]) -> None:
        ill = ward.patients["nic"].illness
        ask = ill.ioctl if interface == ILL_CARD and isinstance(ill, OfDriver) else driver
        ask("eth0", buffer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "slow", hurried)
        patch.setattr(processes, "ROUND_NS", SECOND_NS // 2)
        patch.setattr(schedstat, "DISCOVERY_NS", SECOND_NS // 2)
        patch.setattr(ethtool, "_system_ioctl", ioctl)
        try:
            for case in CASES:
                tree = machine(folder / case.source)
                illness = _illness(case, tree, driver)
                data = folder / f"{case.source}.data"
                ward.patients[case.source] = Patient(case.source, tree, illness, data)
            for case in CASES:
                ward.patients[case.source].start()
            ward.go_through()
        finally:
            for patient in ward.patients.values():
                patient.illness.heal()
                patient.stop()
                if isinstance(patient.illness, OfServer):
                    patient.illness.close()
        yield ward


def _illness(case: Case, tree: Tree, driver: FakeDriver) -> Illness:
    root = tree.root
    if case.source == "nic":
        tree.network_card(ILL_CARD, "0000:00:06.0", "ena")
        (root / "sys/class/net/eth0/device").unlink()
        return OfDriver(root / "sys/class/net", driver)
    if case.source == "units":
        (root / "run/systemd/system").mkdir(parents=True)
        return OfServer(root / "run/systemd/private", answer_systemd)
    if case.source == "containers":
        return OfServer(root / "run/docker.sock", answer_docker)
    if case.source in ("kmsg", "log"):
        kind = OfDevice if case.source == "kmsg" else OfLog
        return kind(root / case.file)
    return OfFile(root / case.file, root / case.gone if case.gone else None)


def _name(patient: Patient, source: str) -> str:
    return f"log {patient.tree.root / 'job.log'}" if source == "log" else source


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source)
@pytest.mark.parametrize("phase", ["hang", "babble", "vanish"])
def test_its_state_says_so_by_name_and_it_recovers(phase: str, case: Case, ward: Ward) -> None:
    patient = ward.patients[case.source]
    name = _name(patient, case.source)
    ill = patient.states(name, ward.began[phase], ward.ended[phase] + 1)
    expected: tuple[str, ...] = getattr(case, phase)
    assert set(ill) & set(expected), ill
    if expected == OK:
        assert set(ill) == {"ok"}
    begins = [at for at in (*ward.began.values(), ward.over) if at > ward.ended[phase]]
    assert patient.states(name, ward.ended[phase], min(begins))[-1] == "ok"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source)
@pytest.mark.parametrize("phase", ["hang", "babble", "vanish"])
def test_the_others_keep_their_pace(phase: str, case: Case, ward: Ward) -> None:
    patient = ward.patients[case.source]
    began, ended = ward.began[phase] * SECOND_NS, ward.ended[phase] * SECOND_NS
    ticks = [tick for tick in patient.ticks() if began < tick.end_ns <= ended]
    # All of them share two cores: one tick may be late for reasons of the machine's.
    assert len(ticks) >= ward.ended[phase] - ward.began[phase] - 2
    apart = (case.source, *SHARED.get(case.source, ()))
    for other in CASES:
        if not other.field or other.source in (*apart, *ONLY_THERE):
            continue
        found = [other.field in {r.field for r in tick.readings} for tick in ticks]
        if phase == "hang" and SLOW.intersection(apart) and other.source in SLOW:
            # One thread for all of them: it is left behind after 2 s.
            assert any(found[-3:]), other.source
        elif other.source in SLOW:
            # What they bring is taken a second later, and only then they are asked again.
            assert sum(found) >= len(ticks) // 2 - 1, other.source
        else:
            assert sum(found) >= len(ticks) - 1, other.source


def test_nothing_else_was_ever_called_broken(ward: Ward) -> None:
    for patient in ward.patients.values():
        apart = {_name(patient, patient.source), *SHARED.get(patient.source, ())}
        for at, states in patient.notes:
            broken = {name for name, state in states.items() if state == "broken"}
            assert broken <= apart, (patient.source, at)
