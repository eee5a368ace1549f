"""Every question a recording answers: one file each, typed, nothing but reading."""

from exhume.store.queries.core_map import core_map
from exhume.store.queries.core_processes import core_processes
from exhume.store.queries.core_times import core_times
from exhume.store.queries.events import events
from exhume.store.queries.flame import flame, merge_trees
from exhume.store.queries.late_samples import late_samples
from exhume.store.queries.never_sampled import never_sampled
from exhume.store.queries.not_in_files import no_cores, no_samples
from exhume.store.queries.notes import events_of_a_part, no_time_events
from exhume.store.queries.queues import queues
from exhume.store.queries.recorded_cores import recorded_cores
from exhume.store.queries.sample_map import sample_map
from exhume.store.queries.samples import samples
from exhume.store.queries.seconds_sampled import seconds_sampled
from exhume.store.queries.series import series
from exhume.store.queries.sub_second import sub_second
from exhume.store.queries.top import top
from exhume.store.queries.topology import numa_nodes
from exhume.store.queries.who import who

__all__ = [
    "core_map",
    "core_processes",
    "core_times",
    "events",
    "events_of_a_part",
    "flame",
    "late_samples",
    "merge_trees",
    "never_sampled",
    "no_cores",
    "no_samples",
    "no_time_events",
    "numa_nodes",
    "queues",
    "recorded_cores",
    "sample_map",
    "samples",
    "seconds_sampled",
    "series",
    "sub_second",
    "top",
    "who",
]
