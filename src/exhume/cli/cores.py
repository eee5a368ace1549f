"""Which cores were busy when: a map of core × time, by its worst seconds.

One row is a core, one column a stretch of time, and a cell is drawn by its worst second, so that a
burst of 3 s is still there in a map of 12 h. The mean of the node stands above the worst core: the
average that looked healthy, next to what it hid. Cells that were not recorded are dots, not zeros.
Of a perf capture alone, without times of cores, samples are counted.
A cell at 80 % or more shows a letter for what the core did, unless that was user mode: S system,
Q softirq, I hardware interrupts, T steal. Above the map ▲ marks harm (a known kernel log line, a
job failure), △ what may explain some (a failed unit, a core off or on, a step of the clock, a gap).
Below the map: when single cores were full.

Examples:
  exhume cores                               the last 10 minutes
  exhume cores --last 12h                    a night at a glance
  exhume cores --at 03:14:07 --for 1m        second by second
  exhume cores --last 1h --sort heat --all   every core, the busiest first
  exhume cores --last 10m --core 36-42       a few of them
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from msgspec import Struct

from exhume.cli import common
from exhume.cli.figures import NS
from exhume.cli.progress import step
from exhume.cli.render.core_words import CoresAnswer
from exhume.derive.bursts import Burst, bursts
from exhume.derive.event_groups import NOTABLE_KINDS, severity
from exhume.model.answers import MAP_MODES, CoreMap, EventAnswer
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = CoresAnswer
JSON_COLUMNS = 120

# Up to here bursts are looked for second by second. In longer windows only around the columns in
# which a core was full: a map of 12 h by seconds would hold 4 million cells.
_SECONDS_AT_ONCE = 3_600
_STRETCHES = 100
_SEARCH_COLUMNS, _SEARCH_SECONDS = 2_700, 8
"""Of the map that is searched. The one that is shown has as many as the terminal has room for, and
what is found must not depend on that."""
_MOST_EVENTS = 1_000
_BY_SAMPLES = (
    "counted from samples where no times of cores were recorded: only what the profiler saw, "
    "without steal and waiting; a core that idled for ten minutes is not there, nor in the mean"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m")
    parser.add_argument("--core", action="append", default=[], metavar="N", help="39, or 0-3,7")
    parser.add_argument("--sort", choices=("number", "heat"), default="number", help="row order")
    parser.add_argument("--all", action="store_true", help="every core, also the quiet ones")
    parser.add_argument(
        "--columns", type=int, metavar="N", help="of the map (default: what fits the terminal)"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window = whole_seconds(common.window_of(args, view))
    screen = common.console()
    look = common.look_of(screen)
    columns, cores = _columns(args, look, window), common.parse_cores(args.core)
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        answer = ask(recording, window, columns, cores)
    if missing := sorted(set(cores) - set(answer.map.cores)):
        common.tell_problems([f"{common.no_core(missing, ()).what} in this window"])
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.cores import render

        common.show(screen, render(answer, view, look, sort=args.sort, everything=args.all))
    return 0


def ask(
    recording: Recording, window: Window, columns: int, cores: tuple[int, ...] = ()
) -> CoresAnswer:
    from exhume.perf.eventnames import of_a_part
    from exhume.store import queries

    every = queries.core_map(recording, window, columns)
    whole = only(every, cores)
    search = where_to_search(_finer(recording, whole, cores))
    found = list(search.too_long)
    for stretch in search.stretches:
        seconds = max(1, math.ceil(stretch.seconds))
        found += bursts(only(queries.core_map(recording, stretch, seconds), cores))
    notes = list(recording.problems(window))
    if not every.cores:
        notes += queries.no_cores(recording)
    if whole.by_samples:
        notes.append(_BY_SAMPLES)
        notes += map(of_a_part, queries.events_of_a_part(recording, window))
    if search.skipped:
        notes.append(
            f"bursts were looked for around {_STRETCHES} of {_STRETCHES + search.skipped} places "
            "where a core was full; a shorter window shows all"
        )
    ranked = tuple(sorted(found, key=Burst.rank))
    return CoresAnswer(whole, MAP_MODES, ranked, tuple(notes), notable(recording, window))


def _finer(recording: Recording, whole: CoreMap, cores: tuple[int, ...]) -> CoreMap:
    from exhume.store import queries

    columns = min(_SEARCH_COLUMNS, math.ceil(whole.window.seconds / _SEARCH_SECONDS))
    if whole.window.seconds <= _SECONDS_AT_ONCE or columns <= whole.worst_mode.shape[1]:
        return whole
    return only(queries.core_map(recording, whole.window, columns), cores)


def notable(recording: Recording, window: Window) -> tuple[EventAnswer, ...]:
    """What may matter, in order of time; of a flood the most severe."""
    from exhume.store import queries

    found = [e for e in queries.events(recording, window, NOTABLE_KINDS) if severity(e)]
    worst = sorted(found, key=lambda event: -severity(event))[:_MOST_EVENTS]
    return tuple(sorted(worst, key=lambda event: event.wall_ns))


def whole_seconds(window: Window) -> Window:
    """Cells are seconds: a window between them would cut each in two."""
    start_ns = window.start_ns // NS * NS
    return Window(start_ns, max(start_ns + NS, -(-window.end_ns // NS) * NS))


class Search(Struct, frozen=True):
    """Where to look for bursts second by second, given the map of the whole window."""

    stretches: list[Window]
    too_long: list[Burst]
    """Not looked into: the map itself says enough of a core that was full for hours."""
    skipped: int


def where_to_search(answer: CoreMap) -> Search:
    if answer.window.seconds <= _SECONDS_AT_ONCE:
        return Search([answer.window], [], 0)
    slack_ns = 60 * NS
    coarse = bursts(answer)
    too_long = [burst for burst in coarse if burst.window.seconds >= _SECONDS_AT_ONCE]
    short = [burst for burst in coarse if burst.window.seconds < _SECONDS_AT_ONCE]
    around = [
        whole_seconds(Window(burst.window.start_ns - slack_ns, burst.window.end_ns + slack_ns))
        for burst in short[:_STRETCHES]
    ]
    step_ns = _SECONDS_AT_ONCE * NS
    pieces = [
        Window(start_ns, min(start_ns + step_ns, stretch.end_ns)).clip(answer.window)
        for stretch in common.joined(around, slack_ns=0)
        for start_ns in range(stretch.start_ns, stretch.end_ns, step_ns)
    ]
    stretches = [piece for piece in pieces if piece is not None]
    return Search(stretches, too_long, max(0, len(short) - _STRETCHES))


def only(answer: CoreMap, cores: tuple[int, ...]) -> CoreMap:
    if not cores:
        return answer
    found = answer.only(cores)
    if not found.cores:
        raise common.no_core(cores, answer.cores)
    return found


def _columns(args: argparse.Namespace, look: common.Look, window: Window) -> int:
    from exhume.cli.render.cores import plot_width

    wanted: int | None = args.columns
    if wanted is not None and wanted < 1:
        raise common.usage(f"--columns {wanted} is too few", "at least 1")
    fitting = wanted or (JSON_COLUMNS if args.json else plot_width(look.width))
    return min(fitting, max(1, math.ceil(window.seconds)))
