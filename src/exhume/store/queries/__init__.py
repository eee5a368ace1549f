"""Every question a recording answers: one file each, typed, nothing but reading."""

from exhume.store.queries.core_map import core_map
from exhume.store.queries.core_times import core_times
from exhume.store.queries.events import events
from exhume.store.queries.flame import flame, merge_trees
from exhume.store.queries.late_samples import late_samples
from exhume.store.queries.series import series
from exhume.store.queries.sub_second import sub_second
from exhume.store.queries.top import top
from exhume.store.queries.who import who

__all__ = [
    "core_map",
    "core_times",
    "events",
    "flame",
    "late_samples",
    "merge_trees",
    "series",
    "sub_second",
    "top",
    "who",
]
