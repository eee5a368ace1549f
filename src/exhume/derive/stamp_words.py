"""Words in time stamps: months as `%b` writes them in many languages, and names of time zones."""

from __future__ import annotations

# dmesg -T and journalctl's short forms write months in the language of whoever ran them. A dot at
# the end (`févr.`) and the case do not matter; Chinese, Japanese and Korean number them.
_MONTHS = (
    "jan janv ene gen янв sty ian led",
    "feb févr fév fev lut фев úno",
    "mar mars mär märz mrt мар bře mart",
    "apr abr avr avril апр kwi dub",
    "may mai mag maj mei мая май kvě mayıs",
    "jun juin giu june cze июн čen iun",
    "jul juil lug july lip июл čec iul",
    "aug ago août aoû sie авг srp",
    "sep sept set wrz сен zář",
    "oct okt ott out paź окт říj",
    "nov lis ноя noi",
    "dec dez dic déc gru дек pro",
)
_MONTH = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
MONTH = r"(?:[^\W\d_]{3,6}\.?|\d{1,2}[月월])"
"""What may be a month: `month` says whether it is."""

# Names that stand for one zone wherever they are used, in minutes east of UTC.
_ZONES = {
    **dict.fromkeys(("Z", "UTC", "GMT", "WET"), 0),
    **dict.fromkeys(("CET", "WEST", "BST"), 60),
    **dict.fromkeys(("CEST", "EET", "SAST"), 120),
    **dict.fromkeys(("EEST", "MSK"), 180),
    **dict.fromkeys(("HKT", "AWST"), 480),
    **dict.fromkeys(("JST", "KST"), 540),
    "AEST": 600,
    "AEDT": 660,
    "NZST": 720,
    "NZDT": 780,
    "HST": -600,
    "EDT": -240,
    "EST": -300,
    "CDT": -300,
    "MDT": -360,
    "MST": -420,
    "PDT": -420,
    "PST": -480,
    "AKDT": -480,
    "AKST": -540,
}
# China's and North America's, India's and Israel's: a zone that only its writer knows.
_UNSURE = ("CST", "IST")
ZONE = "|".join(
    (*sorted((*_ZONES, *_UNSURE), key=len, reverse=True), r"[+-]\d\d:?\d\d", r"[+-](?:0\d|1[0-4])")
)


def month(word: str) -> int | None:
    """1 to 12, or None where it is no month."""
    if word[-1] in "月월":
        number = int(word[:-1])
        return number if 1 <= number <= 12 else None
    return _MONTH.get(word.rstrip(".").lower())


def zone_minutes(zone: str | None) -> int | None:
    """East of UTC. None where nothing is said, or nothing that is sure."""
    if not zone:
        return None
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        return minutes if zone[0] == "+" else -minutes
    return _ZONES.get(zone)
