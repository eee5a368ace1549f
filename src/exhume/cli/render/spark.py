"""A line of bars: each as high as the highest value of its column, dots where nothing is known."""

from __future__ import annotations

import math

from rich.text import Text

from exhume.cli.render import glyphs
from exhume.model.arrays import F64


def spark(values: F64, most: float, *, colour: bool) -> Text:
    """From 0 to `most`; what is below 0 has no bar."""
    line = Text()
    for value in values.tolist():
        if math.isnan(value):
            line.append(glyphs.GAP, glyphs.GAP_STYLE)
            continue
        percent = 100 * value / most if most > 0 else 0.0
        line.append(glyphs.bar(percent)[0], glyphs.bar_style(round(percent), colour))
    return line
