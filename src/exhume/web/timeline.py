"""Answers for the time axis: what is recorded, the core map, marks, gauges."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
from starlette.datastructures import QueryParams

from exhume import __version__
from exhume.derive.event_groups import NOTABLE_KINDS
from exhume.derive.event_marks import event_marks
from exhume.derive.rates import Intervals, columns, levels, rates
from exhume.derive.worst import worst_cores
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export import FORMATS
from exhume.model.answers import (
    MAP_MODES,
    CoreNode,
    CoreQueues,
    CoreTimes,
    SeriesAnswer,
    Span,
)
from exhume.model.fields import BY_ID, FIELDS
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.ended import ended
from exhume.web import questions
from exhume.web.answers import (
    CoreCells,
    FieldEntries,
    FieldEntry,
    Gauge,
    GaugeLine,
    Marks,
    RecordedStretch,
    RecordingInfo,
)
from exhume.web.asked import Asked
from exhume.web.report import REPORTS

LIVE_NS = 10_000_000_000
"""A head that was written to within this time has a recorder behind it."""
GAP_NS = 5_000_000_000
_MICRO_NS = 1_000
_BY_SAMPLES_SECONDS = 0.5
"""Columns narrower than this show samples: the counters are read once a second."""
_COLUMNS = questions.counted("columns", "Of the answer, from left to right.", 600,
                             questions.MAX_COLUMNS)  # fmt: skip
_MODE = questions.chosen("show", "All modes together, or one.", ("busy", *MAP_MODES))
_LIMIT = questions.counted("limit", "Instances at most, the highest first.", 6, 100)
_INSTANCE = questions.Parameter("instance", "Only this core, line, …", {"type": "string"}, True)

CORES = (*questions.WINDOW, _COLUMNS, _MODE)
MARKS = (*questions.WINDOW, _COLUMNS)
GAUGE = (*questions.WINDOW, _COLUMNS, _LIMIT, _INSTANCE)


def recording(asked: Asked) -> RecordingInfo:
    spans = asked.recording.spans()
    views = asked.recording.views()
    last = views[-1].origin if views else None
    whole, imported = asked.whole, ended(asked.recording)
    heads = [span for span in spans if span.state == "head"]
    return RecordingInfo(
        version=__version__,
        node=last.node if last else "",
        kernel=last.kernel if last else "",
        window=_askable(whole),
        measured=_askable(imported.measured if imported else whole),
        now_wall_ns=asked.now_ns,
        is_live=any(asked.now_ns - span.window.end_ns < LIVE_NS for span in heads),
        cores=queries.recorded_cores(asked.recording),
        modes=MAP_MODES,
        stretches=tuple(RecordedStretch(s.window, s.state, s.pinned, s.problem) for s in spans),
        gaps=_gaps(spans, whole),
        samples=sum(span.samples for span in spans),
        export_formats=tuple(FORMATS),
        report_formats=tuple(REPORTS),
    )


def _askable(window: Window) -> Window:
    """In whole microseconds, which seconds as JSON has them can tell, and with all that is in it.

    What was imported of a log begins with the first thing that it tells of and ends with the last.
    """
    start, end = window.start_ns // _MICRO_NS, -(-window.end_ns // _MICRO_NS)
    return Window(start * _MICRO_NS, end * _MICRO_NS)


def by_samples(query: QueryParams) -> bool:
    """Columns narrower than the seconds that counters are read in. Without a window it is long."""
    if "start" not in query or "end" not in query:
        return False
    window = questions.window(query, Window(0, 1))
    return window.seconds / questions.number(query, _COLUMNS) < _BY_SAMPLES_SECONDS


def cores(asked: Asked) -> CoreCells:
    window, count = asked.window, questions.number(asked.query, _COLUMNS)
    show = questions.choice(asked.query, _MODE)
    is_sampled = by_samples(asked.query) and any(
        view.sample_count for view in asked.recording.views(window)
    )
    ask = queries.sample_map if is_sampled else queries.core_map
    found = ask(asked.recording, window, count)
    percent = (
        found.worst_percent_of_core
        if show == "busy"
        else found.mode_percent_of_core[MAP_MODES.index(show)]
    )
    worst, worst_core = worst_cores(found, percent)
    return CoreCells(
        window=window,
        column_seconds=found.column_seconds,
        mode=show,
        source="samples" if found.by_samples else "counters",
        columns=count,
        cores=found.cores,
        worst=_packed(np.where(np.isnan(percent), 255, np.rint(percent * 2))),
        worst_mode=_packed(found.worst_mode.astype(np.int16) % 256),
        node_mean_percent_of_machine=found.node_mean_percent_of_machine,
        node_worst_percent_of_core=worst,
        node_worst_core=worst_core,
    )


def core_times(asked: Asked) -> tuple[CoreTimes, ...]:
    return queries.core_times(asked.recording, asked.window)


def marks(asked: Asked) -> Marks:
    window, count = asked.window, questions.number(asked.query, _COLUMNS)
    events = queries.events(asked.recording, window, NOTABLE_KINDS)
    apart_ns = (window.end_ns - window.start_ns) // count
    return Marks(window, event_marks(events, apart_ns))


def gauge(asked: Asked) -> Gauge:
    field = BY_ID.get(asked.path["field"])
    if field is None:
        raise ExhumeError(
            f"there is no field {asked.path['field'][:80]!r}",
            todo="/api/fields lists them",
            exit_code=EXIT_USAGE,
        )
    window, count = asked.window, questions.number(asked.query, _COLUMNS)
    limit = questions.number(asked.query, _LIMIT)
    # A rate needs the reading before the window, and some sources are read once a minute.
    around = Window(max(0, window.start_ns - 60_000_000_000), window.end_ns + 1_000_000_000)
    instances = questions.strings(asked.query, _INSTANCE.name)
    is_rate = field.kind == "counter"
    lines = []
    for one in queries.series(asked.recording, field.id, around, instances):
        values = columns(_intervals(one, is_rate=is_rate), window, count)
        known = values[np.isfinite(values)]
        if len(known):
            lines.append(GaugeLine(one.instance, float(known.max()), float(known[-1]), values))
    lines.sort(key=lambda line: (-line.most, line.instance))
    return Gauge(
        window=window,
        column_seconds=window.seconds / count,
        field=field,
        unit=f"{field.unit} per second" if is_rate else field.unit,
        lines=tuple(lines[:limit]),
        left_out=max(0, len(lines) - limit),
    )


def fields(asked: Asked) -> FieldEntries:
    """Recorded: in the first stretch, in the last, or in one between."""
    views = asked.recording.views()
    some = {id(view): view for view in (*views[:1], *views[len(views) // 2 :][:1], *views[-2:])}
    known = {name for view in some.values() for name in view.fields()}
    return FieldEntries(tuple(FieldEntry(field, field.id in known) for field in FIELDS))


def queues(asked: Asked) -> tuple[CoreQueues, ...]:
    return queries.queues(asked.recording, asked.window)


def numa_nodes(asked: Asked) -> tuple[CoreNode, ...]:
    return queries.numa_nodes(asked.recording, asked.window)


def _intervals(one: SeriesAnswer, *, is_rate: bool) -> Intervals:
    return rates(one).per_second if is_rate else levels(one)


def _gaps(spans: list[Span], whole: Window) -> tuple[Window, ...]:
    found: list[Window] = []
    until = whole.start_ns
    for span in sorted(spans, key=lambda span: span.window):
        if span.state == "damaged" and not span.samples:
            continue
        if span.window.start_ns - until > GAP_NS:
            found.append(Window(until, span.window.start_ns))
        until = max(until, span.window.end_ns)
    if whole.end_ns - until > GAP_NS:
        found.append(Window(until, whole.end_ns))
    return tuple(found)


def _packed(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    return b64encode(values.astype(np.uint8).tobytes()).decode("ascii")
