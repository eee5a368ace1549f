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

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.model.evidence import IrqsAnswer

ANSWER = IrqsAnswer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m")
    parser.add_argument("--device", metavar="NAME", help="eth0, nvme0, virtio2, pci:0000:08:00.0")
    parser.add_argument("--core", action="append", default=[], metavar="N", help="39, or 0-3,7")
    parser.add_argument("--all", action="store_true", help="every line and core, also quiet ones")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.store.queries.irqs import irqs

    view = common.viewpoint_on(args)
    window, cores = common.window_of(args, view), common.parse_cores(args.core)
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        common.need_cores(recording, cores)
        answer = only(irqs(recording, window), args.device, cores)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.irqs import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen), everything=args.all))
    return 0


def only(answer: IrqsAnswer, device: str | None, cores: tuple[int, ...]) -> IrqsAnswer:
    from msgspec.structs import replace

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
