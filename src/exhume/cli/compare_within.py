"""`exhume compare --within`: reads a recording into windows, and who was there in each."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from exhume.cli import common
from exhume.cli.progress import step
from exhume.cli.times import parse_duration
from exhume.derive.rates import rates
from exhume.errors import ExhumeError, ParseError
from exhume.fleet.comparison import Comparison
from exhume.fleet.within import Track, binned, compare_windows, presence, rounded
from exhume.model.arrays import F64, Bool
from exhume.model.fields import BY_ID
from exhume.model.window import Window

if TYPE_CHECKING:
    from pathlib import Path

    from exhume.store.recording import Recording

NS = 1_000_000_000
MAX_WINDOWS = 20_000
MAX_NAMES = 500
"""Of processes, units and the like: the most frequent."""
_OF_THE_NODE = tuple(
    field.id for field in BY_ID.values() if not field.instance and not field.id.startswith("self.")
)
_SEEN_KINDS = ("exec", "unit-start", "unit-failed", "container-start", "container-exit")
_BUSY_JIFFIES = 10.0


def within(args: argparse.Namespace) -> Comparison:
    if args.ill or args.well or args.fleet or bool(args.event) == bool(args.case):
        raise common.usage(
            "--within goes with one of --event and --case, and without --ill or --well",
            "exhume compare --within DIR --event ena.tx_paused",
        )
    args.data = args.within
    view = common.viewpoint_on(args)
    window, length = common.window_of(args, view), parse_duration(args.each)
    from exhume.cli.light import open_light

    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        recorded = recording.window()
        start = max(window.start_ns, recorded.start_ns) // length * length
        end = min(window.end_ns, recorded.end_ns)
        count = -(-(end - start) // length)
        if not 2 <= count <= MAX_WINDOWS:
            raise common.usage(
                f"{count:,} windows of {args.each} in what is recorded",
                f"--each D makes them longer or shorter: 2 to {MAX_WINDOWS:,} can be compared",
            )
        edges = (start + length * np.arange(count + 1)).astype(np.float64)
        known = _recorded(recording, edges)
        times = _symptoms(recording, Window(start, start + length * count), args)
        ill = _in_windows(times, edges)
        if ill[known].all():
            raise ExhumeError(
                f"each of the {int(known.sum()):,} windows has it: there is none to compare with",
                todo="--each D makes them shorter, --from and --to take a longer time",
            )
        tracks = _tracks(recording, Window(start, start + length * count), edges, known, args)
    names = [view.show(int(edge)) for edge in edges[:-1]]
    with step("comparing"):
        return compare_windows(tracks, names, ill, known, recording.problems(window))


def _symptoms(recording: Recording, window: Window, args: argparse.Namespace) -> F64:
    from exhume.store import queries

    if args.case is not None:
        moment = _time_of_case(args.case)
        return np.array([moment], np.float64)
    wanted = args.event
    found = [
        event.wall_ns
        for event in queries.events(recording, window)
        if wanted in (event.kind, event.subject, event.fields.get("signature"))
    ]
    if not found:
        known = sorted({str(e.fields.get("signature") or e.kind)
                        for e in queries.events(recording, window)})[:12]  # fmt: skip
        raise ExhumeError(
            f"no event '{wanted}' was recorded in that time",
            todo=f"there are: {', '.join(known) or 'none at all'}",
        )
    return np.array(found, np.float64)


def _time_of_case(path: Path) -> float:
    try:
        body: Any = json.loads(path.read_bytes()[: 16 << 20])
        return float(body["symptom"]["time"]) * NS
    except OSError as error:
        raise ExhumeError(f"{path} can't be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        raise ParseError(str(path), "symptom.time", "a case with a symptom and its time") from None


def _recorded(recording: Recording, edges: F64) -> Bool:
    known = np.zeros(len(edges) - 1, bool)
    for span in recording.spans():
        if span.state != "damaged":
            known |= (edges[:-1] < span.window.end_ns) & (edges[1:] > span.window.start_ns)
    return known


def _tracks(
    recording: Recording, window: Window, edges: F64, known: Bool, args: argparse.Namespace
) -> list[Track]:
    from exhume.store import queries

    tracks: list[Track] = []
    for field in _OF_THE_NODE:
        for one in queries.series(recording, field, window):
            if BY_ID[field].kind == "counter":
                per = rates(one).per_second
                levels = binned(per.end_ns.astype(np.float64), per.values, edges)
            else:
                values = np.where(one.values < 0, np.nan, one.values.astype(np.float64))
                levels = binned(one.wall_ns.astype(np.float64), values, edges)
            tracks.append(Track("load", field, "load", rounded(levels), is_presence=False))
    for one in queries.series(recording, "unit.active", window)[:MAX_NAMES]:
        active = np.where(one.values < 0, np.nan, one.values.astype(np.float64))
        levels = binned(one.wall_ns.astype(np.float64), active, edges)
        levels = np.where(np.isnan(levels), np.nan, levels > 0)
        tracks.append(Track("unit", one.instance, "state", levels, is_presence=True))
    busy: dict[str, list[F64]] = {}
    for field in ("process.user", "process.system"):
        for one in queries.series(recording, field, window):
            per = rates(one).per_second
            name = re.sub(r"^\d+ |\s\d+$", "", one.instance)
            busy.setdefault(name, []).append(per.end_ns[per.values >= _BUSY_JIFFIES].astype(float))
    frequent = sorted(busy, key=lambda name: -sum(map(len, busy[name])))[:MAX_NAMES]
    seen = {name: np.concatenate(busy[name]) for name in frequent}
    tracks += presence(seen, edges, "process", known)
    happened: dict[str, list[int]] = {}
    for event in queries.events(recording, window, kinds=_SEEN_KINDS):
        if args.event not in (event.kind, event.subject):
            happened.setdefault(f"{event.kind} {event.subject}", []).append(event.wall_ns)
    often = sorted(happened, key=lambda name: -len(happened[name]))[:MAX_NAMES]
    events = {name: np.array(happened[name], np.float64) for name in often}
    return tracks + presence(events, edges, "event", known)


def _in_windows(times: F64, edges: F64) -> Bool:
    ill = np.zeros(len(edges) - 1, bool)
    place = np.searchsorted(edges, times, side="right") - 1
    ill[place[(place >= 0) & (place < len(ill))]] = True
    return ill
