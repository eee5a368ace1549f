"""From a recording to a file of another tool: asks the store, and hands the values to a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume import __version__
from exhume.derive.series_report import not_recorded, series_report
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export import firefox, folded, pprof, speedscope, svg, tables
from exhume.export.holding import held, marked_events
from exhume.export.words import described, window_text
from exhume.model.answers import Filter, FlameTree
from exhume.model.fields import Field
from exhume.model.window import Window
from exhume.perf.eventnames import no_time
from exhume.store import queries
from exhume.store.queries.notes import notes
from exhume.store.queries.profile_totals import profile_totals
from exhume.store.queries.sample_stream import SampleStream
from exhume.store.recording import Recording

EXPORTER = f"exhume {__version__}"
EVERYTHING = Filter()
MAX_CELLS = 20_000_000
"""Of the map of cores: more would not fit the memory it is made in."""
_MS = 1_000_000
_SECOND_NS = 1_000_000_000
_PIECE = 1 << 18
_COARSE = {
    "core": (),
    "thread": ("too many stacks to tell cores apart: there are no labels for cores",),
    "process": ("too many stacks to tell threads apart: no labels for cores and threads",),
}


class Format(Struct, frozen=True):
    name: str
    suffix: str
    media_type: str
    is_binary: bool
    read_by: str


FORMATS = {
    one.name: one
    for one in (
        Format("folded", ".folded", "text/plain", False, "flamegraph.pl, inferno, speedscope"),
        Format("speedscope", ".speedscope.json", "application/json", False, "speedscope"),
        Format("pprof", ".pb.gz", "application/octet-stream", True, "go tool pprof, Grafana"),
        Format("firefox", ".firefox.json", "application/json", False, "profiler.firefox.com"),
        Format("svg", ".svg", "image/svg+xml", False, "any browser"),
        Format("csv", ".csv", "text/csv", False, "spreadsheets, pandas, DuckDB"),
    )
}


class Options(Struct, frozen=True):
    """What only some formats look at."""

    by: str = "process"
    """speedscope: a profile for each `process`, `thread` or `core`."""
    mark_kernel: bool = False
    """folded: kernel frames end in _[k]."""
    width: int = 1200
    """svg: in pixels."""
    title: str = ""
    """svg: default: the node and the window."""
    field: Field | None = None
    """csv: of this field; without one, the map of cores."""
    instances: tuple[str, ...] = ()
    raw: bool = False
    """csv: counters as they are, not their rate."""
    step_ns: int = _SECOND_NS
    """csv: how long a column of the map of cores is; it begins at a multiple of that."""


class Export(Struct, frozen=True):
    """A file on its way: its pieces, to be gone through once."""

    pieces: Iterator[bytes]
    count: int
    noun: str
    """What there are `count` of."""
    notes: tuple[str, ...] = ()
    """What was left out, and why there is nothing where there is nothing."""
    window: Window | None = None
    """What it is of: of a window that begins before all that was recorded, or ends after it, the
    part between. A table keeps the steps that were asked for."""


def write(
    format: str,  # noqa: A002
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    options: Options | None = None,
) -> bytes:
    """The whole file, in memory."""
    return b"".join(make(format, recording, window, filter, options).pieces)


def make(
    format: str,  # noqa: A002
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    options: Options | None = None,
) -> Export:
    """Reads now; the pieces only bring what was read into the format."""
    if format not in _MAKERS:
        raise ExhumeError(
            f"there is no format '{format}'",
            todo=f"one of {', '.join(_MAKERS)}",
            exit_code=EXIT_USAGE,
        )
    part = window if format == "csv" else _recorded(recording, window)
    made = _MAKERS[format](recording, part, filter, options or Options())
    made = replace(made, window=part)
    if made.noun != "sample":
        return made
    if made.count:
        counted = map(no_time, queries.no_time_events(recording, window))
        return replace(made, notes=(*made.notes, *counted))
    return replace(made, notes=(*made.notes, *_why_no_samples(recording, window, filter)))


def _recorded(recording: Recording, window: Window) -> Window:
    """A profile of `--last 30d` would be a month of nothing with a night in it."""
    views = recording.views(window)
    if not views:
        return window
    return Window(
        max(window.start_ns, min(view.window.start_ns for view in views)),
        min(window.end_ns, max(view.window.end_ns for view in views)),
    )


def _why_no_samples(recording: Recording, window: Window, wanted: Filter) -> tuple[str, ...]:
    """An empty file would look like an idle machine."""
    seconds = queries.seconds_sampled(recording, window)
    words = described(wanted)
    none = f"no samples of {words} in this window" if words else "no samples in this window"
    return (none, *notes(recording, window, wanted.cores, seconds))


def _folded(recording: Recording, window: Window, wanted: Filter, options: Options) -> Export:
    tree = queries.flame(recording, window, wanted)
    lines = folded.lines(tree, mark_kernel=options.mark_kernel)
    return Export(_encoded(line + "\n" for line in lines), tree.samples, "sample")


def _svg(recording: Recording, window: Window, wanted: Filter, options: Options) -> Export:
    tree = queries.flame(recording, window, wanted)
    counted = queries.no_time_events(recording, window)
    seconds = queries.seconds_sampled(recording, window)
    amount = f"{tree.samples:,} samples of {', '.join(counted)}"
    amount = amount if counted else _amount(tree, seconds)
    subtitle = " · ".join(part for part in (amount, described(wanted)) if part)
    title = options.title or f"{_node(recording, window)} · {window_text(window)}"
    made = svg.chunks(
        tree, title=title, subtitle=subtitle, width=options.width, is_of_time=not counted
    )
    return Export(_encoded(made), tree.samples, "sample")


def _speedscope(recording: Recording, window: Window, wanted: Filter, options: Options) -> Export:
    profile = held(recording, window, wanted, "speedscope", speedscope.MAX_SAMPLES)
    name = f"{profile.tables.node} · {window_text(window)}"
    made = speedscope.chunks(profile, by=options.by, name=name, exporter=EXPORTER)
    return Export(_encoded(made), len(profile.samples), "sample")


def _pprof(recording: Recording, window: Window, wanted: Filter, _: Options) -> Export:
    totals = profile_totals(SampleStream(recording, window, wanted), pprof.MAX_ROWS)
    if totals is None:
        raise ExhumeError(
            f"more than {pprof.MAX_ROWS:,} stacks, by process, in {window_text(window)}: "
            "pprof can't hold that",
            todo="ask for less, or for fewer with --core, --comm, --unit; folded and svg add up "
            "windows of any length",
            exit_code=EXIT_USAGE,
        )
    about = [f"{EXPORTER}, {totals.tables.event} samples of {totals.tables.node}"]
    about += [f"Linux {totals.tables.kernel}", described(wanted)]
    seconds = queries.seconds_sampled(recording, window)
    made = pprof.chunks(totals, seconds, comments=[text for text in about if text])
    return Export(made, int(totals.count.sum()), "sample", _COARSE[totals.detail])


def _firefox(recording: Recording, window: Window, wanted: Filter, _: Options) -> Export:
    profile = held(recording, window, wanted, "firefox", firefox.MAX_SAMPLES)
    events, left_out = marked_events(recording, window)
    made = firefox.chunks(profile, events, exporter=EXPORTER)
    return Export(_encoded(made), len(profile.samples), "sample", left_out)


def _csv(recording: Recording, window: Window, wanted: Filter, options: Options) -> Export:
    if wanted != Filter(cores=() if options.field else wanted.cores):
        raise ExhumeError(
            "csv is of counters, which know no processes or modes",
            todo="--instance chooses with --field, --core without; the other formats take filters",
            exit_code=EXIT_USAGE,
        )
    if options.field is None:
        return _core_map(recording, window, wanted.cores, options.step_ns)
    every = queries.series(recording, options.field.id, window)
    report = series_report(
        options.field, window, every, options.instances, limit=None, raw=options.raw
    )
    values = sum(len(one.values) for one in report.series)
    why = () if values else (not_recorded(options.field),)
    return Export(_encoded(tables.series(report)), values, "value", why)


def _core_map(recording: Recording, window: Window, cores: tuple[int, ...], step_ns: int) -> Export:
    window, columns = _in_steps(window, step_ns)
    probe = queries.core_map(recording, window, 1)
    cells = columns * max(1, len(probe.cores))
    if cells > MAX_CELLS:
        raise ExhumeError(
            f"a map of {len(probe.cores)} cores × {columns:,} columns is too big",
            todo=f"give a longer --step, such as {_round(2 * step_ns * cells // MAX_CELLS)}",
            exit_code=EXIT_USAGE,
        )
    answer = queries.core_map(recording, window, columns)
    answer = answer.only(cores) if cores else answer
    which = described(Filter(cores=cores)) or "core"
    is_known = np.isfinite(answer.worst_percent_of_core).any()
    why = () if is_known else (f"no {which} was recorded in this window",)
    return Export(_encoded(tables.core_map(answer)), columns * len(answer.cores), "row", why)


def _in_steps(window: Window, step_ns: int) -> tuple[Window, int]:
    """Whole steps of wall time, so that maps of two nodes have the same, and how many."""
    first = window.start_ns // step_ns
    # The end of what was recorded is an instant after its last reading: that begins no step.
    last = max(first, (window.end_ns - 2) // step_ns)
    return Window(first * step_ns, (last + 1) * step_ns), last + 1 - first


def _round(length_ns: int) -> str:
    """Not shorter, as a --step is written."""
    unit, unit_ns = ("ms", _MS) if length_ns < _SECOND_NS else ("s", _SECOND_NS)
    return f"{-(-length_ns // unit_ns)}{unit}"


def _amount(tree: FlameTree, seconds_sampled: float) -> str:
    core_ns = int(tree.total_ns[0])
    share = f", {core_ns / 1e7 / seconds_sampled:.1f} % of one core" if seconds_sampled else ""
    return f"{tree.samples:,} samples, {core_ns / 1e9:,.2f} s of core time{share}"


def _node(recording: Recording, window: Window) -> str:
    return ", ".join(dict.fromkeys(view.origin.node for view in recording.views(window)))


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    """In pieces of some size: a write for each sample would take longer than making it."""
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size > _PIECE:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()


_MAKERS: dict[str, Callable[[Recording, Window, Filter, Options], Export]] = {
    "folded": _folded,
    "speedscope": _speedscope,
    "pprof": _pprof,
    "firefox": _firefox,
    "svg": _svg,
    "csv": _csv,
}
