"""Zones as `date` and logs abbreviate them → how far east of UTC.

Only names that mean one thing where servers are run. CST is Chicago's and Shanghai's, IST that of
India, Ireland and Israel: what they mean others have to tell.
"""

from __future__ import annotations

import re

_MINUTES = {
    "Z": 0, "UTC": 0, "UCT": 0, "GMT": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "CEST": 120,
    "MET": 60, "MEST": 120, "EET": 120, "EEST": 180, "MSK": 180, "SAST": 120, "EAT": 180,
    "PKT": 300, "WIB": 420, "HKT": 480, "AWST": 480, "JST": 540, "KST": 540, "ACST": 570,
    "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780, "NST": -210, "NDT": -150,
    "EDT": -240, "EST": -300, "CDT": -300, "MDT": -360, "MST": -420, "PDT": -420, "PST": -480,
    "AKDT": -480, "AKST": -540, "HST": -600,
}  # fmt: skip
# China's and North America's, India's and Israel's: a zone that only its writer knows.
_UNSURE = ("CST", "IST")
_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d))?")
ZONE = "|".join(
    (
        *sorted((*_MINUTES, *_UNSURE), key=len, reverse=True),
        r"[+-]\d\d:?\d\d",
        r"[+-](?:0\d|1[0-4])",
    )
)
"""What may be one, for a regular expression: `minutes_east` says whether it is."""


def minutes_east(zone: str | None) -> int | None:
    """Of `CET`, `+01`, `+0530`, `-03:00`; None where nothing is said, or nothing that is sure."""
    if not zone:
        return None
    if zone in _MINUTES:
        return _MINUTES[zone]
    found = _OFFSET.fullmatch(zone)
    if found is None or int(found[2]) > 18 or int(found[3] or 0) > 59:
        return None
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return minutes if found[1] == "+" else -minutes
