"""/metrics, for Prometheus. The recorder writes; this reads what is new since the last scrape."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exhume.export import metric_list
from exhume.export.node_metrics import FIELDS, KINDS, NodeMetrics, cases
from exhume.export.prometheus import OPENMETRICS, PLAIN, Family, text, wants_openmetrics
from exhume.host import Clock, SystemClock
from exhume.model import case
from exhume.model.jsonable import from_jsonable
from exhume.store.tail import Tail
from exhume.web.diagnosis import Diagnoses
from exhume.web.places import CaseEntry

PATH = "/metrics"
FRESH_SECONDS = 0.5
"""Two who scrape at once cost one look."""


class Scraper:
    def __init__(self, data: Path, diagnoses: Diagnoses, clock: Clock) -> None:
        self._tail = Tail(data, FIELDS, KINDS)
        self._diagnoses = diagnoses
        self._clock = clock
        self._metrics = NodeMetrics(clock.wall_ns())
        self._lock = threading.Lock()
        self._looked = -1.0
        self._took: float | None = None

    def families(self) -> list[Family]:
        with self._lock:
            began = time.perf_counter()
            if self._looked < 0 or began - self._looked > FRESH_SECONDS:
                self._metrics.add(self._tail.read())
                self._looked = time.perf_counter()
            found = self._metrics.families(self._clock.wall_ns())
            found.append(cases(self._cases(), case.KINDS))
            if self._took is not None:
                found.append(Family(metric_list.SCRAPE, {(): self._took}))
            self._took = time.perf_counter() - began
        return found

    def _cases(self) -> dict[tuple[str, ...], float]:
        """Never a diagnosis of its own: that takes seconds."""
        counts: Counter[tuple[str, ...]] = Counter()
        for entry in self._diagnoses.latest:
            verdict = from_jsonable(CaseEntry, entry).case.verdict
            kind = verdict.root_cause.kind if verdict.root_cause is not None else "unknown"
            counts[kind, verdict.status] += 1
        return dict(counts)


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
