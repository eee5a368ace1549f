from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.model.answers import Filter, TopFrame
from exhume.model.event import Event
from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.model.series import Block
from exhume.model.stack import FrameKind
from exhume.store.memory import MemorySegment
from exhume.store.queries import top
from exhume.store.recording import Recording
from tests.store.make import SECOND, START, at, busy_node, by_hand, jiffies


def recording(*parts: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(p) for p in parts], 1 << 20)


def frames(found: tuple[TopFrame, ...]) -> dict[str, object]:
    return {
        f.frame.name: (f.inclusive_percent_of_selection, f.self_percent_of_selection) for f in found
    }


def steady(
    seconds: float, per_second: dict[int, int], thread: int = 0, stack: int = 0, core: int = 0
) -> list[tuple[int, float, int, int]]:
    """So many samples a second, from the second that is the key on to the next key."""
    samples = []
    starts = sorted(per_second)
    for start, end in zip(starts, [*starts[1:], seconds], strict=True):
        for second in range(int(start), int(end)):
            count = per_second[start]
            samples += [(core, second + (i + 0.5) / 100, thread, stack) for i in range(count)]
    return samples


def test_the_hot_process_leads_with_its_core_mode_and_frames() -> None:
    found = top(recording(busy_node()), at(70.5, 3), Filter(cores=(2,)))
    first = found.processes[0]
    assert (first.comm, first.cores) == ("kubelet", (2,))
    assert first.percent_of_one_core == pytest.approx(100, abs=1.5)
    assert first.system_percent_of_one_core == pytest.approx(100, abs=1.5)
    assert first.user_percent_of_one_core == 0
    assert first.percent_of_selection == pytest.approx(100)
    assert first.times_baseline is not None
    assert first.times_baseline > 5
    inclusive = frames(found.frames)
    assert inclusive["mem_cgroup_nr_lru_pages"] == (pytest.approx(100), 0)
    assert inclusive["cpumask_next"] == (pytest.approx(100), pytest.approx(100))
    assert found.seconds_recorded == pytest.approx(3, abs=0.001)
    (times,) = found.core_times
    assert times.system_percent == pytest.approx(100)
    assert found.notes == ()


def test_processes_are_ranked_by_core_time_and_limited() -> None:
    found = top(recording(busy_node()), at(0, 60), limit=3)
    assert len(found.processes) == 3
    shares = [p.percent_of_one_core for p in found.processes]
    assert shares == sorted(shares, reverse=True)
    everyone = top(recording(busy_node()), at(0, 60), limit=10_000)
    assert sum(p.percent_of_selection for p in everyone.processes) == pytest.approx(100)
    assert sum(p.samples for p in everyone.processes) == everyone.samples
    assert everyone.processes[:3] == found.processes


def test_threads_can_be_told_apart() -> None:
    threads = ((5, 5, "app", "/a"), (5, 6, "app", "/a"), (5, 6, "renamed", "/a"))
    data = by_hand(
        [(0, 0.1, 0, 0), (0, 0.2, 1, 0), (1, 0.3, 1, 0), (1, 0.4, 2, 0)], threads=threads
    )
    by_process = top(recording(data), at(0, 10)).processes
    assert [(p.comm, p.tid, p.samples, p.cores) for p in by_process] == [
        ("app", None, 3, (0, 1)),
        ("renamed", None, 1, (1,)),
    ]
    by_thread = top(recording(data), at(0, 10), by_thread=True).processes
    assert {(p.comm, p.tid, p.samples) for p in by_thread} == {
        ("app", 6, 2), ("app", 5, 1), ("renamed", 6, 1),
    }  # fmt: skip
    assert all(p.baseline_percent_of_one_core is None for p in by_thread)


