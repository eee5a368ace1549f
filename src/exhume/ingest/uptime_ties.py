"""Wall time and uptime noted together → what the kernel's clock means, boot by boot."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low

from msgspec import Struct, field

from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import Claim

_MOST = 1 << 17
_SECOND_NS = 1_000_000_000


class _Boot(Struct):
    began_ns: int
    """Wall time, by its first reading."""
    last_ns: int
    """Wall time of its latest reading."""
    offsets: list[int] = field(default_factory=list)

    def has(self, offset_ns: int, wall_ns: int) -> bool:
        """A machine has one boot at a time.

        Readings of one may lie seconds apart, where the node was too busy to make both at once.
        """
        return offset_ns <= self.last_ns and self.began_ns <= wall_ns


class UptimeTies(Struct):
    _boots: list[_Boot] = field(default_factory=list)
    _count: int = 0
    _is_whole: bool = True
    """All wall times so far were whole seconds."""

    def add(self, wall_ns: int, uptime_ns: int) -> None:
        if self._count >= _MOST:
            return
        offset = wall_ns - uptime_ns
        boot = next((one for one in reversed(self._boots) if one.has(offset, wall_ns)), None)
        if boot is None:
            boot = _Boot(offset, wall_ns)
            self._boots.append(boot)
        boot.offsets.append(offset)
        boot.last_ns = max(boot.last_ns, wall_ns)
        self._count += 1
        self._is_whole &= wall_ns % _SECOND_NS == 0

    def claims(self, times: LocalTimes, name: str) -> Iterator[tuple[Claim, int]]:
        """Of each boot, and how far its clock counted. `name`: what the file is called."""
        for boot in self._boots:
            # `date +%s` cuts off up to a second, so the latest is the nearest.
            offset = max(boot.offsets) if self._is_whole else median_low(boot.offsets)
            how = f"by {len(boot.offsets)} readings of wall time and uptime in {name}"
            yield times.tied(offset, how), boot.last_ns - offset
