"""Instants as people write them above what they copy: seconds since 1970, or finer, or ISO."""

from __future__ import annotations

import re
from datetime import UTC, datetime

NS = 1_000_000_000
_NUMBER = re.compile(r"(\d{9,10})(?:[.,](\d{1,9})\d*)?")
_WHOLE = re.compile(r"\d{12,13}|\d{15,16}|\d{18,19}")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)? ?(Z|UTC|[+-]\d\d:?(?:\d\d)?)?"
)
_STEPS = {12: 1_000_000, 13: 1_000_000, 15: 1_000, 16: 1_000, 18: 1, 19: 1}
"""By the number of digits: milli-, micro- and nanoseconds since 1970."""


def instant_ns(text: str) -> int | None:
    """None where it is no time, or none that a computer's clock ever showed."""
    if not text.isascii():
        return None
    if found := _NUMBER.fullmatch(text):
        return int(found[1]) * NS + int((found[2] or "0").ljust(9, "0"))
    if _WHOLE.fullmatch(text):
        return int(text) * _STEPS[len(text)]
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    zone = (found[4] or "Z").replace("UTC", "Z")
    try:
        at = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone if zone != 'Z' else '+00:00'}")
    except ValueError:
        return None
    if not 1980 <= at.year < 2200:
        return None
    return int(at.astimezone(UTC).timestamp()) * NS + int((found[3] or "0").ljust(9, "0"))
