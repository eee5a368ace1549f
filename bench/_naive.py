"""The same answers the plain way, sample by sample in Python, to measure the queries against."""

from __future__ import annotations

from collections import Counter

from exhume.model.segment import SegmentData
from exhume.model.window import Window


def _inside(data: SegmentData, window: Window, core: int | None) -> list[tuple[int, int, int, int]]:
    samples = data.samples
    offset = data.clock.pairs[0].offset_ns
    rows = zip(
        samples.time_ns.tolist(),
        samples.core.tolist(),
        samples.thread.tolist(),
        samples.stack.tolist(),
        strict=True,
    )
    return [
        row
        for row in rows
        if window.start_ns <= row[0] + offset < window.end_ns and core in (None, row[1])
    ]


def flame(data: SegmentData, window: Window, core: int | None = None) -> Counter[int]:
    parent = data.tree.parent.tolist()
    total: Counter[int] = Counter()
    for _, _, _, node in _inside(data, window, core):
        while node >= 0:
            total[node] += 1
            node = parent[node]
    return total


def sub_second(data: SegmentData, window: Window, rows: int = 50) -> Counter[int]:
    found: Counter[int] = Counter()
    for time, _, _, _ in _inside(data, window, None):
        found[time * rows // 1_000_000_000] += 1
    return found


def core_map(data: SegmentData) -> dict[tuple[int, int], int]:
    """Busiest mode of each core and second, from the raw jiffies."""
    blocks = [block for block in data.blocks if block.field.startswith("cpu.")]
    columns = [block.values.T.tolist() for block in blocks]
    found: dict[tuple[int, int], int] = {}
    for core in range(len(columns[0])):
        for tick in range(1, len(columns[0][core])):
            rises = [mode[core][tick] - mode[core][tick - 1] for mode in columns]
            found[core, tick] = max(range(len(rises)), key=rises.__getitem__)
    return found


def top(data: SegmentData, window: Window, core: int | None = None) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    pid, comm = data.threads.pid.tolist(), data.threads.comm
    for _, _, thread, _ in _inside(data, window, core):
        found[pid[thread], comm[thread]] += 1
    flame(data, window, core)
    return found
