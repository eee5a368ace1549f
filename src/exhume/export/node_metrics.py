"""From recorded seconds to metrics: counters that only rise, and gauges of the last minute.

Counters count from when the server started (`since_wall_ns`); what was recorded before only says
where the kernel's own counters stood, so a restarted server counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exhume import __version__
from exhume.derive import signatures
from exhume.derive.rises import Rises
from exhume.derive.top_counter import TopCounter, largest
from exhume.export import metric_list as m
from exhume.export.core_metrics import CoreMetrics
from exhume.export.lifecycle_metrics import LifecycleMetrics
from exhume.export.network_metrics import NetworkMetrics
from exhume.export.prometheus import Family, Metric, clean
from exhume.export.recent import Recent
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.segment import Origin
from exhume.model.series import MISSING
from exhume.store.tail import Second

UP_NS = 60_000_000_000
GAUGE_NS = 300_000_000_000
"""A gauge that was not read for so long is left out: the slowest sources come once a minute."""
_SPARE_SIGNATURES = 50
"""Places for signatures of the user's own, beside the built-in ones."""
UNMATCHED = ("unmatched", "")

_SUMS: dict[str, tuple[Metric, float]] = {
    "softnet.processed": (m.PROCESSED, 1),
    "softnet.dropped": (m.DROPPED, 1),
    "softnet.squeezed": (m.SQUEEZED, 1),
    "softirq.net_rx": (m.NET_RX, 1),
    "netthread.wait_ns": (m.RUN_DELAY, 1e-9),
    "self.cpu_ns": (m.SELF_CPU, 1e-9),
    "self.written_bytes": (m.WRITTEN, 1),
    "sampler.lost": (m.LOST, 1),
    "sampler.lost_sideband": (m.LOST_RECORDS, 1),
}
"""Field → the counter that sums up its instances, and the factor to its unit."""
_GAUGES: dict[str, Metric] = {
    "memcg.tracked": m.TRACKED,
    "memcg.live": m.LIVE,
    "memcg.zombies": m.ZOMBIES,
    "memcg.empty": m.EMPTY,
    "self.rss_bytes": m.SELF_RSS,
    "self.rate_hz": m.RATE,
}
_NAMED = {"memcg.births": m.BIRTHS, "memcg.releases": m.RELEASES}
_BY_PARENT = {
    "memcg.held": "",
    "memcg.pinned_shmem_bytes": "shmem",
    "memcg.pinned_file_bytes": "file",
    "memcg.pinned_anonymous_bytes": "anonymous",
}
_EVENTS = {"kernel-log": m.KERNEL_EVENTS, "job-log": m.JOB_EVENTS}

FIELDS = frozenset(
    {*_SUMS, *_GAUGES, *_NAMED, *_BY_PARENT, "self.lateness_ns"}
    | CoreMetrics.FIELDS
    | NetworkMetrics.FIELDS
    | LifecycleMetrics.FIELDS
)
KINDS = frozenset({*_EVENTS} | LifecycleMetrics.KINDS)


