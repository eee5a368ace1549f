"""Cases for /metrics: a node that nobody looks at is diagnosed when something looks like harm.

The diagnosis is a process of its own at the lowest priority. It is made at most once a minute, and
never so often that it would take more than a hundredth of a core.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from exhume.errors import ExhumeError
from exhume.export import metric_list
from exhume.export.node_metrics import cases
from exhume.export.prometheus import Family
from exhume.host import Clock
from exhume.model import case
from exhume.model.case import Case
from exhume.model.window import Window
from exhume.store.tail import Second
from exhume.web.metrics_lookout import Lookout

NS = 1_000_000_000
WINDOW_NS = 3600 * NS
"""What a case is looked for in, and how long after its symptom it is told of."""
LEAST_REST_NS = 60 * NS
MOST_REST_NS = 3600 * NS
SHARE = 0.01
"""Of one core, at most, that diagnoses take."""
SETTLED_NS = 600 * NS
"""So long after the last hint it is looked at once more: what came after tells causes apart, and
by then the stretch is a segment."""

Look = Callable[[Window], Sequence[Case]]
Spent = Callable[[], float]
"""CPU seconds that looks took so far."""


class Watch:
    """Told of every second and every scrape; `look` makes the cases, which takes seconds."""

    def __init__(self, look: Look, spent: Spent, clock: Clock, *, is_due: bool) -> None:
        """`is_due`: something was recorded before we came, so what happened is not known."""
        self._look = look
        self._spent = spent
        self._clock = clock
        self._lookout = Lookout()
        self._is_due = is_due
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._seen_ns = 0
        """Up to when the last diagnosis had a look."""
        self._rests_until_ns = 0
        self._cases: tuple[Case, ...] = ()
        self._outcomes = {"made": 0, "failed": 0}
        self._cpu_seconds = 0.0

    def add(self, seconds: Iterable[Second]) -> None:
        for second in seconds:
            self._lookout.add(second)

    def scraped(self, now_ns: int) -> None:
        """Starts a diagnosis where one is due; never waits for it."""
        with self._lock:
            if self._thread is not None or not self._wants(now_ns):
                return
            if self._clock.monotonic_ns() < self._rests_until_ns:
                return
            self._is_due = False
            self._thread = threading.Thread(
                target=self._work, args=(now_ns,), name="diagnosis", daemon=True
            )
        self._thread.start()

    def _wants(self, now_ns: int) -> bool:
        hint_ns = self._lookout.last_wall_ns
        if hint_ns is None or now_ns - hint_ns > WINDOW_NS:
            return self._is_due
        is_settled = now_ns - hint_ns >= SETTLED_NS and self._seen_ns < hint_ns + SETTLED_NS
        return self._is_due or hint_ns > self._seen_ns or is_settled

    def _work(self, now_ns: int) -> None:
        before = self._spent()
        found: tuple[Case, ...] | None = None
        try:
            found = tuple(self._look(Window(now_ns - WINDOW_NS, now_ns)))
        except ExhumeError:
            pass  # counted below; the page and the terminal say what it is
        finally:
            took = self._spent() - before
            rest_ns = min(MOST_REST_NS, max(LEAST_REST_NS, round(took / SHARE * NS)))
            with self._lock:
                self._seen_ns, self._thread = now_ns, None
                self._cpu_seconds += took
                self._outcomes["failed" if found is None else "made"] += 1
                if found is not None:
                    self._cases = found
                self._rests_until_ns = self._clock.monotonic_ns() + rest_ns

    def families(self, now_ns: int) -> list[Family]:
        with self._lock:
            counts: Counter[tuple[str, ...]] = Counter()
            for one in self._cases:
                if one.symptom is not None and now_ns - one.symptom.wall_ns <= WINDOW_NS:
                    root = one.verdict.root_cause
                    counts[root.kind if root is not None else "unknown", one.verdict.status] += 1
            outcomes: dict[tuple[str, ...], float] = {
                (outcome,): count for outcome, count in self._outcomes.items()
            }
            return [
                cases(dict(counts), case.KINDS),
                Family(metric_list.DIAGNOSES, outcomes),
                Family(metric_list.DIAGNOSIS_CPU, {(): self._cpu_seconds}),
            ]

    def wait(self, seconds: float) -> None:
        """For the diagnosis that is at work, if there is one."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
