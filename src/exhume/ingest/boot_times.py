"""`btime` in copies of /proc/stat → what the kernel's clock means.

The kernel tells there when it booted: wall time minus uptime, without its fraction of a second.
Where the wall clock is corrected, it moves from one second to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from exhume.ingest.boot_clocks import NS, SAME_BOOT_NS
from exhume.ingest.piece import Claim, Trust

_LINE = re.compile(rb"^btime (\d{9,10})\s*$", re.MULTILINE)
_MOST = 1 << 12


class BootTimes(Struct):
    _until_ns: dict[int, int] = field(default_factory=dict)
    """By the second of the boot, how far its clock is known to have counted."""

    def look(self, stat: bytes, wall_ns: int | None = None) -> None:
        """`wall_ns`: when it was copied, where that is known."""
        found = _LINE.search(stat)
        if found is None or len(self._until_ns) >= _MOST:
            return
        booted = int(found[1])
        until_ns = 0 if wall_ns is None else wall_ns - booted * NS
        self._until_ns[booted] = max(self._until_ns.get(booted, 0), until_ns)

    def claims(self, name: str) -> Iterator[tuple[Claim, int]]:
        """Of each boot, and how far its clock counted. `name`: what the file is called."""
        boots: list[list[int]] = []
        for booted in sorted(self._until_ns):
            if boots and (booted - boots[-1][-1]) * NS <= SAME_BOOT_NS:
                boots[-1].append(booted)
            else:
                boots.append([booted])
        for seconds in boots:
            middle_ns = (seconds[0] + seconds[-1] + 1) * NS // 2
            claim = Claim(middle_ns, Trust.BOOT_TIME, f"by btime in {name}: good to a second")
            yield claim, max(self._until_ns[booted] for booted in seconds)
