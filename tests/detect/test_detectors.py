"""Each detector on series in which it must find something, and on quiet ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.detect.cores import period_of
from exhume.detect.detectors import DETECTORS, findings
from exhume.detect.storms import storms
from exhume.model.answers import SeriesAnswer
from exhume.model.evidence import Crowd
from exhume.model.finding import Finding
from exhume.model.memcgs import Slope
from exhume.model.observation import Observation
from tests.diagnose.made_up import (
    event,
    hold,
    lifecycle,
    lives,
    load,
    observation,
    series,
    span,
    zombies,
)


def counter(
    field: str, rates: Sequence[float], instance: str = "", every: float = 1.0
) -> SeriesAnswer:
    return series(field, np.cumsum(np.array(rates) * every).astype(int).tolist(), instance, every)


def burst(usual: float, high: float, length: int = 10) -> list[float]:
    return [usual] * 100 + [high] * length + [usual] * 100


def found(kind: str, seen: Observation) -> list[Finding]:
    return [one for one in findings(seen) if one.kind == kind]


def test_a_quiet_machine_has_no_findings() -> None:
    quiet = observation(
        load=load({0: [20] * 100, 1: [5] * 100}),
        series=[counter("vmstat.pgfault", [900] * 100), counter("system.forks", [3] * 100)],
    )
    assert findings(quiet) == ()


def test_every_detector_bears_having_nothing_at_all() -> None:
    for detector in DETECTORS:
        assert list(detector(observation())) == []


def test_a_core_full_in_the_kernel_is_told_with_the_mean_that_hid_it() -> None:
    percent = {core: [3] * 60 for core in range(8)}
    percent[5] = [3] * 20 + [100] * 6 + [3] * 34
    (one,) = found("saturated-core", observation(load=load(percent)))
    assert (one.core, one.window) == (5, span(20, 26))
    assert one.figures["mode"] == "system"
    assert float(one.figures["node_mean_percent"]) < 20


def test_a_core_full_in_user_mode_is_at_work() -> None:
    assert found("saturated-core", observation(load=load({0: [100] * 60}, mode=0))) == []


def test_stolen_time_is_told_by_core() -> None:
    seen = observation(load=load({0: [0] * 9, 1: [0, 0, 40, 50, 40, 0, 0, 0, 0]}, mode=4))
    (one,) = found("cpu-steal", seen)
    assert (one.core, one.window) == (1, span(2, 5))


def test_bursts_at_a_steady_pace_have_a_period() -> None:
    percent = ([100] * 4 + [0] * 16) * 10
    (one,) = found("periodic-bursts", observation(load=load({0: percent})))
    assert one.figures["period_seconds"] == pytest.approx(20)
    assert period_of([span(s, s + 1) for s in (0, 3, 50, 51, 90, 200)]) is None


@pytest.mark.parametrize(
    ("field", "usual", "high", "kind"),
    [
        ("vmstat.pgfault", 1_000, 400_000, "page-fault-storm"),
        ("vmstat.pgscan_direct", 0, 90_000, "direct-reclaim"),
        ("vmstat.compact_stall", 0, 60, "compaction-storm"),
        ("vmstat.pswpin", 0, 9_000, "swap-storm"),
        ("system.forks", 20, 3_000, "fork-storm"),
        ("pressure.io.full_us", 0, 700_000, "io-stall"),
    ],
)
def test_a_rate_far_above_its_own_usual_is_a_storm(
    field: str, usual: float, high: float, kind: str
) -> None:
    (one,) = found(kind, observation(series=[counter(field, burst(usual, high))]))
    assert one.window.seconds == pytest.approx(10, abs=2)


def test_what_is_always_high_is_told_too_and_has_no_usual() -> None:
    (one,) = storms(counter("vmstat.pgfault", [300_000] * 50), 100_000)
    assert (one.times_usual, round(one.mean)) == (None, 300_000)


def test_what_is_above_its_usual_but_little_in_all_is_none() -> None:
    assert storms(counter("vmstat.pgfault", burst(10, 5_000)), 100_000) == ()


def test_a_network_thread_that_waited_is_told_with_when() -> None:
    waits = counter("netthread.wait_ns", burst(1_000, 900_000_000, 1), "ksoftirqd/3")
    (one,) = found("starved-network-thread", observation(series=[waits]))
    assert one.subject == "ksoftirqd/3"


def test_softirqs_that_stand_still_while_the_timer_ticks_are_deferred() -> None:
    ticks = counter("irq.timer", [250] * 60, "1")
    runs = counter("softirq.timer", [250] * 20 + [0] * 6 + [250] * 34, "1")
    (one,) = found("deferred-softirqs", observation(series=[ticks, runs]))
    assert (one.core, round(one.window.seconds)) == (1, 6)


def test_softirqs_that_run_beside_thousands_of_timer_interrupts_do_not_stand_still() -> None:
    """Whoever sleeps for microseconds makes thousands a second, and they raise no softirq."""
    ticks = counter("irq.timer", [400] * 20 + [6_000] * 6 + [400] * 34, "1")
    runs = counter("softirq.timer", [40] * 20 + [60] * 6 + [40] * 34, "1")
    assert not found("deferred-softirqs", observation(series=[ticks, runs]))


def test_drops_limits_and_crowded_queues_are_told() -> None:
    drops = counter("softnet.dropped", burst(0, 30), "2")
    limit = counter("nic.stat", burst(0, 9), "eth0 bw_out_allowance_exceeded")
    seen = observation(series=[drops, limit], crowds=(Crowd("eth0", 0, 8, 8, 100.0),))
    kinds = {one.kind for one in findings(seen)}
    assert {"packets-dropped", "network-limit", "interrupt-imbalance"} <= kinds


def test_a_core_drowning_in_softirqs_is_a_flood() -> None:
    (one,) = found("softirq-flood", observation(load=load({0: [0] * 5 + [80] * 9}, mode=3)))
    assert one.core == 0


def test_many_zombies_and_fast_growth_are_told_and_few_are_not() -> None:
    def grown(count: int, per_hour: float) -> Observation:
        level = zombies({0.0: count, 300.0: count})
        slope = Slope(per_hour, per_hour, per_hour, 9, 1)
        return observation(zombies=replace(level, growth=slope))

    assert found("zombie-cgroups", grown(70_000, 0))
    assert found("zombie-cgroups", grown(90, 360))
    assert not found("zombie-cgroups", grown(300, 2))


def test_memory_cgroups_that_nobody_counted_are_told_of_where_they_grow() -> None:
    def tracked(first: int, last: int) -> Observation:
        values = np.linspace(first, last, 40).astype(int).tolist()
        return observation(series=[series("memcg.tracked", values, every=10.0)])

    (one,) = found("memory-cgroups-growth", tracked(90, 21_900))
    assert "21,900 memory cgroups, 201,323 more an hour" in one.claim
    assert not found("memory-cgroups-growth", tracked(21_900, 21_902))
    assert not found("memory-cgroups-growth", tracked(90, 300)), "pods that were started"
    counted = replace(tracked(90, 21_900), zombies=zombies({0.0: 10, 390.0: 10}))
    assert not found("memory-cgroups-growth", counted)


def test_what_walks_zombies_is_not_said_of_an_unknown_kernel() -> None:
    seen = observation(zombies=zombies({0.0: 70_000, 300.0: 70_000}))
    (known,) = found("zombie-cgroups", seen)
    (unknown,) = found("zombie-cgroups", replace(seen, kernel=""))
    assert {"walker", "reschedules"} <= set(known.figures)
    assert not {"walker", "reschedules"} & set(unknown.figures)


def test_a_stopped_cgroup_is_told() -> None:
    stopped = counter("cgroup.cpu_throttled_ns", burst(0, 600_000_000), "/pod1")
    (one,) = found("cpu-throttling", observation(series=[stopped]))
    assert one.subject == "/pod1"


def test_a_cgroup_that_is_stopped_on_several_cores_at_once_says_on_how_many() -> None:
    stopped = counter("cgroup.cpu_throttled_ns", burst(0, 12_000_000_000), "/pod1")
    (one,) = found("cpu-throttling", observation(series=[stopped]))
    assert "on 12.0 cores at a time" in one.claim


def test_short_stops_in_many_of_its_periods_are_told_too() -> None:
    def stopped(share: float) -> list[Finding]:
        periods = counter("cgroup.cpu_periods", [10.0] * 20, "/pod1", every=10)
        stops = counter(
            "cgroup.cpu_throttled", [0.0] * 9 + [10 * share] * 2 + [0.0] * 9, "/pod1", 10
        )
        short = counter("cgroup.cpu_throttled_ns", [0.0] * 9 + [3e7] * 2 + [0.0] * 9, "/pod1", 10)
        return found("cpu-throttling", observation(series=[periods, stops, short]))

    assert [one.figures for one in stopped(0.4)] == [{"throttled_percent_of_periods": 40.0}] * 2
    assert [one.window for one in stopped(0.4)] == [span(80, 90), span(90, 100)]
    assert stopped(0.1) == []


def test_loops_are_told_and_short_jobs_are_not() -> None:
    unit, timer = lifecycle("unit", "a.service", 60), lifecycle("unit", "b", 60, "scheduled")
    bare = lifecycle("process", "agent", 60, "loop")
    seen = observation(lifecycles=(unit, timer, bare))
    assert [one.subject for one in found("crash-loop", seen)] == ["a.service"]
    (again,) = found("restart-loop", seen)
    assert again.subject == "agent"
    assert "how it ends is not recorded" in again.claim


def test_a_fork_storm_names_the_parent_of_most() -> None:
    rows = [(100 + i * 0.01, "child", "maker") for i in range(900)]
    seen = observation(series=[counter("system.forks", burst(5, 2_000))], lives=lives(rows))
    (one,) = found("fork-storm", seen)
    assert one.subject == "maker"


def test_who_held_a_core_is_told_kernel_threads_apart() -> None:
    seen = observation(holds=(hold(10, 3), hold(50, 2, "kworker/1:2", is_one_call=False)))
    assert [one.kind for one in findings(seen)] == ["held-core", "kworker-hog"]


def test_time_spun_away_for_a_lock_is_told() -> None:
    frames = {"main": 10_000, "native_queued_spin_lock_slowpath": 4_000}
    (one,) = found("lock-contention", observation(frame_ms={"db": frames, "web": {"main": 9_000}}))
    assert one.subject == "db"


def test_a_process_far_above_its_own_usual_is_told() -> None:
    usual = counter("process.system", [1] * 60 + [80] * 3 + [1] * 60, "7 daemon")
    (one,) = found("above-baseline", observation(series=[usual]))
    assert (one.subject, one.pid) == ("daemon", 7)


def test_lines_of_the_kernel_and_gaps_are_told() -> None:
    line = event(5, "kernel-log", "eth0", "TX q 5 is paused", signature="ena.tx_paused", core=39)
    gap = event(9, "gap", "recorder", "nothing was recorded for 5 s")
    kinds = [one.kind for one in findings(observation(events=(line, gap)))]
    assert kinds == ["kernel-log:ena.tx_paused", "recorder-gap"]


def test_kernel_memory_that_only_grows_is_told() -> None:
    growing = series("memory.percpu_bytes", [(30 + i) << 20 for i in range(60)], every=10)
    flat = series("memory.slab_unreclaimable_bytes", [50 << 20] * 60, every=10)
    (one,) = found("kernel-memory-growth", observation(series=[growing, flat]))
    assert one.subject == "per-CPU memory"
    assert one.claim == (
        "per-CPU memory grew from 30 MiB to 89 MiB within 10 min: 360 MiB an hour at that pace"
    )
    storm = series("memory.percpu_bytes", [(30 + 200 * i) << 20 for i in range(60)], every=10)
    (one,) = found("kernel-memory-growth", observation(series=[storm]))
    assert one.claim.endswith("to 11.6 GiB within 10 min: 70.3 GiB an hour at that pace")
