"""Every fault: a folder with `inject.act`, which makes it and says what is true of it, and
`twin.act`, which looks alike and harms nobody. A folder's docstring says what happens there."""

from __future__ import annotations

FAULTS = {
    "zombies": "zombies",
    "realtime-hog": "realtime_hog",
    "softirq-flood": "softirq_flood",
    "page-fault-storm": "page_fault_storm",
    "reclaim": "reclaim",
    "cpu-throttling": "cpu_throttling",
    "crash-loop": "crash_loop",
    "periodic-burst": "periodic_burst",
    "out-of-memory": "out_of_memory",
    "two-faults": "two_faults",
}
"""By name, with the folder."""
