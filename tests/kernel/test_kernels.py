"""Kernels and users that allow less: it records what it can, and says what it can't."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec import Struct

from exhume.store.queries import core_times, series, top
from tests.kernel.conftest import CORE
from tests.kernel.node import EXHUME, Node, needs_root, window
from tests.kernel.programs import Programs, Ran

pytestmark = [pytest.mark.kernel, needs_root]

WRAPPED = """
import errno, os, sys
from pathlib import Path
from exhume.host import Host
from exhume.perf.attr import Flag, SampleType
from exhume.record import session
from exhume.record.recorder import Options
from exhume.record.report import Retention
from exhume.sampler.syscall import perf_event_open

def fail(code):
    raise OSError(code, os.strerror(code))

def no_events(attr, pid, cpu):
    "A kernel without CONFIG_PERF_EVENTS, or a seccomp filter."
    fail(errno.ENOSYS)

def linux_5_4(attr, pid, cpu):
    "The story's own: no cgroups (5.7)."
    if attr.flags & Flag.CGROUP or attr.sample_type & SampleType.CGROUP:
        fail(errno.EINVAL)
    return perf_event_open(attr, pid, cpu)

def linux_3_16(attr, pid, cpu):
    "Nor ksymbol (5.1), nor another clock than perf's own (4.1)."
    if attr.flags & (Flag.KSYMBOL | Flag.USE_CLOCKID):
        fail(errno.EINVAL)
    return linux_5_4(attr, pid, cpu)

options = Options(Path(sys.argv[2]))
settings = session.Settings(options, Retention(10**15, 1 << 30, 1 << 30))
session.record(settings, Host(), globals()[sys.argv[1]])
"""
KERNELS = ("no_events", "linux_5_4", "linux_3_16")
NOBODY = 65534


class Old(Struct, frozen=True):
    nodes: dict[str, Node]
    spin: Ran


@pytest.fixture(scope="module")
def old(
    events_are_allowed: None, programs: Programs, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Old]:
    """All of them at once, watching the same process."""
    folder = tmp_path_factory.mktemp("kernels")
    command = (sys.executable, "-c", WRAPPED)
    nodes = {name: Node(folder / name, (*command, name)) for name in KERNELS}
    with ExitStack() as stack:
        for node in nodes.values():
            stack.callback(node.kill)
            node.launch()
        for node in nodes.values():
            node.wait_for_first_second()
        time.sleep(1)
        spin = programs.run("xh_spinner", "spin", 2.0, CORE)
        for node in nodes.values():
            node.wait_until_recorded(time.time() + 1)  # and its symbols
        yield Old(nodes, spin)


def test_where_perf_events_are_refused_counters_go_on(old: Old) -> None:
    node = old.nodes["no_events"]
    spin = window(old.spin.began, old.spin.seconds)
    assert top(node.recording(), spin).samples == 0
    times = {times.core: times for times in core_times(node.recording(), spin)}
    assert times[CORE].user_percent > 50
    status = node.status()
    assert (status["state"], status["event"], status["cores_sampled"]) == ("running", "none", 0)
    assert "Function not implemented" in status["missing"][0]["why"]
    text = node.exhume("status").stdout
    assert "only counters are recorded" in text
    assert "CONFIG_PERF_EVENTS" in text


@pytest.mark.parametrize("kernel", ["linux_5_4", "linux_3_16"])
def test_an_old_kernel_gives_names_all_the_same(kernel: str, old: Old) -> None:
    node, spin = old.nodes[kernel], old.spin
    inner = window(spin.began + 0.2, spin.seconds - 0.4)
    answer = top(node.recording(), inner)
    row = next(row for row in answer.processes if row.comm == "xh_spinner")
    assert row.cores == (CORE,)
    assert row.percent_of_one_core == pytest.approx(spin.percent_of_one_core, abs=20)
    assert row.cgroup  # from /proc: its samples don't say
    frames = {r.frame.name: r for r in answer.frames if r.frame.module == "xh_spinner"}
    assert frames["exhume_spin_here"].inclusive_percent_of_one_core > 0.9 * row.percent_of_one_core
    assert frames["main"].inclusive_percent_of_one_core > 0.9 * row.percent_of_one_core


@pytest.mark.parametrize("kernel", ["linux_5_4", "linux_3_16"])
def test_its_times_are_right_whatever_clock_they_came_on(kernel: str, old: Old) -> None:
    node, spin = old.nodes[kernel], old.spin
    for start, seconds in ((spin.began - 1.05, 1.0), (spin.ended + 0.05, 0.8)):
        rows = top(node.recording(), window(start, seconds), limit=1000).processes
        assert "xh_spinner" not in {row.comm for row in rows}


@pytest.mark.parametrize(
    ("kernel", "versions"),
    [("linux_5_4", {"5.7"}), ("linux_3_16", {"5.7", "5.1", "4.1"})],
)
def test_what_it_does_not_offer_is_said_with_the_version_that_does(
    kernel: str, versions: set[str], old: Old
) -> None:
    status = old.nodes[kernel].status()
    remedies = {entry["remedy"] for entry in status["missing"]}
    assert {f"Linux {version} or newer" for version in versions} <= remedies


# --- without capabilities ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def unprivileged() -> Iterator[Node]:
    """As user nobody; where nobody may not run this Python, as root without any capability."""
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    folder = Path(tempfile.mkdtemp(prefix="exhume-test-"))
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    naked = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    looks = [*nobody, sys.executable, "-c", "import argparse, numpy, exhume.cli.main"]
    may_run = subprocess.run(looks, capture_output=True, check=False).returncode == 0
    if may_run:
        os.chown(folder, NOBODY, NOBODY)
    node = Node(folder / "data", prefix=nobody if may_run else naked)
    try:
        node.start()
        yield node
    finally:
        node.kill()
        shutil.rmtree(folder)


def test_without_capabilities_per_core_times_are_recorded_and_samples_are_not(
    unprivileged: Node,
) -> None:
    time.sleep(2.2)
    unprivileged.wait_until_recorded()
    recording = unprivileged.recording()
    everything = recording.window()
    idle = series(recording, "cpu.idle", everything)
    assert {answer.instance for answer in idle} >= {"0"}
    assert min(len(answer.values) for answer in idle) >= 3
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() != "-1":
        assert top(recording, everything).samples == 0


def test_status_says_which_capability_gives_what(unprivileged: Node) -> None:
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() == "-1":
        pytest.skip("kernel.perf_event_paranoid is -1: everybody may")
    command = [*unprivileged.prefix, *EXHUME, "status", "--data", str(unprivileged.data)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    text = " ".join(run.stdout.split())
    assert "only counters are recorded" in text
    assert "perf_event_open was refused (kernel.perf_event_paranoid is" in text
    for capability in ("PERFMON", "SYSLOG", "SYS_PTRACE", "DAC_READ_SEARCH", "IPC_LOCK"):
        assert f"the recorder lacks CAP_{capability}" in text
    assert "the names of kernel functions" in text


def test_a_directory_of_somebody_else_is_refused(unprivileged: Node) -> None:
    command = [*unprivileged.prefix, *EXHUME, "record", "--data", "/sys/kernel/debug/nope"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 77
    assert len(run.stderr.splitlines()) == 2


def test_it_stops_as_asked(unprivileged: Node) -> None:
    assert unprivileged.stop() < 2
    assert unprivileged.process is not None
    assert unprivileged.process.returncode == 0
