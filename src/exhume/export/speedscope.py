"""speedscope's own file format: https://www.speedscope.app/file-format-schema.json

One sampled profile a core, thread or process, samples in order of time. A core and a thread run one
thing at a time, so their profiles hold the time between samples too, as empty stacks, and are as
long as the window. The threads of a process run side by side: its profile is the core time they
took, one sample after the other. Samples of what is no time (faults, switches) come so everywhere,
and each counts as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.printable import printable
from exhume.export.crowds import crowd_name, crowds
from exhume.export.names import frame_name, process_names, shown_id
from exhume.model.arrays import I64
from exhume.model.core import NO_CORE
from exhume.model.profile import Profile
from exhume.model.stack import Frame, StackTree

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
WAYS = ("process", "thread", "core")
MAX_SAMPLES = 2_000_000
"""Each carries its whole stack: with 30 frames that is some 250 MB of text."""
MAX_LANES = 1_000
"""Processes and threads beyond this share a profile with others of their name."""
ANY_CORE = "core not known"
_SLACK = 0.5
"""A sample that is later than this share of its own weight had idle time before it."""


class Lane(Struct, frozen=True):
    """What one profile is made of."""

    name: str
    rows: I64
    """Its samples, in order of time."""
    is_gapless: bool
    """Whether it is core time only, without the time between."""


def chunks(profile: Profile, *, by: str, name: str, exporter: str) -> Iterator[str]:
    tables = profile.tables
    lanes = lanes_of(profile, by)
    frames = [_frame(frame) for frame in tables.tree.frames]
    head = {
        "$schema": SCHEMA,
        "exporter": exporter,
        "name": printable(name),
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
    }
    yield json.dumps(head, allow_nan=False)[:-1]
    yield ', "profiles": ['
    stacks = _StackTexts(tables.tree)
    for index, lane in enumerate(lanes):
        yield ",\n" if index else "\n"
        yield from _sampled(profile, lane, stacks)
    yield "\n]}\n"


def lanes_of(profile: Profile, by: str) -> list[Lane]:
    """Those with most core time first. Without any sample one lane that is empty."""
    samples = profile.samples
    numbers, names, ids = _numbered(profile, by)
    took = np.bincount(numbers, samples.weight_ns, len(names)).tolist()
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(len(names) + 1))
    lanes: list[tuple[int, Lane]] = []
    for group in crowds(names, took, MAX_LANES):
        rows = np.concatenate([order[starts[n] : starts[n + 1]] for n in group])
        name = crowd_name([names[n] for n in group], "of them")
        if len(group) == 1:
            name = f"{names[group[0]]}{ids[group[0]]}"
        is_gapless = by == "process" or name == ANY_CORE or len(group) > 1
        is_gapless |= not profile.tables.is_of_time
        if len(rows):
            lanes.append((sum(took[n] for n in group), Lane(name, np.sort(rows), is_gapless)))
    lanes.sort(key=lambda pair: -pair[0])
    return [lane for _, lane in lanes] or [Lane("no samples", order[:0], True)]


def _numbered(profile: Profile, by: str) -> tuple[I64, list[str], list[str]]:
    """Each sample's lane; the names of the lanes, and what tells those of one name apart."""
    samples, threads = profile.samples, profile.tables.threads
    if by == "core":
        cores, number = np.unique(samples.core, return_inverse=True)
        names = [ANY_CORE if core == NO_CORE else f"core {core}" for core in cores.tolist()]
        return number.astype(np.int64), names, [""] * len(names)
    processes = process_names(threads)
    lane: dict[tuple[str, int, int | None, str], int] = {}
    ids: list[str] = []
    of_thread = np.empty(len(threads), np.int64)
    for row, thread in enumerate(threads):
        own = thread.tid if by == "thread" else None
        name = printable(thread.comm) if by == "thread" else processes[row]
        tid = "" if own is None else f" tid {shown_id(own)}"
        key = thread.boot_id, thread.pid, own, name
        if key not in lane:
            lane[key] = len(lane)
            ids.append(f" (pid {shown_id(thread.pid)}{tid})")
        of_thread[row] = lane[key]
    return of_thread[samples.thread], [name for *_, name in lane], ids


def _sampled(profile: Profile, lane: Lane, stacks: _StackTexts) -> Iterator[str]:
    nodes, weights = _merged(*_timeline(profile, lane))
    head = {
        "type": "sampled",
        "name": lane.name,
        "unit": "nanoseconds" if profile.tables.is_of_time else "none",
        "startValue": 0,
        "endValue": sum(weights),
    }
    yield json.dumps(head)[:-1]
    yield ', "samples": ['
    for index, node in enumerate(nodes):
        yield "," + stacks[node] if index else stacks[node]
    yield '], "weights": ['
    yield ",".join(map(str, weights))
    yield "]}"


def _timeline(profile: Profile, lane: Lane) -> tuple[list[int], list[int]]:
    """Nodes and weights; node 0, the empty stack, for time between samples."""
    samples, window = profile.samples, profile.tables.window
    nodes, weights = samples.stack[lane.rows].tolist(), samples.weight_ns[lane.rows].tolist()
    if not profile.tables.is_of_time:
        return nodes, [1] * len(nodes)
    if lane.is_gapless:
        return nodes, weights
    filled: list[int] = []
    lengths: list[int] = []
    until = window.start_ns  # what was written so far reaches to here, so that no error adds up
    for at, node, weight in zip(samples.wall_ns[lane.rows].tolist(), nodes, weights, strict=True):
        # A sample stands for the time before it, since the timer last fired.
        gap = at - weight - until
        if gap > _SLACK * weight:
            filled.append(0)
            lengths.append(gap)
            until += gap
        filled.append(node)
        lengths.append(weight)
        until += weight
    if window.end_ns > until:
        filled.append(0)
        lengths.append(window.end_ns - until)
    return filled, lengths


def _merged(nodes: Sequence[int], weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same stack twice in a row is one sample that weighs as much as both."""
    kept: list[int] = []
    sums: list[int] = []
    for node, weight in zip(nodes, weights, strict=True):
        if kept and kept[-1] == node:
            sums[-1] += weight
        else:
            kept.append(node)
            sums.append(weight)
    return kept, sums


class _StackTexts(dict[int, str]):
    """Node → its stack as JSON, callers first; each made once."""

    def __init__(self, tree: StackTree) -> None:
        super().__init__()
        self._parent, self._frame = tree.parent.tolist(), tree.frame.tolist()

    def __missing__(self, node: int) -> str:
        frames: list[str] = []
        at = node
        while at > 0:
            frames.append(str(self._frame[at]))
            at = self._parent[at]
        text = self[node] = f"[{','.join(reversed(frames))}]"
        return text


def _frame(frame: Frame) -> dict[str, str]:
    module = printable(frame.module)
    return {"name": frame_name(frame), **({"file": module} if module else {})}
