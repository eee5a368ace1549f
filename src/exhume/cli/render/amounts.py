"""Amounts in the units of the catalogue, as a person reads them."""

from __future__ import annotations

import math

from exhume.cli.figures import duration, size

PER_SECOND = " per second"
_NANOSECONDS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000}


def amount(value: float | None, unit: str = "") -> str:
    """`1,234`, `0.25`, `3.1 MiB/s`, `12 ms/s`; `–` where not known. Plain units are not said."""
    if value is None or math.isnan(value):
        return "–"
    what, is_rate = unit.removesuffix(PER_SECOND), unit.endswith(PER_SECOND)
    if what == "bytes":
        return ("−" if value < 0 else "") + size(abs(value)) + ("/s" if is_rate else "")
    if what == "KiB":
        return amount(value * 1024, "bytes" + (PER_SECOND if is_rate else ""))
    if what in _NANOSECONDS:
        ns = value * _NANOSECONDS[what]
        return f"{number(ns / 1e6)} ms/s" if is_rate else duration(round(ns))
    return number(value)


def number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if value < 0:
        return "−" + number(-value)
    if value == round(value) or value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2g}" if value >= 0.01 else "< 0.01"


def short_unit(unit: str) -> str:
    """`interrupts per second` → `interrupts/s`."""
    what, is_rate = unit.removesuffix(PER_SECOND), unit.endswith(PER_SECOND)
    return f"{what}/s" if is_rate else what
