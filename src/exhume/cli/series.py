"""One recorded field over time: a line for each core, device or process.

Counters are shown as their rate per second, gauges as they are; --raw shows every field as the
kernel gave it. A column of the line is as high as its highest reading, so that a burst of a second
is still there in twelve hours; dots were not recorded. A counter that fell was set back: that
interval is left out and counted under `resets`. Instances may hold * and ?.

'exhume fields' lists what there is.

Examples:
  exhume series irq.count --last 1h            the busiest interrupt lines
  exhume series softnet.squeezed 39            one core
  exhume series nic.stat 'eth0 *reset*'        some of a driver's counters
  exhume series memory.percpu_bytes --last 12h --csv > percpu.csv
  exhume series memcg.tracked --raw --json
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.derive.series_report import not_recorded, series_report
from exhume.model.evidence import SeriesReport
from exhume.model.fields import BY_ID, FIELDS, Field
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = SeriesReport
_CLOSE_NAMES = 5
_NAMED = 12
_LIMIT = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("field", metavar="FIELD", help="its id: irq.count, memcg.zombies, …")
    parser.add_argument(
        "instance", nargs="*", default=[], metavar="INSTANCE",
        help="39, 'eth0 *drop*' (default: all)",
    )  # fmt: skip
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m")
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help=f"instances shown (default: {_LIMIT}, with --csv all)",
    )
    parser.add_argument("--raw", action="store_true", help="counters as they are, not their rate")
    parser.add_argument(
        "--csv", action="store_true", help="every value: time,epoch_seconds,instance,value"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window, wanted = common.window_of(args, view), field_of(args.field)
    if args.limit is not None and args.limit < 1:
        raise common.usage(f"--limit {args.limit} is too few", "at least 1")
    if args.csv and args.json:
        raise common.usage("--csv and --json exclude each other", "give one of them")
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        limit = args.limit or (None if args.csv else _LIMIT)
        answer = ask(recording, wanted, window, args.instance, limit=limit, raw=args.raw)
    if args.json:
        common.print_json(answer)
    elif args.csv:
        from exhume.export import tables

        sys.stdout.writelines(tables.series(answer, line_end="\n"))
        common.tell_problems([*answer.notes, *([] if answer.series else [not_recorded(wanted)])])
    else:
        from exhume.cli.render.series import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen)))
    return 0


def field_of(name: str) -> Field:
    """Of the catalogue; names that are near are told."""
    if name in BY_ID:
        return BY_ID[name]
    near = difflib.get_close_matches(name, BY_ID, _CLOSE_NAMES, 0.6)
    near += [entry.id for entry in FIELDS if name and name in entry.id and entry.id not in near]
    todo = "'exhume fields' lists what there is"
    if near:
        todo = f"did you mean {', '.join(near[:_CLOSE_NAMES])}? {todo}"
    raise common.usage(f"there is no field '{name}'", todo)


def ask(
    recording: Recording,
    wanted: Field,
    window: Window,
    instances: Sequence[str] = (),
    *,
    limit: int | None = _LIMIT,
    raw: bool = False,
) -> SeriesReport:
    from exhume.store import queries

    every = queries.series(recording, wanted.id, window)
    notes = recording.problems(window)
    if not every:
        notes = (_there_are(recording, wanted, window), *notes)
    return series_report(wanted, window, every, instances, limit=limit, raw=raw, notes=notes)


def _there_are(recording: Recording, wanted: Field, window: Window) -> str:
    """Fields of that kind first: the catalogue has also what no file told of."""
    kind = wanted.id.split(".")[0]
    known = {field for view in recording.views(window) for field in view.fields()}
    named = sorted(known, key=lambda field: (field.split(".")[0] != kind, field))
    if not named:
        return "no field is counted in this window"
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    return f"fields in this window: {', '.join(named[:_NAMED])}{more}"
