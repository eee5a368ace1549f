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
import csv
import difflib
import sys
from collections.abc import Sequence
from datetime import UTC
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.rates import levels, rates
from exhume.model.answers import SeriesAnswer
from exhume.model.evidence import InstanceSeries, SeriesReport
from exhume.model.fields import BY_ID, FIELDS, Field
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = SeriesReport
_CLOSE_NAMES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("field", metavar="FIELD", help="its id: irq.count, memcg.zombies, …")
    parser.add_argument(
        "instance", nargs="*", metavar="INSTANCE", help="39, 'eth0 *drop*'; default: all"
    )
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="instances shown (20)")
    parser.add_argument("--raw", action="store_true", help="counters as they are, not their rate")
    parser.add_argument("--csv", action="store_true", help="every value: time,instance,value")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    window, wanted = common.window_of(args, view), field_of(args.field)
    if args.limit < 1:
        raise common.usage(f"--limit {args.limit} is too few", "at least 1")
    if args.csv and args.json:
        raise common.usage("--csv and --json exclude each other", "give one of them")
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        answer = ask(recording, wanted, window, args.instance, limit=args.limit, raw=args.raw)
    if args.json:
        common.print_json(answer)
    elif args.csv:
        write_csv(answer)
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
    limit: int = 20,
    raw: bool = False,
) -> SeriesReport:
    from exhume.store import queries

    every = queries.series(recording, wanted.id, window)
    chosen = [one for one in every if _is_wanted(one.instance, instances)]
    if every and not chosen:
        raise _no_such(wanted, instances, [one.instance for one in every])
    is_rate = wanted.kind == "counter" and not raw
    made = [_instance(one, is_rate=is_rate) for one in chosen]
    made.sort(key=lambda pair: (-pair[1], pair[0].instance))
    return SeriesReport(
        window=window,
        field=wanted,
        is_rate=is_rate,
        unit=f"{wanted.unit} per second" if is_rate else wanted.unit,
        series=tuple(one for one, _ in made[:limit]),
        left_out=max(0, len(made) - limit),
        notes=recording.problems(window),
    )


def write_csv(answer: SeriesReport) -> None:
    """Times as ISO 8601 in UTC, to the millisecond."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["time", "instance", "value"])
    utc = Viewpoint(0, UTC)
    for one in answer.series:
        name = printable(one.instance)
        for wall_ns, value in zip(one.wall_ns.tolist(), one.values.tolist(), strict=True):
            time = utc.show(wall_ns, 3, with_date=True).replace(" ", "T") + "Z"
            writer.writerow([time, name, "" if np.isnan(value) else f"{value:.15g}"])


def _instance(series: SeriesAnswer, *, is_rate: bool) -> tuple[InstanceSeries, float]:
    """With how active it was: what a counter gained, how high a gauge stood and moved."""
    if is_rate:
        found = rates(series)
        intervals, resets, wall = found.per_second, found.resets, found.per_second.end_ns
        activity = -1.0 if found.total is None else float(found.total)
    else:
        intervals, resets = levels(series), 0
        wall = intervals.start_ns
        least, most = intervals.least(), intervals.most()
        activity = most - least + max(abs(most), abs(least)) if len(wall) else -1.0
    made = InstanceSeries(
        instance=series.instance,
        readings=int(np.isfinite(intervals.values).sum()),
        resets=resets,
        least=intervals.least(),
        mean=intervals.mean(),
        most=intervals.most(),
        last=intervals.last(),
        wall_ns=wall,
        values=intervals.values,
    )
    return made, activity


def _is_wanted(instance: str, wanted: Sequence[str]) -> bool:
    if not wanted or instance in wanted:
        return True
    return any(fnmatchcase(instance, pattern) for pattern in wanted if set("*?") & set(pattern))


def _no_such(wanted: Field, instances: Sequence[str], known: list[str]) -> Exception:
    some = [printable(name) for name in known[:_CLOSE_NAMES]]
    near = difflib.get_close_matches(instances[0], known, 3, 0.5)
    near += [name for name in known if instances[0] in name and name not in near]
    shown = ", ".join(f"'{printable(name)}'" for name in near[:_CLOSE_NAMES]) or ", ".join(some)
    what = f"{wanted.id} was not read of {' or '.join(map(repr, instances))}"
    return common.usage(what, f"it was read of {len(known)}, such as {shown}")
