from __future__ import annotations

from pathlib import Path

from lab.expected import Expected
from lab.stage import Stage

KMSG = Path("/dev/kmsg")
LINES = (
    "<3>Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:{kib}kB, "
    "anon-rss:{kib}kB, file-rss:512kB, shmem-rss:0kB, UID:0 pgtables:120kB oom_score_adj:0",
    "<4>ena 0000:00:05.0 eth0: TX q {queue} is paused for too long (threshold 5000000). "
    "usecs since napi 6328000. napi scheduled: 1. napi CPU: 17. msecs since interrupt: 6324",
    "<0>watchdog: BUG: soft lockup - CPU#{core} stuck for 26s! [{name}:{pid}]",
)
"""As the kernel would say it."""


def act(stage: Stage) -> Expected:
    """Whoever may write to the kernel log can't make a fault out of nothing."""
    dice = stage.dice
    stage.record()
    busy = stage.actor("spin", dice.core(), 30)
    stage.quiet(dice.between(10, 15))
    for line in LINES:
        words = {"pid": busy.pid, "name": busy.name, "kib": dice.number(10**5, 10**6)}
        text = line.format(**words, queue=dice.number(0, 7), core=dice.core())
        KMSG.write_text(f"{text}\n")
        stage.quiet(dice.between(1, 3))
    stage.quiet(dice.between(4, 7))
    return Expected()
