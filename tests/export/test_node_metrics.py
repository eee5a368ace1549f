"""Seconds in, metrics out: counters only rise, gauges are of now, names are bounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.export import metric_list as m
from exhume.export.node_metrics import FIELDS, KINDS, NodeMetrics
from exhume.export.prometheus import Metric
from exhume.model.event import Event
from exhume.model.fields import BY_ID, CPU_MODES
from exhume.model.reading import Reading
from exhume.store.tail import Second
from tests.store.live import ORIGIN, SECOND, WALL_NS, event

IDLE = dict.fromkeys(CPU_MODES, 0) | {"idle": 100}


class Node:
    """A machine of which the test says what each second brings."""

    def __init__(self, since: int = 0) -> None:
        self.metrics = NodeMetrics(WALL_NS + since * SECOND)
        self.second = 0
        self.origin = ORIGIN
        self._jiffies: dict[tuple[str, str], int] = {}

    def tick(self, *readings: Reading, events: Sequence[Event] = (), seconds: int = 1) -> None:
        self.second += seconds
        end = self.second * SECOND
        self.metrics.add(
            [Second(self.origin, end, WALL_NS + end, readings, tuple(events), WALL_NS)]
        )

    def cores(self, *spent: dict[str, int]) -> tuple[Reading, ...]:
        """Per core the jiffies of this second by mode; the rest of 100 is idle."""
        found = []
        names = tuple(str(core) for core in range(len(spent)))
        for mode in CPU_MODES:
            for core, own in zip(names, spent, strict=True):
                used = {"idle": 100 - sum(own.values()), **own}.get(mode, 0)
                key = mode, core
                self._jiffies[key] = self._jiffies.get(key, 1000) + used
            values = [self._jiffies[mode, core] for core in names]
            found.append(Reading.of_each(f"cpu.{mode}", names, values))
        return tuple(found)

    def get(self, metric: Metric, ago: int = 0) -> dict[tuple[str, ...], float]:
        now = WALL_NS + (self.second + ago) * SECOND
        found = {family.metric.name: family.values for family in self.metrics.families(now)}
        return dict(found.get(metric.name, {}))


def counter(field: str, value: int, *more: int) -> Reading:
    names = tuple(str(index) for index in range(1 + len(more))) if more else ("",)
    return Reading.of_each(field, names, [value, *more])


def test_a_core_that_is_full_counts_by_the_mode_that_took_most_of_it() -> None:
    node = Node()
    node.tick(*node.cores({}, {}))
    for _ in range(5):
        node.tick(*node.cores({"system": 60, "user": 37}, {"user": 94}))
    node.tick(*node.cores({"softirq": 100}, {"iowait": 100}))
    starved = node.get(m.STARVED)
    assert starved["system",] == pytest.approx(5)
    assert starved["softirq",] == pytest.approx(1)
    assert starved["user",] == 0


def test_the_worst_core_is_told_beside_the_mean_that_hides_it() -> None:
    node = Node()
    for _ in range(50):
        node.tick(*node.cores({}, {}, {}, {}))
    for _ in range(15):
        node.tick(*node.cores({}, {}, {"system": 100}, {}))
    assert node.get(m.WORST)["15s",] == pytest.approx(1)
    assert node.get(m.WORST)["60s",] == pytest.approx(15 / 60)
    assert node.get(m.MEAN)["15s",] == pytest.approx(0.25)
    assert node.get(m.WORST_CORE) == {("15s",): 2, ("60s",): 2}


def test_seconds_that_come_one_by_one_count_as_those_that_come_at_once() -> None:
    one_by_one, at_once = Node(), Node()
    seconds = []
    for index in range(20):
        readings = one_by_one.cores({"system": 97}, {"user": 5 * index})
        one_by_one.tick(*readings)
        end = one_by_one.second * SECOND
        seconds.append(Second(ORIGIN, end, WALL_NS + end, readings, (), WALL_NS))
    at_once.metrics.add(seconds)
    at_once.second = one_by_one.second
    for metric in (m.STARVED, m.WORST, m.MEAN):
        assert at_once.get(metric) == pytest.approx(one_by_one.get(metric))


def test_a_gap_is_nobodys_time() -> None:
    node = Node()
    node.tick(*node.cores({"system": 100}))
    node.tick(*node.cores({"system": 100}), seconds=60)
    assert node.get(m.STARVED)["system",] == 0


def test_what_was_recorded_before_the_server_started_is_not_counted_again() -> None:
    node = Node(since=10)
    reset = event(1, "kernel-log", "eth0", signature="ena.reset_start", **{"class": "netdev-reset"})
    for value in range(1, 15):
        node.tick(
            counter("softnet.dropped", value * 100), *node.cores({"system": 100}), events=[reset]
        )
    assert node.get(m.DROPPED) == {(): 500}
    assert node.get(m.KERNEL_EVENTS)["ena.reset_start", "netdev-reset"] == 5
    assert node.get(m.STARVED)["system",] == pytest.approx(5)


def test_no_counter_falls_over_reboots_restarts_and_wraps() -> None:
    node = Node()
    rng = np.random.default_rng(7)
    before: dict[tuple[str, tuple[str, ...]], float] = {}
    for step in range(60):
        if step % 17 == 0:
            node.origin = replace(ORIGIN, boot_id=f"boot{step}")
        numbers = rng.integers(0, 1 << 32, 4).tolist()
        node.tick(
            *(Reading.of_each(field, ("0", "1"), rng.integers(0, 1 << 32, 2).tolist())
              for field in ("softnet.dropped", "netthread.wait_ns", "sampler.lost")),
            counter("self.cpu_ns", numbers[0]),
            counter("self.written_bytes", numbers[1]),
            Reading.of_each("unit.restarts", ("a", f"u{step}"), numbers[:2]),
            Reading.of_each("memcg.births", (f"/{step % 30}", "/x"), numbers[2:]),
            *node.cores({"user": int(rng.integers(0, 101))}),
        )  # fmt: skip
        for family in node.metrics.families(WALL_NS + node.second * SECOND):
            if family.metric.kind == "counter":
                for labels, value in family.values.items():
                    key = family.metric.name, labels
                    assert value >= before.get(key, 0), key
                    before[key] = value


def test_names_are_bounded_and_the_rest_is_summed_up() -> None:
    node = Node()
    names = tuple(f"/system.slice/{letter}.service" for letter in range(150))
    node.tick(Reading.of_each("memcg.births", ("(others)",), [0]))
    node.tick(Reading.of_each("memcg.births", ("(others)", *names), [4, *range(1, 151)]))
    births = node.get(m.BIRTHS)
    assert len(births) == m.TOP + 1
    assert sum(births.values()) == 4 + sum(range(1, 151))
    node.tick(Reading.of_each("memcg.held", (*names, "other"), [*range(1, 151), 7]))
    held = node.get(m.HELD)
    assert len(held) == m.TOP + 1
    assert held[names[-1],] == 150
    assert sum(held.values()) == 7 + sum(range(1, 151))


def test_names_that_look_alike_once_cleaned_are_one_series() -> None:
    node = Node()
    hostile = ("/a\x01", "/a\x02", "/b" * 200 + "1", "/b" * 200 + "2")
    node.tick(Reading.of_each("memcg.held", hostile, [1, 2, 3, 4]))
    assert sorted(node.get(m.HELD).values()) == [0, 3, 7]


def test_signatures_are_there_from_the_start_and_a_flood_counts_by_its_lines() -> None:
    node = Node()
    assert node.get(m.KERNEL_EVENTS)["softlockup", "cpu"] == 0
    flood = Event(1, "kernel-log", "eth0", count=3000, fields={"signature": "mine", "class": "x"})
    unknown = Event(1, "kernel-log", "", fields={"level": 3})
    job = Event(1, "job-log", "train", fields={"signature": "nccl.timeout", "class": "job"})
    node.tick(events=[flood, unknown, job])
    assert node.get(m.KERNEL_EVENTS)["mine", "x"] == 3000
    assert node.get(m.KERNEL_EVENTS)["unmatched", ""] == 1
    assert node.get(m.JOB_EVENTS)["nccl.timeout", "job"] == 1


def test_gauges_go_when_the_recorder_does_and_counters_stay() -> None:
    node = Node()
    node.tick(counter("memcg.zombies", 9), counter("softnet.dropped", 5))
    assert node.get(m.ZOMBIES) == {(): 9}
    assert node.get(m.UP) == {(): 1}
    assert node.get(m.UP, ago=61) == {(): 0}
    assert node.get(m.ZOMBIES, ago=61) == {}
    assert node.get(m.DROPPED, ago=61) == {(): 0}


def test_a_gauge_that_nobody_reads_any_more_is_left_out() -> None:
    node = Node()
    node.tick(counter("memcg.zombies", 9))
    node.tick(counter("self.rss_bytes", 1), seconds=301)
    assert node.get(m.ZOMBIES) == {}
    assert node.get(m.SELF_RSS) == {(): 1}


def threads(run: int, wait: int, slices: int, runnable: int) -> tuple[Reading, ...]:
    values = {"run_ns": run, "wait_ns": wait, "slices": slices, "runnable": runnable}
    return tuple(
        Reading.of_each(f"netthread.{name}", ("ksoftirqd/0",), [value])
        for name, value in values.items()
    )


def test_a_network_thread_that_waits_now_counts_before_its_wait_has_ended() -> None:
    node = Node()
    node.tick(*threads(5, 0, 1, 0))
    node.tick(*threads(9, 1000, 2, 1))
    for _ in range(6):
        node.tick(*threads(9, 1000, 2, 1))
    assert node.get(m.RUN_DELAY_MAX)["15s",] == pytest.approx(6)
    node.tick(*threads(10, 7 * SECOND, 3, 0))
    assert node.get(m.RUN_DELAY_MAX)["60s",] == pytest.approx(7)
    assert node.get(m.RUN_DELAY)[()] == pytest.approx(7)
    for _ in range(20):
        node.tick(*threads(10, 7 * SECOND, 3, 0))
    assert node.get(m.RUN_DELAY_MAX) == {("15s",): 0, ("60s",): pytest.approx(7)}


def test_a_unit_that_starts_every_ten_seconds_is_in_a_crash_loop_until_it_stops() -> None:
    node = Node()
    for count in range(30):
        at = node.second * SECOND
        fields = {"sub_state": "auto-restart"}
        start = Event(at, "unit-start", "agent.service", fields=fields)
        failed = Event(at, "unit-failed", "agent.service")
        restarts = Reading.of_each("unit.restarts", ("agent.service", "ok.service"), [count, 0])
        node.tick(restarts, events=[start, failed], seconds=10)
    assert node.get(m.RESTARTS) == {
        ("unit", "agent.service"): 29, ("unit", "other"): 0, ("container", "other"): 0,
    }  # fmt: skip
    assert node.get(m.LOOPS) == {("unit",): 1, ("container",): 0}
    assert node.get(m.LOOP_STARTS)["unit", "agent.service"] == 30
    node.tick(counter("self.rss_bytes", 1), seconds=700)
    assert node.get(m.LOOPS) == {("unit",): 0, ("container",): 0}


def test_the_latest_tick_is_the_worst_of_its_window() -> None:
    node = Node()
    node.tick(counter("self.lateness_ns", 2 * SECOND))
    for _ in range(20):
        node.tick(counter("self.lateness_ns", 1000))
    assert node.get(m.LATENESS) == pytest.approx({("15s",): 1e-6, ("60s",): 2.0})


def test_every_field_asked_for_is_in_the_catalogue_and_every_source_is_asked_for() -> None:
    assert set(BY_ID) >= FIELDS
    assert {metric.source for metric in m.METRICS if metric.source} <= FIELDS
    assert "kernel-log" in KINDS


def test_names_of_metrics_follow_the_conventions() -> None:
    assert len({metric.name for metric in m.METRICS}) == len(m.METRICS)
    for metric in m.METRICS:
        assert metric.name.startswith("exhume_")
        assert not metric.name.endswith(("_total", "_info"))
        assert metric.help.endswith(".")
        if metric.unit:
            assert metric.name.endswith(f"_{metric.unit}")
