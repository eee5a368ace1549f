"""The Firefox Profiler's processed profile format, version 60: the first whose tables all threads
share. Its reader upgrades older versions, so any later one reads it. The format is described in
docs-developer/processed-profile-format.md and CHANGELOG-formats.md of firefox-devtools/profiler.

The first process is the machine: a track of events, and one for each core. The others are the
processes, with a track for each thread. So each sample is there twice, once where it ran and once
who ran. Times are in milliseconds since the window began. Samples of what is no time (faults,
switches) count as one each, and there is no CPU use then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from exhume.derive.printable import printable
from exhume.export.firefox_tables import CATEGORIES, SharedTables, Strings
from exhume.export.firefox_tracks import ANY_CORE, Track, core_tracks, thread_tracks
from exhume.model.answers import EventAnswer
from exhume.model.arrays import I64
from exhume.model.profile import Profile

VERSION = 60
MAX_SAMPLES = 5_000_000
MAX_EVENTS = 50_000
"""More markers than this make the page crawl."""
_VISIBLE_CORES, _VISIBLE_THREADS = 64, 16
_MS = 1e6
_SLACK = 0.5
"""A sample that is later than this share of its own weight had idle time before it."""
_UNITS = {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}
_EVENT = "exhume-event"
_EVENT_SCHEMA = {
    "name": _EVENT,
    "display": ["marker-chart", "marker-table", "timeline-overview"],
    "tooltipLabel": "{marker.name}: {marker.data.subject}",
    "tableLabel": "{marker.data.subject} {marker.data.text}",
    "chartLabel": "{marker.data.subject} {marker.data.text}",
    "fields": [
        {"key": "subject", "label": "Who or what", "format": "string"},
        {"key": "text", "label": "Text", "format": "string"},
        {"key": "core", "label": "Core", "format": "integer"},
        {"key": "pid", "label": "Process id", "format": "integer"},
        {"key": "count", "label": "How often", "format": "integer"},
        {"key": "details", "label": "Details", "format": "string"},
    ],
}


def chunks(profile: Profile, events: Sequence[EventAnswer], *, exporter: str) -> Iterator[str]:
    strings = Strings()
    shared = SharedTables(profile.tables.tree, strings)
    cores = core_tracks(profile)
    threads = thread_tracks(profile)
    node = printable(profile.tables.node) or "node"
    machine = Track("events", node, "node", "events", True, np.empty(0, np.int64), 0)
    yield f'{{"meta": {_json(_meta(profile, cores, threads, exporter))},\n'
    yield f'"libs": {_json(shared.libs())},\n"pages": [],\n"threads": ['
    for index, track in enumerate((machine, *cores, *threads)):
        yield ",\n" if index else "\n"
        marked = events if track is machine else ()
        yield from _thread(profile, track, shared, _markers(profile, marked, strings))
    yield "\n],\n"
    # Last: the markers put strings in, too.
    yield f'"shared": {_json(shared.tables())}}}\n'


def _meta(
    profile: Profile, cores: list[Track], threads: list[Track], exporter: str
) -> dict[str, object]:
    tables, weights = profile.tables, profile.samples.weight_ns
    window = tables.window
    busiest = sorted(range(len(cores)), key=lambda index: -cores[index].core_ns)[:_VISIBLE_CORES]
    hottest = sorted(range(len(threads)), key=lambda index: -threads[index].core_ns)
    visible = [1 + index for index in sorted(busiest)]
    visible += [1 + len(cores) + index for index in sorted(hottest[:_VISIBLE_THREADS])]
    selected = 1 + busiest[0] if busiest else 0
    return {
        "interval": float(np.median(weights)) / _MS if len(weights) else 1.0,
        "startTime": window.start_ns / _MS,
        "profilingStartTime": 0,
        "profilingEndTime": (window.end_ns - window.start_ns) / _MS,
        "processType": 0,
        "product": printable(tables.node) or "node",
        "importedFrom": exporter,
        "oscpu": f"Linux {printable(tables.kernel)}".strip(),
        "platform": "Linux",
        "logicalCPUs": sum(core.name != ANY_CORE for core in cores),
        "stackwalk": 1,
        "version": 32,
        "preprocessedProfileVersion": VERSION,
        "symbolicated": True,
        "usesOnlyOneStackType": True,
        "sourceCodeIsNotOnSearchfox": True,
        "keepProfileThreadOrder": True,
        "initialVisibleThreads": [0, *visible],
        "initialSelectedThreads": [selected],
        "categories": CATEGORIES,
        "markerSchema": [_EVENT_SCHEMA],
        **({"sampleUnits": _UNITS} if tables.is_of_time else {}),
    }


def _thread(
    profile: Profile, track: Track, shared: SharedTables, markers: dict[str, object]
) -> Iterator[str]:
    head = {
        "processType": "default",
        "processName": track.process,
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": track.rows.size == 0,
        "name": track.name,
        "isMainThread": track.is_main,
        "pid": track.pid,
        "tid": track.tid,
        "markers": markers,
    }
    yield f'{_json(head)[:-1]}, "samples": '
    yield from _samples(profile, track, shared)
    yield "}"


def _samples(profile: Profile, track: Track, shared: SharedTables) -> Iterator[str]:
    samples, start_ns = profile.samples, profile.tables.window.start_ns
    at = samples.wall_ns[track.rows] - start_ns
    stack = shared.stack_of(samples.stack[track.rows])
    if not profile.tables.is_of_time:
        yield from _table("samples", at, stack, weight=[1] * len(at))
        return
    weight = samples.weight_ns[track.rows]
    # Tracks are drawn from one sample to the next. Where time went by without one, a mark of no
    # weight and no CPU use says from when on the next one ran. It has that one's stack, since half
    # of the way between the two is drawn in its colour.
    before = np.concatenate([np.full(min(1, len(at)), -(1 << 62)), at[:-1]])
    idle = np.flatnonzero(at - weight - before > _SLACK * weight)
    at = np.insert(at, idle, np.maximum(at - weight, 0)[idle])
    stack = np.insert(stack, idle, stack[idle])
    is_mark = np.insert(np.zeros(len(weight), np.bool_), idle, True)
    weight = np.insert(weight, idle, 0)
    elapsed = np.diff(at, prepend=at[:1])
    used = np.where(is_mark, 0, np.minimum(weight, elapsed))
    yield from _table(
        "tracing-ms",
        at,
        stack,
        weight=np.round(weight / _MS, 6).tolist(),
        threadCPUDelta=used.tolist(),
    )


def _table(weight_type: str, at_ns: I64, stack: I64, **columns: Sequence[float]) -> Iterator[str]:
    yield f'{{"length": {len(at_ns)}, "weightType": "{weight_type}"'
    named = {
        "stack": ["null" if row < 0 else row for row in stack.tolist()],
        "time": np.round(at_ns / _MS, 4).tolist(),
        **columns,
    }
    for name, values in named.items():
        yield f', "{name}": [{",".join(map(str, values))}]'
    yield "}"


def _markers(
    profile: Profile, events: Sequence[EventAnswer], strings: Strings
) -> dict[str, object]:
    start_ns = profile.tables.window.start_ns
    return {
        "length": len(events),
        "name": [strings[printable(event.kind)] for event in events],
        "startTime": [round((event.wall_ns - start_ns) / _MS, 4) for event in events],
        "endTime": [None] * len(events),
        "phase": [0] * len(events),  # an instant
        "category": [0] * len(events),
        "data": [_payload(event) for event in events],
    }


def _payload(event: EventAnswer) -> dict[str, object]:
    details = ", ".join(f"{key}={value}" for key, value in sorted(event.fields.items()))
    optional = {"core": event.core, "pid": event.pid}
    return {
        "type": _EVENT,
        "subject": printable(event.subject),
        "text": printable(event.text),
        "count": event.count,
        "details": printable(details),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
