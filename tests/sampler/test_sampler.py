from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from exhume.host import SystemClock
from exhume.perf.attr import MISC_MMAP_BUILD_ID, Attr, Flag, RecordType
from exhume.perf.datafile import PerfData
from exhume.sampler import sampler as sampler_module
from exhume.sampler.kernel_clock import KernelClock
from exhume.sampler.sampler import Drained
from exhume.sampler.syscall import OpenEvent, perf_event_open
from tests.sampler.kernels import kernel, needs_kernel, older, without_flag, without_pmu
from tests.sampler.scene import BUSY_CORE, CORES, open_fds, sampling

pytestmark = needs_kernel

MS = 1_000_000
SPIN = "import time\nend = time.monotonic() + 120\nwhile time.monotonic() < end: pass"


@contextmanager
def spinning(core: int) -> Iterator[int]:
    """A process that keeps a core busy; it would end by itself, too."""
    child = subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", SPIN])
    try:
        time.sleep(0.15)  # past exec and start-up
        yield child.pid
    finally:
        child.kill()
        child.wait()


@pytest.fixture(scope="module")
def spinner() -> Iterator[int]:
    with spinning(BUSY_CORE) as pid:
        yield pid


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def on(drained: Drained, core: int) -> int:
    return int((drained.samples.cpu == core).sum())


def rename_self() -> tuple[int, int]:
    """Has the kernel write a COMM record of this thread; the instants before and after."""
    libc = ctypes.CDLL(None)
    name = ctypes.create_string_buffer(16)
    libc.prctl(16, name, 0, 0, 0)
    before = now()
    libc.prctl(15, name, 0, 0, 0)
    return before, now()


def own_comm_time(drained: Drained) -> int:
    mine = drained.comms.tid == os.getpid()
    assert mine.sum() == 1
    return int(drained.comms.time[mine][0])


# Kernels of every age give the same samples; only what is told beside them differs.
KERNELS: dict[str, Callable[[], OpenEvent]] = {
    "this kernel": lambda: kernel(real=True),
    "without a pmu": lambda: kernel(without_pmu, real=True),
    "a 5.4 kernel": lambda: kernel(*older(5, 4), real=True),
    "a 3.10 kernel": lambda: kernel(*older(3, 10), real=True),
}


@pytest.mark.parametrize("age", KERNELS)
def test_a_spinning_process_is_sampled_on_its_core_and_at_its_time(age: str, spinner: int) -> None:
    begin = now()
    with sampling(open_event=KERNELS[age]()) as sampler:
        if not sampler.offer.has_monotonic_times:
            pair = KernelClock(SystemClock()).pair()
            assert pair.kernel_log_ns is not None
            sampler.clock_offset_ns = pair.monotonic_ns - pair.kernel_log_ns
        time.sleep(0.3)
        drained = sampler.drain()
    end = now()
    samples = drained.samples
    mine = samples.pid == spinner
    assert mine.sum() >= 3  # of 120: others may want the core, too
    assert set(samples.cpu[mine].tolist()) == {BUSY_CORE}
    assert set(samples.tid[mine].tolist()) == {spinner}
    assert set(samples.cpu.tolist()) <= set(CORES)
    times = samples.time.astype(np.int64)
    slack = 0 if sampler.offer.has_monotonic_times else MS
    assert begin - slack <= times.min()
    assert times.max() <= end + slack
    # Stacks are told once, in the order of their ids, and hold the leaf of their samples.
    assert len(drained.word_count) == int(samples.stack.max()) + 1
    starts = np.cumsum(drained.word_count) - drained.word_count
    assert (drained.words[starts[samples.stack] + 1] == samples.ip).all()


def test_a_new_process_is_heard_of_from_fork_to_exit(spinner: int) -> None:
    with sampling() as sampler:
        sampler.drain()
        sampler.forget_files()  # somebody else may have started it, too
        before = now()
        child = subprocess.Popen(["/bin/true"])
        child.wait()
        after = now()
        drained = sampler.drain()
    forked, left = drained.forks.pid == child.pid, drained.exits.pid == child.pid
    comms = drained.comms
    started = (comms.pid == child.pid) & comms.is_exec
    assert (forked.sum(), left.sum(), started.sum()) == (1, 1, 1)
    assert drained.forks.parent_pid[forked].tolist() == [os.getpid()]
    assert comms.comm[started].tobytes().rstrip(b"\0") == b"true"
    moments = [before, drained.forks.time[forked][0], comms.time[started][0]]
    moments += [drained.exits.time[left][0], after]
    assert moments == sorted(moments)
    mapped = set(drained.mappings.file_hash[drained.mappings.pid == child.pid].tolist())
    files = {hash_: identity for hash_, _, identity in drained.files}
    assert mapped <= set(files)
    (binary,) = [files[hash_] for hash_ in mapped if files[hash_].path.endswith("/true")]
    assert binary.build_id == b""
    assert binary.device_inode[2] == Path("/bin/true").stat().st_ino


