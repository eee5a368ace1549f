"""Memory cgroups dead and not gone: how many, whose, and when walks become long.

A memory cgroup whose directory was removed lives on as a zombie while anything it was charged for
does: a page of a file, of tmpfs, of a process that moved on. Whoever walks the cgroups walks the
zombies too, so each of them makes some system call a little slower, until one takes seconds. By how
much is measured where such walks were recorded, and else assumed.

Tracked is what the kernel keeps, live has a directory, the rest are zombies. Growth is the median
slope between all pairs of valid counts since the last boot. Parents are told by v2's own counts or
v1's memory that no living child explains; names come from the cgroup tracepoints. Directories that
are live but empty are leaked too, but they are another disease and counted apart.

Examples:
  exhume zombies                   the last 6 hours
  exhume zombies --last 7d         a slow leak
  exhume zombies --json | jq .growth.per_hour
"""

from __future__ import annotations

import argparse

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import SourceState

ANSWER = ZombiesAnswer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="6h", default_for="1h")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.inquiry.zombies import zombies

    view = common.viewpoint_on(args)
    window = common.window_of(args, view)
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        answer = zombies(recording, window, sources(args))
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.zombies import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen)))
    return 0


def sources(args: argparse.Namespace) -> tuple[SourceState, ...]:
    """What the recorder of this directory last said; nothing where it is only a copy."""
    from exhume.errors import ExhumeError
    from exhume.record.status import read

    try:
        return read(common.data_dir(args)).sources
    except (ExhumeError, OSError):
        return ()
