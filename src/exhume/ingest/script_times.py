"""Times of perf-script text that are no clock's: they count from its first line, or the one before.

`perf script --reltime` and `--deltatime` say nothing of it in the text, but begin with 0, which
no clock of a machine that runs perf shows.
"""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64, Bool
from exhume.perf.script_scan import NO_NUMBER

_LEAST = 10
_FALLING = 0.1
"""Text of perf script is in order of time, but for a few lines; distances are in no order."""
_BACK_NS = 60 * 1_000_000_000
"""So far back goes no text of one capture."""
_HEADER_NS = 1000
"""What a header says of the first and the last sample has no more digits."""
IS_PART = (
    "it has not all samples that its header tells of (perf script --cpu, --comm, --time, or a "
    "piece): a core without any in it need not have been idle, and is not shown"
)


class ScriptTimes:
    def __init__(self) -> None:
        self._is_known = False
        self._last_ns = 0
        self.is_relative = False
        self.is_distance = False
        self._first_ns: int | None = None
        self._before_ns: int | None = None
        self._backs = 0
        self._furthest_ns = 0

    def notes(self) -> list[str]:
        if self.is_distance:
            return ["its times are distances (perf script --deltatime): they were added up"]
        found = []
        if self.is_relative:
            found.append(
                "its times count from its first line (perf script --reltime), not from boot"
            )
        if self._backs:
            where = "once" if self._backs == 1 else f"{self._backs} times"
            found.append(
                f"its times go back {where}, by {self._furthest_ns / 1e9:,.0f} s at most: it seems "
                "to be several captures in one file, and is shown as of one boot; if they are not, "
                "import each by itself"
            )
        return found

    def watch(self, time: I64) -> None:
        """Times of a clock, in the order of the text; damaged ones are not among them."""
        if not len(time):
            return
        before = time[:1] if self._before_ns is None else np.array([self._before_ns], np.int64)
        self._first_ns = int(time[0]) if self._first_ns is None else self._first_ns
        steps = np.diff(np.concatenate([before, time]))
        backs = steps[steps < -_BACK_NS]
        self._backs += len(backs)
        self._furthest_ns = max(self._furthest_ns, *(-backs).tolist(), 0)
        self._before_ns = int(time[-1])

    def is_part_of(self, recorded: tuple[int, int] | None) -> bool:
        """`recorded`: the first and the last of all samples, by the header.

        Options of perf script that choose cores, processes or times leave no other trace.
        """
        if recorded is None or not any(recorded) or self.is_relative:
            return False
        if self._first_ns is None or self._before_ns is None:
            return False
        told = self._first_ns, self._before_ns
        return any(
            mine // _HEADER_NS != whole // _HEADER_NS
            for mine, whole in zip(told, recorded, strict=True)
        )

    def since_first(self, time: I64, is_sample: Bool) -> I64:
        """The times of a block, on one clock. Blocks are told in the order of the text.

        What perf made up of processes that were there before (`--show-task-events`) is at 0.
        """
        is_told = time != NO_NUMBER
        if not self._is_known and (is_told & is_sample).any():
            self._look(time[is_told & is_sample])
        if not self.is_distance:
            return time
        added: I64 = self._last_ns + np.cumsum(np.where(is_told, time, 0))
        self._last_ns = int(added[-1]) if len(added) else self._last_ns
        return np.where(is_told, added, time)

    def _look(self, time: I64) -> None:
        self._is_known = True
        self.is_relative = int(time[0]) == 0 and bool((time != 0).any())
        falling = np.diff(time) < 0
        self.is_distance = (
            self.is_relative and len(falling) >= _LEAST and float(falling.mean()) > _FALLING
        )