def test_on_a_5_4_kernel_samples_have_no_cgroup() -> None:
    with sampling(open_event=KERNELS["a 5.4 kernel"]()) as sampler, spinning(BUSY_CORE):
        drained = sampler.drain()
    assert len(drained.samples)
    assert not drained.samples.cgroup.any()


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed (apt: linux-perf)")
def test_somebody_who_runs_perf_meanwhile_is_not_told_build_ids(tmp_path: Path) -> None:
    """Which nobody asked for: what is there instead is no build id, and perf 6.1 dies of it."""
    out = tmp_path / "beside.data"
    with sampling():
        perf = ["perf", "record", "-e", "cpu-clock", "-o", str(out), "--", "/bin/true"]
        done = subprocess.run(perf, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = PerfData(lambda: out.open("rb", buffering=0), str(out))
    records = [walked.records for walked in data.walks()]
    misc = np.concatenate([one.misc[one.type == RecordType.MMAP2] for one in records])
    assert len(misc)
    assert not (misc & MISC_MMAP_BUILD_ID).any()


def test_files_are_told_once_until_they_are_asked_for_again() -> None:
    with sampling() as sampler:

        def binaries() -> int:
            subprocess.run(["/bin/true"], check=True)
            return sum(f.path.endswith("/true") for _, _, f in sampler.drain().files)

        assert [binaries(), binaries()] == [1, 0]
        sampler.forget_files()
        assert binaries() == 1


def test_times_are_within_what_the_clock_said_before_and_after() -> None:
    with sampling() as sampler:
        before, after = rename_self()
        assert before <= own_comm_time(sampler.drain()) <= after


def test_without_a_clock_id_the_offset_makes_times_right_to_a_millisecond() -> None:
    with sampling(open_event=kernel(without_flag(Flag.USE_CLOCKID), real=True)) as sampler:
        assert not sampler.offer.has_monotonic_times
        pair = KernelClock(SystemClock()).pair()
        assert pair.kernel_log_ns is not None
        sampler.clock_offset_ns = pair.monotonic_ns - pair.kernel_log_ns
        sampler.drain()
        before, after = rename_self()
        child = subprocess.Popen(["/bin/true"])
        child.wait()
        ended = now()
        drained = sampler.drain()
        drained_by = now()
        assert before - MS <= own_comm_time(drained) <= after + MS
        for table in (drained.forks, drained.exits, drained.mappings):
            of_child = table.time[table.pid == child.pid]
            assert len(of_child)
            assert before - MS <= of_child.min() <= of_child.max() <= ended + MS
        assert (drained.samples.time.astype(np.int64) <= drained_by + MS).all()
        # The same again, 3 s off: what the offset moves, it moves by just as much.
        sampler.clock_offset_ns += 3_000 * MS
        rename_self()
        shifted = own_comm_time(sampler.drain())
    assert 3_000 * MS <= shifted - before <= 4_000 * MS


def test_a_change_of_rate_changes_how_many_samples_come(spinner: int) -> None:
    with sampling([BUSY_CORE], hz=100) as sampler:
        counts = []
        for hz in (100, 800):
            sampler.set_rate(hz)
            sampler.drain()
            begin = now()
            time.sleep(0.5)
            counts.append(on(sampler.drain(), BUSY_CORE) / (now() - begin) * 1e9)
        # A core that is watched from now on has the new rate at once.
        sampler.watch([])
        sampler.drain()
        sampler.watch([BUSY_CORE])
        begin = now()
        time.sleep(0.3)
        counts.append(on(sampler.drain(), BUSY_CORE) / (now() - begin) * 1e9)
    assert 60 <= counts[0] <= 140
    assert all(480 <= count <= 1120 for count in counts[1:])


def test_a_ring_that_overflows_says_how_much_was_lost_and_on_which_core(
    spinner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_module, "SMALLEST_SAMPLE_RING", 4096)
    monkeypatch.setattr(sampler_module, "LARGEST_SAMPLE_RING", 4096)
    with sampling([BUSY_CORE], hz=2000) as sampler:
        assert sampler.ring_bytes == 4096
        begin = now()
        time.sleep(0.3)  # 600 samples; the ring has room for some 40
        drains = [sampler.drain()]
        assert 0 < on(drains[0], BUSY_CORE) * 24 <= 4096
        time.sleep(0.05)  # the kernel tells of a loss with the next sample that it writes
        drains.append(sampler.drain())
        taken = (now() - begin) / 1e9 * 2000
    assert {core for drained in drains for core in drained.lost_samples} == {BUSY_CORE}
    lost = sum(drained.lost_samples.get(BUSY_CORE, 0) for drained in drains)
    assert lost > 300
    assert 0.6 * taken <= lost + sum(on(d, BUSY_CORE) for d in drains) <= 1.4 * taken
    assert [drained.lost_sideband for drained in drains] == [{}, {}]


def test_stack_ids_go_on_from_drain_to_drain_until_they_are_forgotten(spinner: int) -> None:
    with sampling([BUSY_CORE]) as sampler:
        time.sleep(0.1)
        first = sampler.drain()
        time.sleep(0.1)
        second = sampler.drain()
        assert sampler.stack_count == len(first.word_count) + len(second.word_count)
        sampler.forget_stacks()
        time.sleep(0.1)
        third = sampler.drain()
    assert int(third.samples.stack.min()) == 0
    assert len(third.word_count) == int(third.samples.stack.max()) + 1


# --- cores come and go -------------------------------------------------------------------------


def test_what_a_core_wrote_before_it_went_is_still_read(spinner: int) -> None:
    before = open_fds()
    with sampling() as sampler:
        with_all = open_fds()
        time.sleep(0.2)
        child = subprocess.Popen(["taskset", "-c", str(BUSY_CORE), "/bin/true"])
        child.wait()
        assert sampler.watch(CORES[:-1]) == ()
        assert sampler.cores == tuple(CORES[:-1])
        drained = sampler.drain()
        assert on(drained, BUSY_CORE) > 0
        assert child.pid in drained.exits.pid.tolist()
        assert open_fds() - before == (with_all - before) // len(CORES) * len(CORES[:-1])
        time.sleep(0.1)
        assert on(sampler.drain(), BUSY_CORE) == 0
        assert sampler.watch(CORES) == ()
        time.sleep(0.1)
        assert on(sampler.drain(), BUSY_CORE) > 0
    assert open_fds() == before


def test_a_core_that_is_gone_again_is_named_and_the_others_are_watched() -> None:
    with sampling([]) as sampler:
        assert sampler.watch([*CORES, 8191]) == (8191,)
        assert sampler.cores == tuple(CORES)


@pytest.mark.parametrize("code", [errno.ENODEV, errno.EMFILE])
def test_a_core_whose_side_band_fails_is_not_left_half_open(code: int) -> None:
    def open_event(attr: Attr, pid: int, cpu: int) -> int:
        # The probe opens each event on the first core; the trouble begins on the last.
        if attr.flags & Flag.COMM and cpu == BUSY_CORE and trouble:
            raise OSError(code, os.strerror(code))
        return perf_event_open(attr, pid, cpu)

    trouble = False
    with sampling([], open_event=open_event) as sampler:
        before = open_fds()
        trouble = True
        if code == errno.ENODEV:
            assert sampler.watch([BUSY_CORE]) == (BUSY_CORE,)
        else:
            with pytest.raises(OSError, match=os.strerror(code)):
                sampler.watch([BUSY_CORE])
        assert (sampler.cores, open_fds()) == ((), before)
        trouble = False
        assert sampler.watch([BUSY_CORE]) == ()
        assert sampler.cores == (BUSY_CORE,)


def test_draining_with_no_core_at_all_gives_nothing() -> None:
    with sampling([]) as sampler:
        drained = sampler.drain()
    assert len(drained.samples) == len(drained.words) == len(drained.comms.time) == 0
    assert drained.lost_samples == {}
