"""Wall time and uptime noted together → what the kernel's clock means."""

from __future__ import annotations

from statistics import median_low

from msgspec import Struct, field

from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import Claim

_MOST = 1 << 17
_SECOND_NS = 1_000_000_000


class UptimeTies(Struct):
    _offsets: list[int] = field(default_factory=list)
    _is_whole: bool = True
    """All wall times so far were whole seconds."""

    def add(self, wall_ns: int, uptime_ns: int) -> None:
        if len(self._offsets) < _MOST:
            self._offsets.append(wall_ns - uptime_ns)
            self._is_whole &= wall_ns % _SECOND_NS == 0

    def claim(self, times: LocalTimes, name: str) -> Claim | None:
        """`last_ns`, `name`: the last wall time in that file, and what the file is called."""
        if not self._offsets:
            return None
        # `date +%s` cuts off up to a second, so the latest is the nearest.
        offset = max(self._offsets) if self._is_whole else median_low(self._offsets)
        how = f"by {len(self._offsets)} readings of wall time and uptime in {name}"
        return times.tied(offset, how)
