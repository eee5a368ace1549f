"""Who was on the cores in a window, in which functions, against its own baseline.

Three tables: the times of the cores, the processes, and the hottest frames. Threads of a process
that have another name than it have a row of their own, with its pid; --comm and --pid choose all of
it. Percentages of time are of one core: 250 % is two and a half cores. A frame's shares are of the
selection: all non-idle core time in the window and filter. `usual` is its own mean over the hour
before, `×` how far above that it was. A frame marked ⚠ is only where interrupts came back on: look
at its caller.

Examples:
  exhume top --at 03:14:02 --for 5s --core 39   what was on core 39
  exhume top --last 1m                          what runs now
  exhume top --at 03:14:02 --threads            thread by thread
  exhume top --last 10m --mode softirq          who worked for the network
  exhume top --last 1h --cgroup /kubepods       one branch of the cgroups
"""

from __future__ import annotations

import argparse

from exhume.cli import common
from exhume.cli.progress import step
from exhume.model.answers import Top

ANSWER = Top


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="1m")
    common.add_filter(parser)
    parser.add_argument("--threads", action="store_true", help="one row a thread, not a process")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="rows a table (default: 20)"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window, chosen = common.window_of(args, view), common.filter_of(args)
    if args.limit < 1:
        raise common.usage(f"--limit {args.limit} is too few", "at least 1")
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        common.need_cores(recording, chosen.cores)
        from exhume.store import queries

        answer = queries.top(
            recording, window, filter=chosen, limit=args.limit, by_thread=args.threads
        )
        if not answer.samples:
            common.need_sampled(recording, window, chosen)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.top import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen)))
    return 0