class NodeMetrics:
    def __init__(self, since_wall_ns: int) -> None:
        self._since = since_wall_ns
        self._origin: Origin | None = None
        self._last: Second | None = None
        self._rises = Rises()
        self._sums = dict.fromkeys(_SUMS, 0.0)
        self._named = {field: TopCounter[str](m.TOP) for field in _NAMED}
        self._gauges: dict[str, tuple[int, Reading]] = {}
        self._events = {"kernel-log": _signatures(signatures.kernel_log()),
                        "job-log": _signatures(signatures.job_log())}  # fmt: skip
        self._lateness = Recent()
        self._cores = CoreMetrics()
        self._network = NetworkMetrics()
        self._lifecycles = LifecycleMetrics()

    def add(self, seconds: Iterable[Second]) -> None:
        for second in seconds:
            if self._origin is None or second.origin.boot_id != self._origin.boot_id:
                self._rises.forget()
                self._gauges.clear()
                self._lateness.clear()
                self._cores.forget()
                self._network.forget()
            self._origin, self._last = second.origin, second
            self._add(second, is_counted=second.wall_ns >= self._since)
        self._cores.settle()

    def _add(self, second: Second, *, is_counted: bool) -> None:
        by_field = {reading.field: reading for reading in second.readings}
        self._cores.add(second, by_field, is_counted=is_counted)
        rises = {
            field: self._rises.of(reading, second.end_ns)
            for field, reading in by_field.items()
            if field in _SUMS or field in _NAMED or field in LifecycleMetrics.FIELDS
        }
        self._network.add(second.end_ns, by_field, rises.get("netthread.wait_ns"))
        self._lifecycles.add(second, by_field, rises, is_counted=is_counted)
        for field, reading in by_field.items():
            if field in _GAUGES or field in _BY_PARENT:
                self._gauges[field] = second.end_ns, reading
        if "self.lateness_ns" in by_field:
            late = int(by_field["self.lateness_ns"].values[0])
            self._lateness.add(second.end_ns, late / 1e9)
        if not is_counted:
            return
        for field, rise in rises.items():
            if field in _SUMS:
                self._sums[field] += float(rise.sum()) * _SUMS[field][1]
            elif field in _NAMED:
                for index in rise.nonzero()[0].tolist():
                    name = clean(by_field[field].instances[index])
                    self._add_named(field, name, float(rise[index]))
        for event in second.events:
            if event.kind in _EVENTS:
                self._events[event.kind].add(_signature(event), event.count)

    def _add_named(self, field: str, name: str, rise: float) -> None:
        if name in (m.OTHER, "(others)"):  # as the recorder calls what it no longer tells apart
            self._named[field].rest += rise
        else:
            self._named[field].add(name, rise)

    def families(self, now_wall_ns: int) -> list[Family]:
        """Counters always; gauges while a recorder writes: what was is not what is."""
        is_up = self._last is not None and now_wall_ns - self._last.wall_ns <= UP_NS
        found = [Family(m.BUILD, {(__version__,): 1}), Family(m.UP, {(): int(is_up)})]
        if self._last is not None:
            origin = self._last.origin
            names = clean(origin.node), clean(origin.boot_id), clean(origin.kernel)
            found += [Family(m.NODE, {names: 1}), Family(m.LAST, {(): self._last.wall_ns / 1e9})]
        found += [self._cores.counter(), *self._counters()]
        found += self._lifecycles.counters()
        if is_up:
            assert self._last is not None
            at, wall_ns = self._last.end_ns, self._last.wall_ns
            found += [*self._cores.gauges(at), *self._levels(at), self._network.gauge(at)]
            found += [*self._lifecycles.gauges(wall_ns), self._lateness.family(m.LATENESS, at)]
        return found

    def _counters(self) -> Iterable[Family]:
        for field, (metric, _) in _SUMS.items():
            yield Family(metric, {(): self._sums[field]})
        for kind, metric in _EVENTS.items():
            counts = self._events[kind]
            yield Family(metric, {**counts.tell(), (m.OTHER, m.OTHER): counts.rest})
        for field, metric in _NAMED.items():
            values: dict[tuple[str, ...], float] = {(m.OTHER,): self._named[field].rest}
            values |= {(name,): value for name, value in self._named[field].tell().items()}
            yield Family(metric, values)

    def _levels(self, now_ns: int) -> Iterable[Family]:
        fresh = {f: r for f, (at, r) in self._gauges.items() if now_ns - at <= GAUGE_NS}
        for field, metric in _GAUGES.items():
            if field in fresh and int(fresh[field].values[0]) != MISSING:
                yield Family(metric, {(): int(fresh[field].values[0])})
        pinned: dict[tuple[str, ...], float] = {}
        for field, kind in _BY_PARENT.items():
            if field not in fresh:
                continue
            top = _by_parent(fresh[field])
            if kind:
                pinned |= {(parent, kind): value for parent, value in top.items()}
            else:
                yield Family(m.HELD, {(parent,): value for parent, value in top.items()})
        yield Family(m.PINNED, pinned)


def cases(counts: Mapping[tuple[str, ...], float], kinds: Iterable[str]) -> Family:
    """Of the last diagnosis; those that a rule may wait for are there from the start, as 0."""
    values: dict[tuple[str, ...], float] = {
        (kind, status): 0 for kind in kinds for status in ("found", "suspected")
    }
    return Family(m.CASES, {**values, **counts})


def _by_parent(reading: Reading) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, value in zip(reading.instances, reading.values.tolist(), strict=True):
        if value > 0:
            values[clean(name)] = values.get(clean(name), 0) + value
    rest = values.pop(m.OTHER, 0.0)
    top, others = largest(values, m.TOP)
    return {**top, m.OTHER: others + rest}


def _signatures(known: Iterable[signatures.Signature]) -> TopCounter[tuple[str, ...]]:
    always: dict[tuple[str, ...], None] = {(clean(one.id), clean(one.cls)): None for one in known}
    always[UNMATCHED] = None
    return TopCounter(len(always) + _SPARE_SIGNATURES, tuple(always))


def _signature(event: Event) -> tuple[str, str]:
    if "signature" not in event.fields:
        return UNMATCHED
    return clean(str(event.fields["signature"])), clean(str(event.fields.get("class", "")))
