"""Answers of the evidence commands, made up by hand."""

from __future__ import annotations

import numpy as np

from exhume.cli.figures import NS
from exhume.model.answers import EventAnswer
from exhume.model.evidence import (
    Crowd,
    EventsAnswer,
    EventTally,
    InstanceSeries,
    IrqLine,
    IrqsAnswer,
    NetCore,
    NetThread,
    SeriesReport,
)
from exhume.model.fields import BY_ID
from exhume.model.lifecycles import Lifecycle, UnitsAnswer
from exhume.model.memcgs import (
    MemcgName,
    Outlook,
    Slope,
    Walk,
    ZombieParent,
    ZombiesAnswer,
)
from exhume.model.window import Window
from tests.cli.made_up import NOW_NS

WINDOW = Window(NOW_NS - 600 * NS, NOW_NS)


def events(
    name: str = "eth0", text: str = "TX q 5 is paused for too long", many: int = 0
) -> EventsAnswer:
    fields: dict[str, str | int | float] = {"signature": "ena.tx_paused", "class": "netdev-starve"}
    at = WINDOW.start_ns
    found = [
        EventAnswer(at + 60 * NS, "kernel-log", name, text, 17, None, 2, fields),
        EventAnswer(at + 61 * NS, "job-log", "trainer", "ActorDiedError", None, None, 1, {}),
        EventAnswer(at + 90 * NS, "core-offline", "3", "", 3, None, 1, {}),
        *(EventAnswer(at + i * NS, "unit-failed", name, f"try {i}", None, i, 1, {})
          for i in range(many)),
    ]  # fmt: skip
    counted = tuple(EventTally("exec", f"{name} {index}", 90 - index) for index in range(11))
    return EventsAnswer(WINDOW, tuple(found), counted, (f"a note on {name}",))


def units(name: str = "ecs.service") -> UnitsAnswer:
    loop = Lifecycle(
        kind="unit", name=name, detail="", mark="crash loop", starts=60, starts_per_hour=360.0,
        most_starts_in_10_minutes=60, restarts=59, ids=None, pace_seconds=10.0,
        success_percent_of_known_ends=0.0, median_lifetime_seconds=1.2,
        last_start_wall_ns=NOW_NS - 5 * NS, cgroups_born=60, zombies_per_start=1.0,
        memory_bytes_per_start=338_000.0, cpu_seconds_per_start=0.35,
    )  # fmt: skip
    container = Lifecycle(
        kind="container", name="ecs-agent", detail=name, mark="crash loop", starts=60,
        starts_per_hour=360.0, most_starts_in_10_minutes=60, restarts=0, ids=60, pace_seconds=None,
        success_percent_of_known_ends=None, median_lifetime_seconds=8.0,
        last_start_wall_ns=NOW_NS - 5 * NS, zombies_per_start=0.5, zombies_at_most=True,
    )  # fmt: skip
    jobs = [
        Lifecycle(
            kind="process", name=f"cc{index}", detail="gcc", mark="many short jobs", starts=300,
            starts_per_hour=1800.0, most_starts_in_10_minutes=300, restarts=None, ids=None,
            pace_seconds=None, success_percent_of_known_ends=None, median_lifetime_seconds=0.3,
            last_start_wall_ns=None,
        )
        for index in range(14)
    ]  # fmt: skip
    well = Lifecycle(
        kind="unit", name="sshd.service", detail="", mark="healthy", starts=1, starts_per_hour=6.0,
        most_starts_in_10_minutes=1, restarts=0, ids=None, pace_seconds=None,
        success_percent_of_known_ends=100.0, median_lifetime_seconds=None,
        last_start_wall_ns=NOW_NS,
    )  # fmt: skip
    return UnitsAnswer(WINDOW, 600.0, (loop, container, *jobs, well), (f"a note on {name}",))


def zombies(
    name: str = "/system.slice/ecs.service", kernel: str = "5.4.0-1146-aws"
) -> ZombiesAnswer:
    wall = WINDOW.start_ns + np.arange(10, dtype=np.int64) * 60 * NS
    slope = Slope(360.0, 350.0, 372.0, 10, 540 * NS)
    walks = (Walk(1.0, 14_286, 0), Walk(5.0, 71_429, 31 * 3600 * NS))
    return ZombiesAnswer(
        window=WINDOW, recorded_seconds=600.0, tracked=68_680, live=240, zombies=68_440,
        read_wall_ns=int(wall[-1]), empty=3, wall_ns=wall,
        counts=np.arange(68_386, 68_446, 6, dtype=np.int64), growth=slope, boots=1,
        parents=(ZombieParent(name, None, 280_000_000, 4096, 0, int(wall[-1])),),
        names=tuple(MemcgName(f"{name}{index or ''}", 60, 60, index) for index in range(12)),
        percpu_bytes=22_800_000_000, slab_bytes=900_000_000,
        percpu_growth=Slope(117_000_000.0, 1.0, 2.0, 60, 540 * NS), slab_growth=None,
        bytes_per_zombie=338_000.0,
        outlook=Outlook(kernel, "reading v1's memory.numa_stat", False, 0.07e-3, walks),
        missing=(f"who holds {name}",), notes=(f"a note on {name}",),
    )  # fmt: skip


def irqs(name: str = "eth0-Tx-Rx-0") -> IrqsAnswer:
    lines = [
        IrqLine("30", name, "eth0", 0, "tx+rx", 39, 9_000.0, 12_000.0),
        IrqLine("31", "eth0-Tx-Rx-1", "eth0", 1, "tx+rx", 39, 90.5, 300.0),
        IrqLine("9", "acpi", "", None, "", None, 0.02, 1.0),
        IrqLine("LOC", "", "", None, "", None, 25_000.0, 26_000.0),
    ]
    cores = [
        NetCore(39, 31.0, 100.0, "system", 9_090.5, 8_000.0, 81_000.0, 120, 17, 2),
        NetCore(40, 12.0, 30.0, "user", 0.0, 0.0, float("nan"), None, None, 0),
    ]
    threads = [
        NetThread("ksoftirqd/39", 39, 3 * NS, 7 * NS, 6 * NS, NOW_NS - 300 * NS),
        NetThread(name, None, None, 1_000_000, 1_000_000, NOW_NS - 200 * NS),
        NetThread("quiet", None, 0, 0, None, None),
    ]
    return IrqsAnswer(
        WINDOW, tuple(lines), 12, tuple(cores), tuple(threads),
        (Crowd(name, 39, 2, 2, 100.0),), (f"a note on {name}",),
    )  # fmt: skip


def series(
    name: str = "30 eth0-Tx-Rx-0", field: str = "irq.count", resets: int = 0
) -> SeriesReport:
    wall = WINDOW.start_ns + np.arange(1, 601, dtype=np.int64) * NS
    values = 100 + 50 * np.sin(np.arange(600) / 30)
    values[100:200] = np.nan
    known = values[np.isfinite(values)]
    made = InstanceSeries(
        name, len(known), resets, float(known.min()), float(known.mean()), float(known.max()),
        float(known[-1]), wall, values,
    )  # fmt: skip
    entry = BY_ID[field]
    unit = f"{entry.unit} per second" if entry.kind == "counter" else entry.unit
    return SeriesReport(WINDOW, entry, entry.kind == "counter", unit, (made,) * 3, 4, (name,))
