"""Instants as people write them above what they copy: seconds since 1970, ISO, what `date` prints.

1794773717.630    2026-11-15T20:15:17Z    20261115-201517    Sun Nov 15 20:15:17 UTC 2026
15.11.2026 20:15:17    2026-11-15_20-15-17    20261115201517
Sun, 15 Nov 2026 20:15:17 +0000    So 15. Nov 21:15:17 CET 2026    dim. 15 nov. 2026 21:15:17 CET
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from exhume.derive.stamp_words import month_by_name
from exhume.derive.zone_names import minutes_east

NS = 1_000_000_000
_NUMBER = re.compile(r"(\d{9,10})(?:[.,](\d{1,9})\d*)?")
_WHOLE = re.compile(r"\d{12,13}|\d{15,16}|\d{18,19}")
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9})\d*)?"
_ZONE = r"(?: ?(?P<zone>Z|[A-Z]{3,5}|[+-]\d\d(?::?\d\d)?))?"
_HALF = r"(?: (?P<half>[AP]M))?"
_WORD = r"[^\W\d_]{2,10}[.,]{0,2}"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<year>\d{{4}})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _]{_CLOCK}{_ZONE}",
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[-_]"
        r"(?P<hour>\d\d)[-:.](?P<minute>\d\d)[-:.](?P<second>\d\d)(?P<fraction>)(?P<zone>Z)?",
        rf"(?:{_WORD} )?(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{{4}}),? {_CLOCK}{_ZONE}",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[T_-]?"
        r"(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
        r"(?P<zone>Z)?",
        # The day comes first nearly everywhere, so that `mar. 17 nov.` is not of March.
        rf"(?:{_WORD} )? ?(?P<day>\d\d?)\.? (?P<name>{_WORD}) (?:(?P<year>\d{{4}}),? )?"
        rf"{_CLOCK}{_HALF}{_ZONE}(?: (?P<late_year>\d{{4}}))?",
        rf"(?:{_WORD} )?(?P<name>{_WORD})  ?(?P<day>\d\d?) {_CLOCK}{_HALF}{_ZONE}"
        r" (?P<year>\d{4})",
    )
)
_STEPS = {12: 1_000_000, 13: 1_000_000, 15: 1_000, 16: 1_000, 18: 1, 19: 1}
"""By the number of digits: milli-, micro- and nanoseconds since 1970."""


class Instant(NamedTuple):
    ns: int
    has_zone: bool
    """False: it is local time, taken as UTC."""


def instant_ns(text: str) -> int | None:
    found = instant(text)
    return None if found is None else found.ns


def instant(text: str) -> Instant | None:
    """None where it is no time, or none that a computer's clock ever showed."""
    if text.isascii():
        if found := _NUMBER.fullmatch(text):
            return Instant(int(found[1]) * NS + int((found[2] or "0").ljust(9, "0")), True)
        if _WHOLE.fullmatch(text):
            return Instant(int(text) * _STEPS[len(text)], True)
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None and (at := _of_form(found)) is not None:
            return at
    return None


def _of_form(found: re.Match[str]) -> Instant | None:
    parts = found.groupdict()
    name, year = parts.get("name"), parts["year"] or parts.get("late_year")
    month = int(parts["month"]) if name is None else month_by_name(name.rstrip(".,"))
    hour = int(parts["hour"])
    if parts.get("half"):
        hour = hour % 12 + (12 if parts["half"] == "PM" else 0)
    if month is None or not year or not year.isascii() or not 1980 <= int(year) < 2200:
        return None
    try:
        at = datetime(
            int(year), month, int(parts["day"]), hour, int(parts["minute"]),
            min(int(parts["second"]), 59), tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    fraction = int((parts["fraction"] or "0").ljust(9, "0"))
    east = minutes_east(parts["zone"])
    return Instant((int(at.timestamp()) - (east or 0) * 60) * NS + fraction, east is not None)
