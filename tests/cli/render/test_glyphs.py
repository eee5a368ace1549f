from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.render import glyphs


def test_hotter_is_always_brighter_so_that_no_hue_is_needed() -> None:
    steps = [glyphs.brightness(glyphs.heat(percent)) for percent in range(101)]
    assert all(a < b for a, b in pairwise(steps))


def test_shades_rise_with_the_load() -> None:
    order = [glyphs.SHADES.index(glyphs.shade(percent)) for percent in range(101)]
    assert order == sorted(order)
    assert set(order) == set(range(5))


def test_a_gap_has_a_glyph_of_its_own() -> None:
    assert glyphs.shade(math.nan) == glyphs.GAP
    assert glyphs.bar(math.nan, 2) == [" ", glyphs.GAP]
    assert glyphs.GAP not in glyphs.SHADES + glyphs.EIGHTHS


def test_only_hot_cells_outside_of_user_mode_have_a_letter() -> None:
    assert glyphs.letter(100, "system") == "S"
    assert glyphs.letter(100, "user") == ""
    assert glyphs.letter(79, "system") == ""
    assert len(set(glyphs.MODE_LETTERS.values())) == len(glyphs.MODE_LETTERS)


@given(st.floats(0, 100), st.integers(1, 4))
def test_a_bar_fills_from_the_bottom(percent: float, lines: int) -> None:
    bar = glyphs.bar(percent, lines)
    heights = [glyphs.EIGHTHS.index(glyph) for glyph in bar]
    assert heights == sorted(heights)
    assert (sum(heights) == 0) == (percent == 0)
    assert abs(sum(heights) - percent / 100 * 8 * lines) <= 1


def test_a_letter_can_be_read_on_its_cell() -> None:
    for percent in range(80, 101):
        style = glyphs.cell_style(percent, True, True)
        assert style.color is not None
        assert style.bgcolor is not None
        triplet = style.color.triplet
        assert triplet is not None
        front = glyphs.brightness((triplet.red, triplet.green, triplet.blue))
        back = glyphs.brightness(glyphs.heat(percent))
        contrast = (max(front, back) + 0.05) / (min(front, back) + 0.05)
        assert contrast > 4.5  # WCAG AA
