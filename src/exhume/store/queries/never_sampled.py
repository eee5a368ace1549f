"""Whom a filter names that was never sampled, and who was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.model.answers import Filter
from exhume.model.window import Window
from exhume.store.belonging import Owners
from exhume.store.queries.select import thread_mask
from exhume.store.recording import Recording
from exhume.store.view import SegmentView

_OF_THREADS = ("comms", "pids", "tids", "cgroups", "units", "containers", "pods")


class NeverSampled(Struct, frozen=True):
    part: str
    """Of the filter: `comms`, `units`, …"""
    values: tuple[str, ...]
    others: tuple[str, ...]
    """Who was, in the window; who took most time first. Of numbers none."""


def never_sampled(recording: Recording, window: Window, wanted: Filter) -> NeverSampled | None:
    """The first part of a filter that fits nobody at any time: a mistake, not a quiet process."""
    for part in _OF_THREADS:
        alone = replace(Filter(), **{part: getattr(wanted, part)})
        if alone != Filter() and not any(
            _fits(recording, view, alone) for view in recording.views()
        ):
            values = tuple(map(str, getattr(wanted, part)))
            return NeverSampled(part, values, _others(recording, window, part))
    return None


def _fits(recording: Recording, view: SegmentView, wanted: Filter) -> bool:
    mask = None  # what can't be read may have had it
    with recording.sparing(view):
        mask = thread_mask(view, wanted)
    return mask is None or bool(mask.any())


def _others(recording: Recording, window: Window, part: str) -> tuple[str, ...]:
    if part in ("pids", "tids"):
        return ()
    took: Counter[str] = Counter()
    for view in recording.views(window):
        with recording.sparing(view):
            index, rows = view.threads(), view.process_seconds()
            name = _namer(view, part)
            spent = np.bincount(rows.process, rows.weight_us, len(index.processes))
            for row, weight in zip(index.processes.first_thread, spent, strict=True):
                took[name(int(row))] += int(weight)
    del took[""]
    return tuple(name for name, _ in took.most_common())


def _namer(view: SegmentView, part: str) -> Callable[[int], str]:
    """From a row of the threads to what it is called."""
    threads = view.threads().threads
    if part == "comms":
        return lambda row: threads.comm[row]
    if part == "cgroups":
        return lambda row: threads.cgroup[row]
    owners = Owners(view)
    return lambda row: str(getattr(owners.of(threads.cgroup[row]), part.removesuffix("s")))