def test_recursion_counts_once_and_process_frames_are_no_functions() -> None:
    stacks = (("app", "f", "f", "g"), ("app", "f"))
    data = by_hand([(0, 0.1, 0, 0), (0, 0.2, 0, 0), (0, 0.3, 0, 1)], stacks=stacks)
    found = top(recording(data), at(0, 10))
    assert frames(found.frames) == {
        "f": (pytest.approx(100), pytest.approx(100 / 3)),
        "g": (pytest.approx(200 / 3), pytest.approx(200 / 3)),
    }
    assert all(f.frame.kind != FrameKind.PROCESS for f in found.frames)


def test_a_leaf_where_interrupts_come_back_on_is_marked() -> None:
    stacks = (("app", "k_work", "k_x"), ("app", "k_work"))
    data = by_hand([(0, 0.1, 0, 0), (0, 0.2, 0, 1)], stacks=stacks)
    renamed = tuple(
        replace(f, name="_raw_spin_unlock_irqrestore") if f.name == "k_x" else f
        for f in data.tree.frames
    )
    data = replace(data, tree=replace(data.tree, frames=renamed))
    marked = {f.frame.name: f.interrupts_were_off for f in top(recording(data), at(0, 10)).frames}
    assert marked == {"k_work": False, "_raw_spin_unlock_irqrestore": True}


def test_the_baseline_is_the_mean_of_the_hour_before_over_recorded_seconds() -> None:
    data = by_hand(steady(300, {0: 10, 240: 80}), seconds=300)
    found = top(recording(data), at(240, 60))
    (process,) = found.processes
    assert process.percent_of_one_core == pytest.approx(80)
    assert process.baseline_percent_of_one_core == pytest.approx(10, rel=1e-3)
    assert process.times_baseline == pytest.approx(8, rel=1e-2)
    (main,) = found.frames
    assert main.baseline_percent_of_one_core == pytest.approx(10, rel=1e-2)
    assert main.times_baseline == pytest.approx(8, rel=1e-2)


def test_seconds_that_were_not_recorded_do_not_thin_the_baseline() -> None:
    early = by_hand(steady(100, {0: 40}), seconds=100)
    late = by_hand(steady(100, {0: 40}), seconds=100, start_ns=START + 1000 * SECOND)
    (process,) = top(recording(early, late), at(1050, 50)).processes
    assert process.baseline_percent_of_one_core == pytest.approx(40, rel=1e-3)


def test_there_is_no_baseline_with_less_than_a_minute_before() -> None:
    data = by_hand(steady(120, {0: 40}), seconds=120)
    (process,) = top(recording(data), at(59, 10)).processes
    assert process.baseline_percent_of_one_core is None
    assert process.times_baseline is None
    (process,) = top(recording(data), at(61, 10)).processes
    assert process.baseline_percent_of_one_core == pytest.approx(40, rel=1e-3)


def test_a_restarted_process_inherits_the_baseline_of_its_name() -> None:
    threads = ((1, 1, "agent", "/"), (2, 2, "agent", "/"), (3, 3, "agent", "/"))
    samples = steady(60, {0: 20}, thread=0)
    samples += [(0, 60 + t, 1, s) for _, t, _, s in steady(60, {0: 20})]
    samples += [(0, 120 + t, 2, s) for _, t, _, s in steady(60, {0: 20})]
    data = by_hand(samples, threads=threads, seconds=180)
    (process,) = top(recording(data), at(120, 60)).processes
    assert process.pid == 3
    assert process.baseline_percent_of_one_core == pytest.approx(20, rel=1e-3)


def test_one_more_of_a_crowd_is_measured_by_the_average_of_the_crowd() -> None:
    threads = tuple((pid, pid, "worker", "/") for pid in range(5))
    samples = [(pid, t, pid, s) for pid in range(4) for _, t, _, s in steady(120, {0: 30})]
    samples += [(4, 120 + t, 4, s) for _, t, _, s in steady(60, {0: 30})]
    data = by_hand(samples, threads=threads, seconds=180)
    newcomer = {p.pid: p for p in top(recording(data), at(120, 60)).processes}[4]
    assert newcomer.baseline_percent_of_one_core == pytest.approx(30, rel=1e-3)


