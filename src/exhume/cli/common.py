"""Options that commands share, and what becomes of them: the recording, the window, the filter."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from exhume.cli.figures import NS, count
from exhume.cli.safe import printable
from exhume.cli.times import (
    DURATION_FORMS,
    TIME_FORMS,
    Viewpoint,
    local_zone,
    parse_duration,
    parse_time,
)
from exhume.config import default_data_dir
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.host import SystemClock
from exhume.model.window import Window

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from exhume.model.answers import Filter, Span
    from exhume.store.recording import Recording

MODES = ("user", "system", "softirq", "irq")
_MAX_CORE = 65_535
_SPANS_IN_MESSAGE = 5
_NAMES_IN_MESSAGE = 8
_FILTERS = {
    "comms": ("--comm", "threads"),
    "pids": ("--pid", "processes"),
    "tids": ("--tid", "threads"),
    "cgroups": ("--cgroup", "cgroups"),
    "units": ("--unit", "units"),
    "containers": ("--container", "containers"),
    "pods": ("--pod", "pods"),
}


class Look(Struct, frozen=True):
    """The screen: what a renderer may know of it."""

    width: int
    height: int
    colour: bool
    """Enough colours for a gradient; glyphs and letters carry the meaning without."""


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the recording's directory (default: /var/lib/exhume for root, otherwise "
        "$XDG_STATE_HOME/exhume or ~/.local/state/exhume)",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the answer as JSON; see docs/schema/")
    parser.add_argument("--utc", action="store_true", help="times in UTC instead of the local zone")


def add_window(
    parser: argparse.ArgumentParser,
    *,
    default: str,
    default_for: str = "5s",
    default_whole: bool = False,
    without: str = "",
) -> None:
    """`default_whole`: of an imported recording also where there are only events. `without`: what
    is asked where no window is given, if that is not the last `default`."""
    forms = textwrap.indent(f"{TIME_FORMS}\n", "  ")
    whole = f"--last {default}; of an imported recording, all of it, and its end is `now`."
    group = parser.add_argument_group(
        "the window",
        f"Without any of these: {without or whole}\n"
        f"A time T is one of\n{forms}A duration D is one of\n  {DURATION_FORMS}",
    )
    group.add_argument("--last", metavar="D", help="the last D up to now")
    group.add_argument("--at", metavar="T", help="from T on, for as long as --for says")
    group.add_argument(
        "--for", dest="length", metavar="D", help=f"with --at: how long (default: {default_for})"
    )
    group.add_argument("--from", dest="start", metavar="T", help="from T, up to --to")
    group.add_argument(
        "--to", dest="end", metavar="T",
        help="with --from: a clock time without a date is the first after it (default: now)",
    )  # fmt: skip
    parser.set_defaults(default_last=default, default_for=default_for, default_whole=default_whole)


def add_filter(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which samples (each may be given more than once)")
    group.add_argument("--core", action="append", default=[], metavar="N", help="39, or 0-3,7")
    group.add_argument(
        "--comm", action="append", default=[], metavar="NAME",
        help="of a process, with all its threads, or of a thread",
    )  # fmt: skip
    group.add_argument(
        "--pid", action="append", default=[], type=int, metavar="PID", help="process id"
    )
    group.add_argument(
        "--tid", action="append", default=[], type=int, metavar="TID", help="thread id"
    )
    group.add_argument(
        "--cgroup", action="append", default=[], metavar="PATH", help="with all below it"
    )
    group.add_argument(
        "--unit", action="append", default=[], metavar="NAME", help="systemd unit: kubelet.service"
    )
    group.add_argument(
        "--container", action="append", default=[], metavar="NAME", help="by name, or start of id"
    )
    group.add_argument(
        "--pod", action="append", default=[], metavar="NAME", help="namespace/name, or its uid"
    )
    group.add_argument(
        "--mode", action="append", default=[], choices=MODES, help="what the core did"
    )


def data_dir(args: argparse.Namespace) -> Path:
    given: Path | None = args.data
    return default_data_dir() if given is None else given


def viewpoint(args: argparse.Namespace) -> Viewpoint:
    return Viewpoint(SystemClock().wall_ns(), UTC if args.utc else local_zone())


def viewpoint_on(args: argparse.Namespace) -> Viewpoint:
    """For a question about a recording: of an imported one, times are said from its end."""
    from exhume.store.ended import ended_in

    return replace(viewpoint(args), ended=ended_in(data_dir(args)))


def window_of(args: argparse.Namespace, view: Viewpoint) -> Window:
    """The window asked for. The ways to ask exclude each other."""
    ways = [f"--{name}" for name, value in _ways(args) if value is not None]
    if len(ways) > 1:
        raise usage(f"{' and '.join(ways)} exclude each other", "give one of them")
    if args.length is not None and args.at is None:
        raise usage("--for goes with --at", f"for example --at 03:14:07 --for {args.length}")
    if args.end is not None and args.start is None:
        raise usage("--to goes with --from", f"for example --from 03:14 --to {args.end}")
    if args.at is not None:
        start_ns = parse_time(args.at, view)
        return Window(start_ns, start_ns + parse_duration(args.length or args.default_for))
    if args.start is not None:
        start_ns = parse_time(args.start, view)
        end_ns = view.latest_ns if args.end is None else _end_after(start_ns, args.end, view)
        if end_ns is None:
            todo = "give --to with its date where the next day is meant"
            raise usage(f"--to {args.end} is before --from {args.start}", todo)
        if end_ns <= start_ns:
            shown = Window(start_ns, end_ns)
            raise usage(f"the window {view.show_window(shown)} is empty", "--to comes after --from")
        return Window(start_ns, end_ns)
    if args.last is None and view.ended is not None:
        return view.ended.whole if args.default_whole else view.ended.measured
    length_ns = parse_duration(args.last or args.default_last)
    return Window(view.latest_ns - length_ns, view.latest_ns)


def _end_after(start_ns: int, text: str, view: Viewpoint) -> int | None:
    """None where only the next day has that clock time after the start, and what was recorded ends
    nearer to the one before: then the two are the wrong way round."""
    end_ns = parse_time(text, view, after_ns=start_ns)
    before_ns = parse_time(text, view)
    is_next_day = view.local(end_ns).date() > view.local(start_ns).date()
    is_far = end_ns - view.latest_ns > view.latest_ns - before_ns
    return None if before_ns <= start_ns and is_next_day and is_far else end_ns


def filter_of(args: argparse.Namespace) -> Filter:
    from exhume.model.answers import Filter  # not for the recorder, which imports this module too

    return Filter(
        cores=parse_cores(args.core),
        comms=tuple(args.comm),
        pids=tuple(args.pid),
        tids=tuple(args.tid),
        cgroups=tuple(args.cgroup),
        units=tuple(args.unit),
        containers=tuple(args.container),
        pods=tuple(args.pod),
        modes=tuple(args.mode),
    )


def parse_cores(texts: Sequence[str]) -> tuple[int, ...]:
    cores: set[int] = set()
    for part in ",".join(texts).split(",") if texts else ():
        first, dash, last = part.strip().partition("-")
        low, high = _core(first), _core(last if dash else first)
        if low is None or high is None or high < low:
            raise usage(f"'{part}' is not a core", "write --core 39, --core 0-3,7")
        cores.update(range(low, high + 1))
    return tuple(sorted(cores))


def open_recording(args: argparse.Namespace) -> Recording:
    directory = data_dir(args)
    if not directory.is_dir():
        from exhume.store.absent import no_recording

        raise no_recording(directory)
    from exhume.store.heads import read_heads
    from exhume.store.recording import Recording

    return Recording.open(directory, heads=read_heads)


def need_cores(recording: Recording, cores: Sequence[int]) -> None:
    """An empty answer would look like cores that did nothing."""
    from exhume.store import queries

    known = queries.recorded_cores(recording) if cores else ()
    missing = sorted(set(cores) - set(known)) if known else []
    if missing and len(missing) == len(set(cores)):
        raise no_core(missing, known)
    if missing:
        error = no_core(missing, known)
        tell_problems([f"{error.what}: {error.todo}"])


def need_sampled(recording: Recording, window: Window, chosen: Filter) -> None:
    """Of a filter that no sample fits: whether it ever could, or names nobody."""
    from exhume.store import queries

    found = queries.never_sampled(recording, window, chosen)
    if found is None:
        return
    option, nouns = _FILTERS[found.part]
    others = list(map(printable, found.others))
    near = difflib.get_close_matches(found.values[0], others, _NAMES_IN_MESSAGE, 0.6)
    if near:
        todo = f"did you mean {', '.join(near)}?"
    elif others:
        todo = f"{nouns} in this window: {', '.join(others[:_NAMES_IN_MESSAGE])}"
        todo += ", …" if len(others) > _NAMES_IN_MESSAGE else ""
    elif found.part in ("pids", "tids"):
        todo = "'exhume top' shows who ran"
    else:
        todo = f"no {nouns} are known in this window; 'exhume top' shows who ran"
    raise usage(f"no sample of {option} {', '.join(found.values)} at any time recorded", todo)


def no_core(cores: Sequence[int], known: Sequence[int]) -> ExhumeError:
    recorded = f"{min(known)} to {max(known)}" if known else "none"
    named = ", ".join(map(str, cores[:_NAMES_IN_MESSAGE]))
    more = f" and {len(cores) - _NAMES_IN_MESSAGE:,} more" if len(cores) > _NAMES_IN_MESSAGE else ""
    return usage(f"no core {named}{more}", f"recorded are cores {recorded}")


def need_recorded(spans: Sequence[Span], window: Window, view: Viewpoint) -> None:
    """An empty answer would look like an idle machine; say what there is instead."""
    # A damaged stretch may still answer in part; one that lost even its index has no samples.
    readable = [span for span in spans if span.state != "damaged" or span.samples]
    if any(span.window.overlaps(window) for span in readable):
        return
    stretches = joined([span.window for span in readable])
    shown = [view.show_window(stretch) for stretch in stretches[-_SPANS_IN_MESSAGE:]]
    if len(stretches) > len(shown):
        shown.insert(0, f"{count(len(stretches) - len(shown), 'earlier stretch', 'earlier ones')}")
    start, _, end = view.show_window(window).partition(" – ")
    what = f"nothing recorded between {start} and {end}"
    for span in spans:
        if span.window.overlaps(window):
            what = f"what was recorded between {start} and {end} is damaged ({span.problem})"
    if not shown:
        raise ExhumeError(f"{what}, nor at any other time", todo="'exhume up' records this node")
    last = stretches[-1]
    example = " ".join(
        f"{option} {view.local(at_ns).isoformat(timespec='seconds')}"
        for option, at_ns in (("--from", last.start_ns), ("--to", last.end_ns + NS))
    )
    raise ExhumeError(
        f"{what}; recorded are: {'; '.join(shown)}", todo=f"ask for one of those: {example}"
    )


def tell_problems(problems: Sequence[str]) -> None:
    """What weakens an answer that has no place for it goes to stderr: --folded stays clean."""
    for problem in problems:
        print(f"exhume: note: {printable(problem)}", file=sys.stderr)


def joined(windows: Sequence[Window], slack_ns: int = 5_000_000_000) -> list[Window]:
    """Stretches that touch, as one."""
    found: list[Window] = []
    for window in sorted(windows):
        if found and window.start_ns <= found[-1].end_ns + slack_ns:
            found[-1] = Window(found[-1].start_ns, max(found[-1].end_ns, window.end_ns))
        else:
            found.append(window)
    return found


def console(width: int | None = None) -> Console:
    from rich.console import Console

    return Console(width=width, highlight=False, markup=False, emoji=False)


def look_of(screen: Console) -> Look:
    colours = screen.color_system in ("truecolor", "256") and not screen.no_color
    height = screen.height if screen.is_terminal else 60
    return Look(width=screen.width, height=height, colour=colours)


def show(screen: Console, renderable: RenderableType) -> None:
    screen.print(renderable, soft_wrap=False)


def print_json(answer: object) -> None:
    # ASCII only: a name may hold escapes that a terminal would follow.
    from exhume.model.jsonable import jsonable

    json.dump(jsonable(answer), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def _ways(args: argparse.Namespace) -> tuple[tuple[str, str | None], ...]:
    return ("last", args.last), ("at", args.at), ("from", args.start)


def _core(text: str) -> int | None:
    plain = text.isascii() and text.isdigit() and len(text) <= 5
    return int(text) if plain and int(text) <= _MAX_CORE else None


def usage(what: str, todo: str) -> ExhumeError:
    return ExhumeError(what, todo=todo, exit_code=EXIT_USAGE)
