"""The last minute of something: its maximum over each of the windows that gauges are of."""

from __future__ import annotations

from collections import deque

from exhume.export.metric_list import WINDOWS
from exhume.export.prometheus import Family, Metric

LONGEST_NS = int(max(WINDOWS.values()) * 1e9)


class Recent:
    def __init__(self) -> None:
        self._values: deque[tuple[int, float]] = deque()

    def clear(self) -> None:
        self._values.clear()

    def add(self, end_ns: int, value: float) -> None:
        self._values.append((end_ns, value))
        while self._values[0][0] <= end_ns - LONGEST_NS:
            self._values.popleft()

    def most(self, now_ns: int, seconds: float) -> float | None:
        since = now_ns - int(seconds * 1e9)
        return max((value for end_ns, value in self._values if end_ns > since), default=None)

    def family(self, metric: Metric, now_ns: int, at_least: float = 0.0) -> Family:
        found = {(name,): self.most(now_ns, seconds) for name, seconds in WINDOWS.items()}
        return Family(metric, {k: max(v, at_least) for k, v in found.items() if v is not None})
