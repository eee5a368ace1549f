"""Every metric of /metrics: the one visible list. docs/metrics.md is made from it."""

from __future__ import annotations

from collections.abc import Mapping

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export.prometheus import LABEL_NAME, Metric
from exhume.model.fields import BY_ID

WINDOWS = {"15s": 15.0, "60s": 60.0}
OTHER = "other"
TOP = 20
"""Names shown of each family; what the others have is summed up under `other`."""
MOST_LABELS = 20


def _of(name: str, field: str, *, unit: str = "", labels: tuple[str, ...] = ()) -> Metric:
    """A metric that is one field of the catalogue, which also says what it is."""
    entry = BY_ID[field]
    return Metric(name, entry.kind, entry.help, labels, unit, field)


BUILD = Metric("exhume_build", "info", "The version of exhume that answers.", ("version",))
NODE = Metric(
    "exhume_node", "info", "The node that is recorded.", ("nodename", "boot_id", "kernel")
)
UP = Metric("exhume_recorder_up", "gauge", "1 while a recorder writes: its last second is no older than a minute.")  # fmt: skip
LAST = Metric("exhume_recorder_last_second_timestamp_seconds", "gauge", "When the last recorded second ended.", unit="seconds")  # fmt: skip
SCRAPE = Metric("exhume_scrape_duration_seconds", "gauge", "How long the server took for the scrape before this one.", unit="seconds")  # fmt: skip

STARVED = Metric("exhume_starved_core_seconds", "counter", "Core time in seconds in which the core was at least 95 % busy, by the mode that took most of it.", ("mode",), "seconds")  # fmt: skip
WORST = Metric("exhume_core_utilisation_worst_ratio", "gauge", "The busiest core's mean over the window; the node's mean hides it.", ("window",), "ratio")  # fmt: skip
MEAN = Metric("exhume_node_utilisation_ratio", "gauge", "The mean of all cores over the window.", ("window",), "ratio")  # fmt: skip
WORST_CORE = Metric("exhume_core_utilisation_worst_core", "gauge", "The number of the busiest core.", ("window",))  # fmt: skip

KERNEL_EVENTS = Metric("exhume_kernel_events", "counter", "Lines of the kernel log by signature; `unmatched` are warnings that none knows.", ("signature", "class"))  # fmt: skip
JOB_EVENTS = Metric("exhume_job_events", "counter", "Lines of followed job logs by signature: timeouts, lost connections, deaths.", ("signature", "class"))  # fmt: skip

TRACKED = _of("exhume_memory_cgroups_tracked", "memcg.tracked")
LIVE = _of("exhume_memory_cgroups_live", "memcg.live")
ZOMBIES = _of("exhume_memory_cgroups_zombies", "memcg.zombies")
EMPTY = _of("exhume_memory_cgroups_empty", "memcg.empty")
HELD = _of("exhume_memory_cgroups_held", "memcg.held", labels=("parent",))
PINNED = Metric("exhume_memory_cgroups_pinned_bytes", "gauge", "Memory charged to dead children of this parent (cgroup v1).", ("parent", "type"), "bytes")  # fmt: skip
BIRTHS = _of("exhume_memory_cgroup_births", "memcg.births", labels=("name",))
RELEASES = _of("exhume_memory_cgroup_releases", "memcg.releases", labels=("name",))

RESTARTS = Metric("exhume_restarts", "counter", "Restarts of units by systemd and of containers by their supervisor.", ("kind", "name"))  # fmt: skip
LOOPS = Metric("exhume_crash_loops", "gauge", "Units and containers that are in a crash loop now, by the rule of `exhume units` over ten minutes.", ("kind",))  # fmt: skip
LOOP_STARTS = Metric("exhume_crash_loop_starts", "gauge", "Starts in the last ten minutes of each that is in a crash loop.", ("kind", "name"))  # fmt: skip

PROCESSED = _of("exhume_softnet_processed_packets", "softnet.processed")
DROPPED = _of("exhume_softnet_dropped_packets", "softnet.dropped")
SQUEEZED = _of("exhume_softnet_squeezed", "softnet.squeezed")
NET_RX = _of("exhume_softirq_net_rx", "softirq.net_rx")
RUN_DELAY = Metric("exhume_network_thread_run_delay_seconds", "counter", "Time kernel threads that serve the network were ready and not run.", (), "seconds", "netthread.wait_ns")  # fmt: skip
RUN_DELAY_MAX = Metric("exhume_network_thread_run_delay_max_seconds", "gauge", "The longest that one of those threads waited in the window; one that waits now counts.", ("window",), "seconds", "netthread.wait_ns")  # fmt: skip

CASES = Metric("exhume_cases", "gauge", "Cases of the last hour by kind of cause and status; the server makes a diagnosis by itself when something looks like harm.", ("kind", "status"))  # fmt: skip
DIAGNOSES = Metric("exhume_diagnoses", "counter", "Diagnoses that the server made by itself, and those that failed.", ("outcome",))  # fmt: skip
DIAGNOSIS_CPU = Metric("exhume_diagnosis_cpu_seconds", "counter", "CPU time of those, at the lowest priority.", unit="seconds")  # fmt: skip

SELF_CPU = _of("exhume_recorder_cpu_seconds", "self.cpu_ns", unit="seconds")
SELF_RSS = _of("exhume_recorder_resident_memory_bytes", "self.rss_bytes", unit="bytes")
LATENESS = Metric("exhume_recorder_lateness_max_seconds", "gauge", "How late the latest tick of the window began.", ("window",), "seconds", "self.lateness_ns")  # fmt: skip
LOST = _of("exhume_recorder_lost_samples", "sampler.lost")
LOST_RECORDS = _of("exhume_recorder_lost_records", "sampler.lost_sideband")
WRITTEN = _of("exhume_recorder_written_bytes", "self.written_bytes", unit="bytes")
RATE = _of("exhume_recorder_sampling_rate_hertz", "self.rate_hz", unit="hertz")

METRICS: tuple[Metric, ...] = (
    BUILD, NODE, UP, LAST, SCRAPE,
    STARVED, WORST, MEAN, WORST_CORE,
    KERNEL_EVENTS, JOB_EVENTS,
    TRACKED, LIVE, ZOMBIES, EMPTY, HELD, PINNED, BIRTHS, RELEASES,
    RESTARTS, LOOPS, LOOP_STARTS,
    PROCESSED, DROPPED, SQUEEZED, NET_RX, RUN_DELAY, RUN_DELAY_MAX,
    CASES, DIAGNOSES, DIAGNOSIS_CPU,
    SELF_CPU, SELF_RSS, LATENESS, LOST, LOST_RECORDS, WRITTEN, RATE,
)  # fmt: skip

RESERVED = frozenset(label for metric in METRICS for label in metric.labels) | {
    "instance", "job", "le", "quantile",
}  # fmt: skip
"""Labels that are ours or Prometheus' own."""


def check_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The user's labels, if they can go on every sample."""
    for name in labels:
        if not LABEL_NAME.fullmatch(name):
            problem = (
                "a label's name has letters, digits and _, and does not begin with __ or a digit"
            )
        elif name in RESERVED:
            problem = f"{name} is a label of the metrics themselves; choose another name"
        else:
            continue
        raise ExhumeError(f"the label {name[:40]!r} cannot be used", todo=problem,
                          exit_code=EXIT_USAGE)  # fmt: skip
    if len(labels) > MOST_LABELS:
        raise ExhumeError(
            f"{len(labels)} labels are too many: each is on every sample",
            todo=f"give {MOST_LABELS} or fewer",
            exit_code=EXIT_USAGE,
        )
    return labels
