"""Who keeps dying: units, containers and programs that start again and again.

A crash loop is a unit or container that started 5 times within 10 minutes, or lives less than a
minute in the median over 5 starts, or that systemd or the kubelet waits to start again. What ends
well each time is no crash loop: it is scheduled, or one of many short jobs. So is what cron starts,
as its log tells: how that ended it does not say. Containers are told by name over all their ids, so
that one that is removed and run anew shows, although its restart count stays 0.

One look alone tells of a loop by what its supervisor has counted: a unit that waits for its next
start after 3 restarts or more; a container of a pod that began within ten minutes after 100 or more
(or 10, where its run before began as shortly before), unless all of them did, as after a boot; one
that Docker has kept waiting for 5 s.

How a bare process ended is not recorded. It is a loop (never a crash loop) when the same parent
process starts the same program at a steady pace, one after the other, for a minute or longer, and
does little else. Builds and scripts that start many short programs are not loops.

Who looks at units or containers from time to time misses what starts and ends in between: such
starts are at least so many (≥), and lives at most so long (≤). Where systemd's count of restarts
was read, or a log or the runtime itself tells of each start, the figures are exact.

What each start leaves behind: zombie memory cgroups (by the name of its cgroup; with ≤ others may
have left some of them), the kernel's memory that they hold, and core time.

Examples:
  exhume units                        the last hour
  exhume units --last 12h --all       the healthy ones too
  exhume units --kind container       only containers
  exhume units --json | jq '.lifecycles[] | select(.mark == "crash loop") | .name'
"""

from __future__ import annotations

import argparse

from exhume.cli import common
from exhume.cli.progress import step
from exhume.model.lifecycles import UnitsAnswer

ANSWER = UnitsAnswer
KINDS = ("unit", "container", "process")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="1h", default_for="10m", default_whole=True)
    parser.add_argument(
        "--kind", action="append", default=[], choices=KINDS, help="only these; more than once"
    )
    parser.add_argument("--all", action="store_true", help="the healthy ones too")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.store.queries.units import lifecycles

    view = common.viewpoint_on(args)
    window = common.window_of(args, view)
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        answer = lifecycles(recording, window, tuple(args.kind) or KINDS)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.units import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen), everything=args.all))
    return 0
