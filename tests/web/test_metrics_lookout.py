"""What looks like harm is worth a diagnosis; what is only busy is not."""

from __future__ import annotations

import pytest

from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.store.tail import Second
from exhume.web.metrics_lookout import Lookout
from tests.store.live import ORIGIN, SECOND, WALL_NS


def second(number: int, *readings: Reading, events: tuple[Event, ...] = ()) -> Second:
    end_ns = (100 + number) * SECOND
    return Second(ORIGIN, end_ns, WALL_NS + end_ns, readings, events, WALL_NS)


def threads(who: str, waited_ns: int, turns: int) -> tuple[Reading, ...]:
    return (
        Reading.of_each(f"{who}.wait_ns", ("7 a", "8 b"), [0, waited_ns]),
        Reading.of_each(f"{who}.slices", ("7 a", "8 b"), [5, turns]),
    )


def cores(*jiffies: int) -> Reading:
    return Reading.of_each("cpu.system", tuple(map(str, range(len(jiffies)))), list(jiffies))


def line(kind: str, signature: str, cls: str) -> tuple[Event, ...]:
    return (Event(0, kind, "x", fields={"signature": signature, "class": cls}),)


@pytest.mark.parametrize(
    ("kind", "signature", "cls", "is_harm"),
    [
        ("kernel-log", "ena.tx_timeout", "netdev-starve", True),
        ("kernel-log", "oom.kill", "mem", True),
        ("job-log", "ray.fetch_timeout", "job", True),
        ("kernel-log", "rt_throttle", "cpu", False),
        ("kernel-log", "link_up", "netdev-link", False),
        ("exec", "oom.kill", "mem", False),
    ],
)
def test_a_line_is_a_hint_where_it_tells_of_harm(
    kind: str, signature: str, cls: str, is_harm: bool
) -> None:
    watch = Lookout()
    watch.add(second(1, events=line(kind, signature, cls)))
    assert (watch.last_wall_ns is not None) == is_harm


@pytest.mark.parametrize("who", ["netthread", "process"])
@pytest.mark.parametrize(
    ("waited_ns", "turns", "is_harm"),
    [
        (600_000_000, 2, True),
        (600_000_000, 200, False),  # shared with a neighbour, turn by turn
        (400_000_000, 1, False),
        (4_000_000_000, 900, True),  # longer than the second: it began before
    ],
)
def test_a_wait_is_a_hint_where_it_is_too_long_for_sharing(
    who: str, waited_ns: int, turns: int, is_harm: bool
) -> None:
    watch = Lookout()
    watch.add(second(1, *threads(who, 0, 0)))
    watch.add(second(2, *threads(who, waited_ns, turns)))
    assert (watch.last_wall_ns is not None) == is_harm


def test_a_core_full_of_kernel_time_for_two_seconds_is_a_hint_and_for_one_is_not() -> None:
    watch = Lookout()
    for number, spent in enumerate([0, 100, 110, 210]):
        watch.add(second(number, cores(number * 5, spent)))
    assert watch.last_wall_ns is None
    watch.add(second(4, cores(20, 308)))
    assert watch.last_wall_ns == second(4).wall_ns


def test_counters_of_another_boot_are_no_rise() -> None:
    watch = Lookout()
    watch.add(second(1, *threads("process", 10, 1)))
    first = second(2, *threads("process", 9_000_000_000, 2))
    origin = type(ORIGIN)("node-7", "other", "6.8.0", "x86_64", 100, "exhume test")
    watch.add(Second(origin, first.end_ns, first.wall_ns, first.readings, (), WALL_NS))
    assert watch.last_wall_ns is None
