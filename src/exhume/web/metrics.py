"""/metrics, for Prometheus. The recorder writes; this reads what is new since the last scrape."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exhume.export import metric_list
from exhume.export.node_metrics import FIELDS, KINDS, NodeMetrics
from exhume.export.prometheus import OPENMETRICS, PLAIN, Family, text, wants_openmetrics
from exhume.host import Clock, SystemClock
from exhume.model.case import Case
from exhume.model.jsonable import from_jsonable
from exhume.model.window import Window
from exhume.store.tail import Tail
from exhume.web import metrics_lookout
from exhume.web.diagnosis import Diagnoses
from exhume.web.metrics_cases import WINDOW_NS, Watch
from exhume.web.places import CaseEntry

PATH = "/metrics"
FRESH_SECONDS = 0.5
"""Two who scrape at once cost one look."""
_MOST_CASES = 5


class Scraper:
    def __init__(self, data: Path, diagnoses: Diagnoses, clock: Clock) -> None:
        self._tail = Tail(data, FIELDS | metrics_lookout.FIELDS, KINDS | metrics_lookout.KINDS)
        self._diagnoses = diagnoses
        self._clock = clock
        newest_ns = self._tail.newest_segment_wall_ns()
        is_known = newest_ns is None or clock.wall_ns() - newest_ns > WINDOW_NS
        self.watch = Watch(self._look, _spent_by_children, clock, is_due=not is_known)
        self._metrics = NodeMetrics(clock.wall_ns())
        self._lock = threading.Lock()
        self._looked = -1.0
        self._took: float | None = None

    def families(self) -> list[Family]:
        with self._lock:
            began = time.perf_counter()
            if self._looked < 0 or began - self._looked > FRESH_SECONDS:
                seconds = self._tail.read()
                self._metrics.add(seconds)
                self.watch.add(seconds)
                self._looked = time.perf_counter()
            now_ns = self._clock.wall_ns()
            self.watch.scraped(now_ns)
            found = [*self._metrics.families(now_ns), *self.watch.families(now_ns)]
            if self._took is not None:
                found.append(Family(metric_list.SCRAPE, {(): self._took}))
            self._took = time.perf_counter() - began
        return found

    def _look(self, window: Window) -> list[Case]:
        found = self._diagnoses.unasked(window, _MOST_CASES)
        return [from_jsonable(CaseEntry, one).case for one in found]


def _spent_by_children() -> float:
    """Those that somebody asked for count too: then the next one only waits longer."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def route(
    data: Path, diagnoses: Diagnoses, labels: Mapping[str, str], clock: Clock | None = None
) -> Route:
    scraper = Scraper(data, diagnoses, clock or SystemClock())
    checked = metric_list.check_labels(labels)

    def metrics(request: Request) -> Response:
        began = time.perf_counter()
        openmetrics = wants_openmetrics(request.headers.get("accept", ""))
        body = text(scraper.families(), checked, openmetrics=openmetrics)
        took = f"metrics;dur={(time.perf_counter() - began) * 1e3:.1f}"
        kind = OPENMETRICS if openmetrics else PLAIN
        headers = {"content-type": kind, "server-timing": took}
        return Response(body, headers=headers)

    return Route(PATH, metrics, methods=["GET"])
