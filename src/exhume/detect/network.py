"""Threads that serve the network and don't run, packets that found no room, queues on one core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exhume.derive.rates import rates
from exhume.derive.runs import where_true
from exhume.detect import shown
from exhume.detect.storms import storms
from exhume.model.finding import Finding
from exhume.model.observation import Observation
from exhume.model.window import Window

STARVED_NS = 500_000_000
_LEAST_TICKS = 50
_STILL = 2.0
"""Softirqs a second. A share of the ticks alone says little: whoever samples or sleeps for
microseconds makes thousands of timer interrupts a second, and they raise no softirq."""
_LEAST_FLAT_SECONDS = 1.5


def starved(seen: Observation) -> Iterator[Finding]:
    """Ready and not run, told by the scheduler's own account of its waiting."""
    for wait in seen.series.get("netthread.wait_ns", ()):
        found = rates(wait)
        for at in np.flatnonzero(np.nan_to_num(found.rise) >= STARVED_NS).tolist():
            window = Window(
                int(found.per_second.end_ns[at] - found.rise[at]), int(found.per_second.end_ns[at])
            )
            yield Finding(
                "starved-network-thread",
                f"{wait.instance} waited {window.seconds:.1f} s for a core",
                window,
                subject=wait.instance,
                figures={"seconds": round(window.seconds, 3)},
                check=shown.series("netthread.wait_ns", window, wait.instance),
            )


def deferred_softirqs(seen: Observation) -> Iterator[Finding]:
    """Softirqs of a core stand still while its timer goes on ticking."""
    for ticks in seen.series.get("irq.timer", ()):
        runs = seen.instance("softirq.timer", ticks.instance)
        if runs is None:
            continue
        ticked, ran = rates(ticks).per_second, rates(runs).per_second
        ran_at = dict(zip(ran.end_ns.tolist(), ran.values.tolist(), strict=True))
        flat = np.array(
            [
                rate >= _LEAST_TICKS and ran_at.get(end, np.inf) < min(_STILL, 0.02 * rate)
                for end, rate in zip(ticked.end_ns.tolist(), ticked.values.tolist(), strict=True)
            ],
            np.bool_,
        )
        usual = float(np.nanmedian(ran.values)) if np.isfinite(ran.values).any() else 0.0
        if usual < 10:
            continue  # a core whose softirqs hardly ever run shows nothing by their absence
        for begin, end in where_true(flat):
            window = Window(int(ticked.start_ns[begin]), int(ticked.end_ns[end - 1]))
            if window.seconds >= _LEAST_FLAT_SECONDS:
                yield Finding(
                    "deferred-softirqs",
                    f"no softirq of CPU {ticks.instance} ran for {window.seconds:.0f} s while its "
                    f"timer ticked on",
                    window,
                    core=int(ticks.instance),
                    figures={"seconds": round(window.seconds, 1)},
                    check=shown.series("softirq.timer", window, ticks.instance),
                )


def softnet(seen: Observation) -> Iterator[Finding]:
    for field, kind, what in (
        ("softnet.dropped", "packets-dropped", "packets a second found the backlog full"),
        ("softnet.squeezed", "softnet-squeezed", "times a second the softirq ran out of budget"),
    ):
        for series in seen.series.get(field, ()):
            for one in storms(series, 1.0 if kind == "packets-dropped" else 20.0):
                yield Finding(
                    kind,
                    f"{one.mean:,.0f} {what} on CPU {series.instance}",
                    one.window,
                    core=int(series.instance),
                    figures={"mean_per_second": round(one.mean, 1)},
                    unusual=one.times_usual,
                    check=shown.series(field, one.window, series.instance),
                )


def flood(seen: Observation) -> Iterator[Finding]:
    """A core whose time goes into receiving, or that takes packets far above its usual."""
    if seen.load is not None:
        soft = seen.load.mode("softirq")
        for index, core in enumerate(seen.load.cores):
            with np.errstate(invalid="ignore"):
                much = soft[:, index] >= 50
            edges = np.flatnonzero(
                np.diff(np.concatenate(([False], much, [False])).astype(np.int8))
            )
            for begin, end in edges.reshape(-1, 2).tolist():
                window = Window(int(seen.load.start_ns[begin]), int(seen.load.end_ns[end - 1]))
                if window.seconds >= 2:
                    percent = float(np.nanmean(soft[begin:end, index]))
                    yield Finding(
                        "softirq-flood",
                        f"CPU {core} spent {percent:.0f} % of {window.seconds:.0f} s in softirqs",
                        window,
                        core=core,
                        figures={"softirq_percent": round(percent, 1)},
                        check=f"exhume cores {shown.span(window)}",
                    )


def crowded(seen: Observation) -> Iterator[Finding]:
    for one in seen.crowds:
        yield Finding(
            "interrupt-imbalance",
            f"{one.queues} of {one.of_queues} queues of {one.device} interrupt CPU {one.core} "
            f"({one.percent_of_its_interrupts:.0f} % of its interrupts)",
            seen.window,
            subject=one.device,
            core=one.core,
            figures={"queues": one.queues, "of_queues": one.of_queues},
            check=f"exhume irqs {shown.span(seen.window)}",
        )


def limits(seen: Observation) -> Iterator[Finding]:
    """The cloud's own limits of a network card, told by its driver."""
    for series in seen.series.get("nic.stat", ()):
        if "allowance_exceeded" not in series.instance:
            continue
        for one in storms(series, 0.1):
            yield Finding(
                "network-limit",
                f"{series.instance}: {one.mean:,.1f} a second for {one.window.seconds:.0f} s",
                one.window,
                subject=series.instance,
                figures={"mean_per_second": round(one.mean, 2)},
                unusual=one.times_usual,
                check=shown.series("nic.stat", one.window, series.instance),
            )
