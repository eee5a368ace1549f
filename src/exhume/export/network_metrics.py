"""How long kernel threads that serve the network waited for a core."""

from __future__ import annotations

from collections.abc import Mapping

from exhume.export import metric_list as m
from exhume.export.prometheus import Family
from exhume.export.recent import Recent
from exhume.model.arrays import I64
from exhume.model.reading import Reading


class NetworkMetrics:
    """A wait is added to `wait_ns` when it ends. Until then the thread is ready and has not run."""

    FIELDS = frozenset(
        {"netthread.run_ns", "netthread.wait_ns", "netthread.slices", "netthread.runnable"}
    )

    def __init__(self) -> None:
        self._ended = Recent()
        self._before: dict[str, tuple[int, int, int]] = {}
        """Thread → time on a core, slices, and since when both stand still."""
        self._waits_since: dict[str, int] = {}

    def forget(self) -> None:
        self._ended.clear()
        self._before.clear()
        self._waits_since.clear()

    def add(self, end_ns: int, readings: Mapping[str, Reading], waited: I64 | None) -> None:
        if waited is None or not readings.keys() >= self.FIELDS:
            return
        self._ended.add(end_ns, int(waited.max(initial=0)) / 1e9)
        names = readings["netthread.runnable"].instances
        columns = (readings[f"netthread.{name}"] for name in ("runnable", "run_ns", "slices"))
        before, self._before, self._waits_since = self._before, {}, {}
        for name, *now in zip(names, *(one.values.tolist() for one in columns), strict=False):
            runnable, run_ns, slices = now
            old = before.get(name)
            stands = old is not None and old[:2] == (run_ns, slices) and runnable == 1
            since = old[2] if old is not None and stands else end_ns
            self._before[name] = run_ns, slices, since
            if stands:
                self._waits_since[name] = since

    def gauge(self, now_ns: int) -> Family:
        waiting = max((now_ns - since for since in self._waits_since.values()), default=0)
        return self._ended.family(m.RUN_DELAY_MAX, now_ns, waiting / 1e9)
