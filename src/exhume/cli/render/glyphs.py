"""Cells: how busy, as a colour, a shade, a bar, and a letter for what it was busy with.

The text is the same with and without colour: in colour a shade is drawn in the colour of its own
background, so that it can't be seen but can be copied.
"""

from __future__ import annotations

import math
from functools import lru_cache

from rich.style import Style

# matplotlib's inferno at even steps: brightness rises with the value, so it reads the same with
# any colour blindness and in grey.
_INFERNO = (
    (0, 0, 4), (31, 12, 72), (85, 15, 109), (136, 34, 106), (186, 54, 85),
    (227, 89, 51), (249, 140, 10), (249, 201, 50), (252, 255, 164),
)  # fmt: skip
SHADES = " ░▒▓█"
_SHADE_FROM = (5.0, 30.0, 55.0, 80.0)
EIGHTHS = " ▁▂▃▄▅▆▇█"
GAP = "·"
HOT_PERCENT = 80.0
"""From here on a cell shows its mode's letter, unless it is user mode: that is just a full cell."""

MODE_LETTERS = {"system": "S", "softirq": "Q", "irq": "I", "steal": "T"}
GAP_STYLE = Style(dim=True)


@lru_cache(maxsize=256)
def heat(percent: int) -> tuple[int, int, int]:
    place = min(max(percent, 0), 100) / 100 * (len(_INFERNO) - 1)
    low = min(int(place), len(_INFERNO) - 2)
    part = place - low
    red, green, blue = (
        round(a + (b - a) * part)
        for a, b in zip(_INFERNO[low], _INFERNO[low + 1], strict=True)
    )  # fmt: skip
    return red, green, blue


def brightness(colour: tuple[int, int, int]) -> float:
    """Relative luminance (sRGB, ITU-R BT.709), 0 to 1."""
    linear = [((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def letter(percent: float, mode: str) -> str:
    return MODE_LETTERS.get(mode, "") if percent >= HOT_PERCENT else ""


def shade(percent: float) -> str:
    return GAP if math.isnan(percent) else SHADES[sum(percent >= start for start in _SHADE_FROM)]


def bar(percent: float, lines: int = 1) -> list[str]:
    """A bar of eighths, `lines` high, from top to bottom. Above 0 it is never empty."""
    if math.isnan(percent):
        return [" "] * (lines - 1) + [GAP]
    eighths = round(min(max(percent, 0.0), 100.0) / 100 * 8 * lines)
    eighths = max(eighths, 1) if percent > 0 else eighths
    return [EIGHTHS[min(max(eighths - 8 * line, 0), 8)] for line in reversed(range(lines))]


@lru_cache(maxsize=1024)
def cell_style(percent: int, with_letter: bool, colour: bool) -> Style:
    """A cell of the map: its background is the heat."""
    if not colour:
        return Style(bold=with_letter)
    back = heat(percent)
    front = back if not with_letter else (0, 0, 0) if brightness(back) > 0.2 else (255, 255, 255)
    return Style(color=_rgb(front), bgcolor=_rgb(back), bold=with_letter)


@lru_cache(maxsize=256)
def bar_style(percent: int, colour: bool) -> Style:
    """A bar on the terminal's own background: not darker than can be seen on black."""
    return Style(color=_rgb(heat(max(percent, 35)))) if colour else Style()


def _rgb(colour: tuple[int, int, int]) -> str:
    return f"rgb({colour[0]},{colour[1]},{colour[2]})"
