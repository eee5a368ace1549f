"""What journalctl writes above its lines, until systemd 252: from when to when the journal reaches.

    -- Logs begin at Wed 2017-02-08 15:18:00 CET, end at Tue 2017-09-19 09:12:59 CEST. --
    -- Journal begins at Fri 2022-01-28 10:01:02 UTC, ends at Tue 2022-02-01 03:12:59 UTC. --

It has the year and the zone, which the stamps below leave out.
"""

from __future__ import annotations

import re

from msgspec import Struct

from exhume.derive.stamps import ISO, NS, Years
from exhume.derive.zone_names import minutes_east
from exhume.ingest.lines import head_lines

_LINES = 20
_HEAD = re.compile(
    r"-- (?:Logs begin|Journal begins) at \w{0,12}\.? ?(?P<begin>\d{4}-.{5,40}?)[,;] "
    r"ends? at \w{0,12}\.? ?(?P<end>\d{4}-.{5,40}?)\. --"
)
_NO_CHANGE_NS = 120 * 86_400 * NS
"""Neither a summer nor a winter fits into less."""


class JournalSpan(Struct, frozen=True):
    end_ns: int
    """To the day, which is what tells the year."""
    east_ns: int | None
    """None where no name of a zone is known, or summer time began or ended in between."""


def journal_span(head: bytes) -> JournalSpan | None:
    for line in head_lines(head, _LINES):
        found = _HEAD.search(line)
        if found is None:
            continue
        ends = [ISO.pattern.match(found[name]) for name in ("begin", "end")]
        times = [ISO.read(one, Years(0)) for one in ends if one is not None]
        begin, end = (*times, None, None)[:2]
        if begin is None or end is None:
            continue
        zones = {one[ISO.zone] for one in ends if one is not None}
        east = {minutes_east(zone) for zone in zones}
        (minutes,) = east if len(east) == 1 else (None,)
        is_one = zones <= {"UTC", "GMT"} or end - begin < _NO_CHANGE_NS
        east_ns = None if minutes is None or not is_one else minutes * 60 * NS
        return JournalSpan(end + (0 if minutes is None else minutes * 60 * NS), east_ns)
    return None
