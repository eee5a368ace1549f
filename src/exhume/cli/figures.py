"""Figures as a person reads them: percentages, bytes, durations, lists of cores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from exhume.model.core import NO_CORE

NS = 1_000_000_000
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def percent(value: float | None) -> str:
    """`97 %`, `6.5 %`, `< 0.1 %`; `–` where it is not known. The denominator is the caller's."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0 %"
    if value < 0.1:
        return "< 0.1 %"
    return f"{value:.1f} %" if value < 9.95 else f"{value:.0f} %"


def times(value: float | None, baseline: float | None) -> str:
    """How many times its own baseline; `new` where it had none of it, `–` where that is unknown."""
    if baseline is None or (value is None and baseline > 0):
        return "–"
    if value is None or math.isinf(value):
        return "new"
    if value >= 1000:
        return "> 1000 ×"
    return f"{value:.1f} ×" if value < 9.95 else f"{value:.0f} ×"


def size(count: float | None) -> str:
    if count is None:
        return "–"
    value = float(count)
    for unit in _BYTE_UNITS:
        if value < 1024 or unit == _BYTE_UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def duration(ns: int) -> str:
    """`250 ms`, `6 s`, `1.5 s`, `1 m 30 s`, `12 h`, `3 d 4 h`: two units at most."""
    if ns < 0:
        return "−" + duration(-ns)
    if ns < NS:
        # What was imported of one line is an instant, and kept as a nanosecond.
        return f"{ns / 1e6:.3g} ms" if ns >= 1_000 else "0 s"
    if ns < 60 * NS:
        return f"{ns / NS:.3g} s"
    seconds = round(ns / NS)
    units = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
    for (big, name), (small, part) in pairwise(units):
        if seconds >= big:
            rest = seconds % big // small
            return f"{seconds // big} {name}" + (f" {rest} {part}" if rest else "")
    return f"{seconds} s"


def count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def core_name(core: int) -> str:
    """`?` for samples that do not say on which."""
    return "?" if core == NO_CORE else str(core)


def ranges(numbers: Iterable[int]) -> str:
    """`0–38, 40, 42–95`: cores, briefly."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1 and number != NO_CORE:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(core_name(a) if a == b else f"{a}–{b}" for a, b in runs)


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
