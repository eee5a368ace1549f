"""Where the time of a window went: the call tree of its samples.

Percentages are of the selection: all non-idle core time in the window and filter. A chain of calls
that hardly branches (the last has 95 % of the first one's time) is one line, its frames joined by
→. Kernel frames are marked by colour and by a trailing ᵏ. Branches below --min-percent are not
drawn; their time counts in their callers.

With --folded: one line a stack, `process;frame;frame count` with counts in samples, as flame graph
tools read it; nothing is left out.

Examples:
  exhume flame --at 03:14:02 --for 5s --core 39      the five seconds before the reset
  exhume flame --last 10m --comm kubelet             one process
  exhume flame --last 1h --min-percent 5             only the trunk
  exhume flame --at 03:14:02 --folded > stacks.txt   for other tools
"""

from __future__ import annotations

import argparse
import sys

from exhume.cli import common
from exhume.cli.progress import step
from exhume.cli.render.empty import no_samples
from exhume.model.answers import Filter, FlameTree

ANSWER = FlameTree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="1m")
    common.add_filter(parser)
    parser.add_argument(
        "--min-percent",
        type=float,
        default=1.0,
        metavar="P",
        help="leave out thinner branches (default: 1)",
    )
    parser.add_argument("--folded", action="store_true", help="folded stacks instead of the tree")
    parser.add_argument("--width", type=int, metavar="N", help="columns (default: the terminal's)")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window, chosen = common.window_of(args, view), common.filter_of(args)
    if not 0 <= args.min_percent <= 100:
        raise common.usage(f"--min-percent {args.min_percent:g}", "from 0 to 100")
    if args.width is not None and not 40 <= args.width <= 1000:
        raise common.usage(f"--width {args.width}", "from 40 to 1000")
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        common.need_cores(recording, chosen.cores)
        from exhume.store import queries

        share = 0.0 if args.folded else args.min_percent / 100
        answer = queries.flame(recording, window, filter=chosen, min_share=share)
        seconds = queries.seconds_sampled(recording, window)
        counted = queries.no_time_events(recording, window)
        if not answer.samples:
            common.need_sampled(recording, window, chosen)
    common.tell_problems((*queries.no_samples(recording), *recording.problems(window)))
    if args.json:
        common.print_json(answer)
        return 0
    if args.folded:
        from exhume.export import folded

        sys.stdout.writelines(line + "\n" for line in folded.lines(answer))
        if not answer.samples:
            is_filtered = chosen != Filter()
            none = no_samples(is_filtered=is_filtered, seconds_sampled=seconds)
            common.tell_problems([none])
        return 0
    from exhume.cli.render import flame

    screen = common.console(args.width)
    look = common.look_of(screen)
    drawn = flame.render(
        answer, view, look, seconds_sampled=seconds, min_percent=args.min_percent,
        is_filtered=chosen != Filter(), counted=counted,
    )  # fmt: skip
    common.show(screen, drawn)
    return 0
