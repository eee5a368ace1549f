"""What the stamps of a log leave out, and its own lines tell: the year, and the zone.

    Aug  5 07:27:14 node dockerd[2697]: time="2023-08-05T05:27:14.304639979Z" level=info …

Whoever wrote the words and whoever stamped them looked at their clocks at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from exhume.derive.stamps import ISO, NS, Stamp, StampFinder, Years
from exhume.ingest.journal_span import journal_span
from exhume.ingest.lines import head_lines, unpasted
from exhume.ingest.local_times import ToldTimes

_LINES = 2000
_SEARCHED = 2000
_SAME_NS = 2 * NS
_SHIPPED_NS = 120 * NS
"""Agents pass lines on in batches."""
_QUARTER_NS = 900 * NS
"""All zones are so many of them from UTC."""
_HOUR_NS = 3600 * NS
_FURTHEST_NS = 14 * _HOUR_NS
_LOOKS, _AGREE = 200, 3
"""Lines of each quarter of an hour that are searched, and how many must agree on a change."""


class FollowedZone(Struct):
    """Line after line of a log that told its zone, as summer time begins or ends in it."""

    east_ns: int
    _quarter: int = -1
    """Of an hour; clocks are changed between two of them."""
    _looks: int = 0
    _another: int = 0
    """How many lines in a row have told that it is an hour more, or less."""

    def at(self, stamp: Stamp, text: str) -> int:
        """How far east of UTC the stamp is. `text`: what follows it."""
        if (quarter := stamp.time_ns // _QUARTER_NS) != self._quarter:
            self._quarter, self._looks, self._another = quarter, _LOOKS, 0
        if self._looks > 0:
            self._looks -= 1
            for vote in _of_line(stamp, text[:_SEARCHED]):
                if vote.east_ns == self.east_ns:
                    self._looks = 0
                elif vote.east_ns is not None and abs(vote.east_ns - self.east_ns) == _HOUR_NS:
                    self._another += 1
                    # One line may tell when something ends in an hour.
                    if self._another >= _AGREE:
                        self.east_ns, self._looks = vote.east_ns, 0
        return self.east_ns


def followed(own: ToldTimes) -> Callable[[Stamp, str], int] | None:
    return None if own.east_ns is None else FollowedZone(own.east_ns).at


class _Vote(Struct, frozen=True):
    years: int
    has_year: bool
    """The stamp's own."""
    east_ns: int | None


def told_times(head: bytes, newest_ns: int) -> ToldTimes:
    """`newest_ns`: which year a stamp without one is taken for."""
    span = journal_span(head)
    newest_ns = newest_ns if span is None else span.end_ns
    votes = list(_votes(head_lines(head, _LINES), newest_ns))
    years = _chosen(vote.years for vote in votes if not vote.has_year)
    east = [vote.east_ns for vote in votes if vote.east_ns is not None]
    east_ns = _chosen(east[: _changes_at(east)])  # all of it, where nothing changes
    if span is None:
        return ToldTimes(years or 0, years is not None, east_ns)
    return ToldTimes(years or 0, True, span.east_ns if east_ns is None else east_ns, newest_ns)


def _chosen(said: Iterable[int]) -> int | None:
    """What two of three say: some lines tell of other times than their own."""
    counts = Counter(said)
    if not counts:
        return None
    value, count = counts.most_common(1)[0]
    return value if 3 * count >= 2 * counts.total() else None


def _changes_at(east: Sequence[int]) -> int | None:
    """Where summer time begins or ends in it: all lines before tell one zone, and all after the one
    beside it."""
    at = next((place for place, one in enumerate(east) if one != east[0]), None)
    is_one = at is not None and min(at, len(east) - at) >= _AGREE and len(set(east[at:])) == 1
    return at if is_one and abs(east[-1] - east[0]) == _HOUR_NS else None


def _votes(lines: Iterable[str], newest_ns: int) -> Iterator[_Vote]:
    finder = StampFinder(Years(newest_ns))
    for line in lines:
        line = unpasted(line)
        stamp = finder.find(line)
        if stamp is not None and not (stamp.has_year and stamp.has_zone):
            yield from _of_line(stamp, line[stamp.end : stamp.end + _SEARCHED])


def _of_line(stamp: Stamp, text: str) -> Iterator[_Vote]:
    for found in ISO.pattern.finditer(text):
        at = ISO.read(found, Years(0))
        if at is None:
            continue
        if (nearest := _nearest(stamp, at)) is None:
            continue
        years, apart = nearest
        has_zone = found[ISO.zone] is not None
        # When a job was due may be a whole number of hours away, but has no fractions of a second.
        is_now = has_zone and int(found[7] or 0) > 0
        east = round(apart / _QUARTER_NS) * _QUARTER_NS if is_now and not stamp.has_zone else 0
        if abs(apart - east) <= _SAME_NS and abs(east) <= _FURTHEST_NS:
            yield _Vote(years, stamp.has_year, east if is_now and not stamp.has_zone else None)


def passed_on(stamp: Stamp, at_ns: int) -> Stamp | None:
    """A stamp that leaves something out, of a line that somebody passed on at that time: in the
    zone and the year in which it was written just before. None where it was not."""
    if (nearest := _nearest(stamp, at_ns)) is None:
        return None
    _, apart = nearest
    east = 0 if stamp.has_zone else round(apart / _QUARTER_NS) * _QUARTER_NS
    if abs(apart - east) > _SHIPPED_NS or abs(east) > _FURTHEST_NS:
        return None
    return stamp._replace(time_ns=at_ns + apart - east, has_zone=True, has_year=True)


def _nearest(stamp: Stamp, at: int) -> tuple[int, int] | None:
    """How many years to add to the stamp, and how far it is from that time then.

    None of the 29th of February, where no year near has one: a certificate ends some day.
    """
    if stamp.has_year:
        return 0, stamp.time_ns - at
    taken = datetime.fromtimestamp(stamp.time_ns // NS, UTC)
    found = []
    for year in range((told := datetime.fromtimestamp(at // NS, UTC).year) - 1, told + 2):
        try:
            moved = taken.replace(year=year)
        except ValueError:
            continue
        apart = int(moved.timestamp()) * NS + stamp.time_ns % NS - at
        found.append((abs(apart), year - taken.year, apart))
    return min(found)[1:] if found else None
