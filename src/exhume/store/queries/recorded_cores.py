"""Which cores there are."""

from __future__ import annotations

from exhume.store.recording import Recording
from exhume.store.sampled_cores import has_core_times, sampled_cores


def recorded_cores(recording: Recording) -> tuple[int, ...]:
    """Counters have all cores in every stretch; without them each may have sampled others."""
    found: set[int] = set()
    views = recording.views()
    counted = [view for view in views if has_core_times(view.fields())]
    for view in (*counted[:1], *counted[-2:]):
        with recording.sparing(view):
            if (seconds := view.core_seconds()) is not None:
                found.update(seconds.cores)
    for view in views:
        if not has_core_times(view.fields()):
            found.update(sampled_cores(view))
    return tuple(sorted(found))
