"""Months in time stamps, as `%b` writes them in many languages."""

from __future__ import annotations

# dmesg -T and journalctl's short forms write months in the language of whoever ran them. A dot at
# the end (`févr.`) and the case do not matter; Chinese, Japanese and Korean number them.
_MONTHS = (
    "jan janv ene gen янв яну sty ian led",
    "feb févr fév fev lut фев úno",
    "mar mars mär märz mrt мар bře mart",
    "apr abr avr avril апр kwi dub",
    "may mai mag maj mei мая май kvě mayıs",
    "jun juin giu june cze июн юни čen iun",
    "jul juil lug july lip июл юли čec iul",
    "aug ago août aoû sie авг srp",
    "sep sept set wrz сен сеп zář",
    "oct okt ott out paź окт říj",
    "nov lis ноя ное noi",
    "dec dez dic déc gru дек pro",
)
_MONTH = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
MONTH = r"(?:[^\W\d_]{3,6}\.?|\d{1,2}[月월])"
"""What may be a month: `month` says whether it is."""


def month(word: str) -> int | None:
    """1 to 12, or None where it is no month."""
    if word[-1:] in ("月", "월"):
        digits = word[:-1]
        number = int(digits) if digits.isascii() and digits.isdigit() else 0
        return number if 1 <= number <= 12 else None
    return _MONTH.get(word.rstrip(".").lower())


def month_by_name(word: str) -> int | None:
    """The same of whole names too: `novembre`, `November`."""
    found = (month(word[:length]) for length in (len(word), 4, 3) if len(word) >= length)
    return next((number for number in found if number is not None), None)
