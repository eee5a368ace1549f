"""Which interrupt goes to which core, and what else that core had to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exhume.derive.queues import core_of_thread, crowds, queues_on
from exhume.derive.rates import Rates, rates
from exhume.derive.zombies import last
from exhume.model.answers import MAP_MODES, CoreMap, SeriesAnswer
from exhume.model.evidence import IrqLine, IrqsAnswer, NetCore, NetThread
from exhume.model.window import Window
from exhume.sources.queues import queue_of
from exhume.store.queries.core_map import core_map
from exhume.store.queries.not_in_files import no_interrupts
from exhume.store.queries.series import series
from exhume.store.recording import Recording

_SEVERAL = -1


def irqs(recording: Recording, window: Window) -> IrqsAnswer:
    def each(field: str) -> dict[str, Rates]:
        found = series(recording, field, window)
        return {one.instance: rates(one) for one in found}

    # Affinity is read once a minute: the last reading before a short window holds for it.
    around = Window(window.start_ns - 120 * 1_000_000_000, window.end_ns)
    affinity = {one.instance: one for one in series(recording, "irq.core", around)}
    every = [
        _line(instance, found, affinity.get(instance))
        for instance, found in each("irq.count").items()
    ]
    # Of copies that are far apart nothing is known between them but where interrupts went.
    told = [one for one in every if one.per_second > 0 or _is_only_placed(one)]
    lines = sorted(told, key=lambda line: (_is_only_placed(line), -line.per_second))
    busy = core_map(recording, window, 1)
    softnet = {name: each(f"softnet.{name}") for name in ("processed", "squeezed", "dropped")}
    per_core = {"net_rx": each("softirq.net_rx"), "device": each("irq.device"), **softnet}
    cores = tuple(_core(core, busy, per_core, every) for core in busy.cores)
    run, wait = each("netthread.run_ns"), each("netthread.wait_ns")
    threads = [_thread(name, run.get(name), wait[name]) for name in wait]
    return IrqsAnswer(
        window=window,
        lines=tuple(lines),
        silent_lines=sum(one.per_second == 0 for one in every),
        cores=cores,
        threads=tuple(sorted(threads, key=lambda one: (-(one.wait_ns or 0), one.name))),
        crowded=crowds(every, len(busy.cores)),
        notes=(*no_interrupts(recording), *recording.problems(window), *_unknown(every)),
    )


def _unknown(every: list[IrqLine]) -> Iterator[str]:
    """Of one copy of /proc/interrupts nothing follows but where some lines go."""
    unknown = sum(bool(np.isnan(one.per_second)) for one in every)
    if unknown:
        lines = "1 line was" if unknown == 1 else f"{unknown:,} lines were"
        yield f"{lines} read once in this window: how often they fire shows from two readings on"


def _line(instance: str, found: Rates, affinity: SeriesAnswer | None) -> IrqLine:
    irq, _, name = instance.partition(" ")
    queue = queue_of(name) if name else None
    core = last(affinity)
    mean = found.per_second.mean()
    return IrqLine(
        irq=irq,
        name=name,
        device=queue.device if queue else "",
        queue=queue.queue if queue else None,
        direction=queue.direction if queue else "",
        core=None if core in (None, _SEVERAL) else core,
        per_second=mean,
        most_per_second=found.per_second.most(),
    )


def _is_only_placed(line: IrqLine) -> bool:
    return line.core is not None and bool(np.isnan(line.per_second))


def _core(
    core: int, busy: CoreMap, per_core: dict[str, dict[str, Rates]], lines: list[IrqLine]
) -> NetCore:
    row = busy.cores.index(core)
    mode = int(busy.worst_mode[row, 0])

    def rate(field: str) -> float:
        found = per_core[field].get(str(core))
        return found.per_second.mean() if found else float("nan")

    def total(field: str) -> int | None:
        found = per_core[field].get(str(core))
        return found.total if found else None

    return NetCore(
        core=core,
        mean_percent_of_core=float(busy.mean_percent_of_core[row, 0]),
        worst_percent_of_core=float(busy.worst_percent_of_core[row, 0]),
        worst_mode=MAP_MODES[mode] if mode >= 0 else "",
        device_interrupts_per_second=rate("device"),
        net_rx_per_second=rate("net_rx"),
        packets_per_second=rate("processed"),
        squeezed=total("squeezed"),
        dropped=total("dropped"),
        queues=queues_on(lines, core),
    )


def _thread(name: str, run: Rates | None, wait: Rates) -> NetThread:
    known = np.isfinite(wait.rise)
    worst = int(np.nanargmax(wait.rise)) if known.any() and np.nanmax(wait.rise) > 0 else None
    return NetThread(
        name=name,
        core=core_of_thread(name),
        run_ns=run.total if run else None,
        wait_ns=wait.total,
        worst_wait_ns=int(wait.rise[worst]) if worst is not None else None,
        worst_wait_wall_ns=int(wait.per_second.end_ns[worst]) if worst is not None else None,
    )
