"""Core × process: who took how much of which core."""

from __future__ import annotations

import numpy as np

from exhume.model.answers import CoreProcesses, Filter, ProcessOnCores
from exhume.model.ids import told_id
from exhume.model.window import Window
from exhume.store.belonging import Belonging, Owners
from exhume.store.queries.select import EVERYTHING, chosen
from exhume.store.recording import Recording
from exhume.store.view import SegmentView

Key = tuple[str, int, str]
"""Boot, pid, name."""


def core_processes(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    limit: int = 40,
) -> CoreProcesses:
    """The `limit` processes that took most, the rest as one sum per core."""
    took: dict[Key, dict[int, int]] = {}
    owners: dict[Key, Belonging] = {}
    seconds, samples = 0.0, 0
    for view in recording.views(window):
        with recording.sparing(view):
            belongs = Owners(view)
            keys: dict[int, Key] = {}
            for part in chosen(view, window, filter):
                if part.run.weight_ns:
                    seconds += (part.run.end_ns - part.run.start_ns) / 1e9
                samples += len(part)
                process = view.threads().processes.of_thread[part.thread()].astype(np.int64)
                packed = process << 16 | part.core().astype(np.int64)
                numbers, counts = np.unique(packed, return_counts=True)
                for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                    process_number = number >> 16
                    if process_number not in keys:
                        keys[process_number] = _key(view, process_number, owners, belongs)
                    key = keys[process_number]
                    on = took.setdefault(key, {})
                    core = number & 0xFFFF
                    on[core] = on.get(core, 0) + count * part.run.weight_ns
    cores = tuple(sorted({core for on in took.values() for core in on}))
    ranked = sorted(took, key=lambda key: (-sum(took[key].values()), key))
    return CoreProcesses(
        window=window,
        seconds_recorded=seconds,
        samples=samples,
        cores=cores,
        processes=tuple(
            ProcessOnCores(
                comm=key[2],
                pid=told_id(key[1]),
                unit=owners[key].unit,
                container=owners[key].container,
                pod=owners[key].pod,
                total_ns=sum(took[key].values()),
                core_ns=tuple(took[key].get(core, 0) for core in cores),
            )
            for key in ranked[:limit]
        ),
        others_ns=tuple(sum(took[key].get(core, 0) for key in ranked[limit:]) for core in cores),
        others=max(0, len(ranked) - limit),
    )


def _key(view: SegmentView, process: int, owners: dict[Key, Belonging], belongs: Owners) -> Key:
    threads, first = view.threads().threads, view.threads().processes.first_thread
    thread = int(first[process])
    key = view.origin.boot_id, int(threads.pid[thread]), threads.comm[thread]
    if key not in owners:
        owners[key] = belongs.of(threads.cgroup[thread])
    return key