def test_a_process_never_seen_before_has_a_baseline_of_zero() -> None:
    threads = ((1, 1, "old", "/"), (2, 2, "new", "/"))
    samples = [*steady(120, {0: 20}), (0, 121.0, 1, 0)]
    data = by_hand(samples, threads=threads, seconds=130)
    (process,) = top(recording(data), at(120, 10)).processes
    assert (process.comm, process.baseline_percent_of_one_core) == ("new", 0)
    assert process.times_baseline is None


def test_filters_that_roll_ups_do_not_hold_give_no_baseline_rather_than_a_wrong_one() -> None:
    data = by_hand(steady(180, {0: 20}), seconds=180)
    by_mode = top(recording(data), at(120, 60), Filter(modes=("user",)))
    assert by_mode.processes[0].baseline_percent_of_one_core is None
    assert by_mode.frames[0].baseline_percent_of_one_core is None
    by_pid = top(recording(data), at(120, 60), Filter(pids=(10,)))
    assert by_pid.processes[0].baseline_percent_of_one_core == pytest.approx(20, rel=1e-3)
    assert by_pid.frames[0].baseline_percent_of_one_core is None


def test_two_units_that_run_the_same_program_are_no_baseline_for_each_other() -> None:
    threads = tuple(
        (pid, pid, "python3", f"/system.slice/{n}.service") for pid, n in enumerate("ab", 1)
    )
    samples = steady(180, {0: 20}) + steady(180, {0: 60}, thread=1, core=1)
    data = by_hand(samples, threads=threads, seconds=180)
    one = top(recording(data), at(120, 60), Filter(units=("a.service",)))
    assert [process.pid for process in one.processes] == [1]
    assert one.processes[0].baseline_percent_of_one_core == pytest.approx(20, rel=1e-3)
    assert one.frames[0].baseline_percent_of_one_core is None


def test_notes_tell_what_weakens_the_answer() -> None:
    lost = np.array([[0], [0], [5], [5], [9]], np.int64)
    ticks = START + np.arange(5, dtype=np.int64) * SECOND
    stretches = (Stretch(START, "cpu-clock", 100.0), Stretch(START + 3 * SECOND, "cpu-clock", 50.0))
    data = by_hand(
        [(0, 1.0, 0, 0)],
        blocks=(Block("sampler.lost", ("0",), ticks, lost),),
        events=(Event(START + SECOND, "gap", "threads", "thread names were late"),),
        stretches=stretches,
    )
    notes = top(recording(data), at(-5, 15)).notes
    assert notes == (
        "samples cover 10.0 s of the 15.0 s asked for",
        "the sampling rate was down to 50 Hz of 100 in part of it",
        "gap: thread names were late",
        "the kernel dropped 9 samples because a ring was full",
    )
    assert top(recording(data), at(0, 1)).notes == ()


def test_a_rate_below_one_a_second_is_told_as_it_is_and_once() -> None:
    slow = Stretch(START + 3 * SECOND, "cpu-clock", 0.097)
    data = by_hand([(0, 1.0, 0, 0)], stretches=(Stretch(START, "cpu-clock", 4.85), slow))
    assert "the sampling rate was down to 0.097 Hz of 4.8 in part of it" in (
        top(recording(data), at(0, 10)).notes
    )


def test_stretches_without_samples_are_not_recorded_seconds() -> None:
    stretches = (Stretch(START, "none", 0.0), Stretch(START + 6 * SECOND, "cpu-clock", 100.0))
    data = by_hand([(0, 7.0, 0, 0)], stretches=stretches, blocks=jiffies(10, {0: {"user": 1}}))
    assert top(recording(data), at(0, 10)).seconds_recorded == pytest.approx(4)
