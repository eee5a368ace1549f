"""Which interrupt goes to which core, and how busy that core was.

A network queue whose core is full waits: its interrupt comes, but the work it asks for doesn't run.
So each line of /proc/interrupts stands next to the core it goes to, with that core's mean and worst
second. Then what each core did for the network: receive softirqs, packets, squeezes (it ran out of
budget with work left) and drops (the backlog was full); and the kernel threads that serve the
network, with how long they were ready and not run. A device whose queues all meet on one core is
pointed out.

Examples:
  exhume irqs                            the last 10 minutes
  exhume irqs --at 03:14:02 --for 5s     the seconds before a reset
  exhume irqs --last 1h --device eth0    one device
  exhume irqs --last 1h --all            every line, every core
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.derive.queues import core_of_thread, crowds, queues_on
from exhume.derive.rates import Rates, rates
from exhume.derive.zombies import last
from exhume.model.answers import MAP_MODES, CoreMap, SeriesAnswer
from exhume.model.evidence import IrqLine, IrqsAnswer, NetCore, NetThread
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = IrqsAnswer
_SEVERAL = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m")
    parser.add_argument("--device", metavar="NAME", help="eth0, nvme0, virtio2, pci:0000:08:00.0")
    parser.add_argument("--core", action="append", default=[], metavar="N", help="39, or 0-3,7")
    parser.add_argument("--all", action="store_true", help="every line and core, also quiet ones")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    window, cores = common.window_of(args, view), common.parse_cores(args.core)
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        answer = only(ask(recording, window), args.device, cores)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.irqs import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen), everything=args.all))
    return 0


def ask(recording: Recording, window: Window) -> IrqsAnswer:
    from exhume.store import queries

    def each(field: str) -> dict[str, Rates]:
        found = queries.series(recording, field, window)
        return {one.instance: rates(one) for one in found}

    # Affinity is read once a minute: the last reading before a short window holds for it.
    around = Window(window.start_ns - 120 * 1_000_000_000, window.end_ns)
    affinity = {one.instance: one for one in queries.series(recording, "irq.core", around)}
    every = [
        _line(instance, found, affinity.get(instance))
        for instance, found in each("irq.count").items()
    ]
    lines = sorted(
        (line for line in every if line.per_second > 0), key=lambda line: -line.per_second
    )
    busy = queries.core_map(recording, window, 1)
    softnet = {name: each(f"softnet.{name}") for name in ("processed", "squeezed", "dropped")}
    per_core = {"net_rx": each("softirq.net_rx"), "device": each("irq.device"), **softnet}
    cores = tuple(_core(core, busy, per_core, every) for core in busy.cores)
    run, wait = each("netthread.run_ns"), each("netthread.wait_ns")
    threads = [_thread(name, run.get(name), wait[name]) for name in wait]
    return IrqsAnswer(
        window=window,
        lines=tuple(lines),
        silent_lines=len(every) - len(lines),
        cores=cores,
        threads=tuple(sorted(threads, key=lambda one: (-(one.wait_ns or 0), one.name))),
        crowded=crowds(every, len(busy.cores)),
        notes=recording.problems(window),
    )


def only(answer: IrqsAnswer, device: str | None, cores: tuple[int, ...]) -> IrqsAnswer:
    from dataclasses import replace

    if device is not None:
        lines = tuple(line for line in answer.lines if line.device == device)
        if not lines:
            known = ", ".join(sorted({line.device for line in answer.lines if line.device}))
            raise common.usage(f"no interrupt of a device '{device}'", f"there are: {known}")
        there = {line.core for line in lines if line.core is not None}
        answer = replace(
            answer,
            lines=lines,
            cores=tuple(one for one in answer.cores if one.core in there),
            crowded=tuple(one for one in answer.crowded if one.device == device),
        )
    if cores:
        answer = replace(
            answer,
            lines=tuple(line for line in answer.lines if line.core in cores),
            cores=tuple(one for one in answer.cores if one.core in cores),
            threads=tuple(one for one in answer.threads if one.core in cores),
        )
    return answer


def _line(instance: str, found: Rates, affinity: SeriesAnswer | None) -> IrqLine:
    from exhume.sources.queues import queue_of

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
