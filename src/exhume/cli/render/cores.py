"""Core × time as a map: a row per core, a cell per column, each as dark as its worst second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, count, duration, percent
from exhume.cli.render import glyphs
from exhume.cli.render.axis import axis
from exhume.cli.render.core_events import in_words, marks
from exhume.cli.render.core_words import (
    CoresAnswer,
    mean,
    mode_name,
    row_worst,
    summary,
    worst_cell,
)
from exhume.cli.render.flow import flow
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.worst import worst_cores, worst_seen
from exhume.model.answers import CoreMap
from exhume.model.arrays import F32

LABEL_WIDTH = 6
MARGIN_WIDTH = 28
TALL_UP_TO_CORES = 8
_LINES_AROUND_MAP = 18  # title, averages, axis, legend, up to five sentences
_DAY_SECONDS = 86_400
_YEAR_SECONDS = 300 * _DAY_SECONDS
"""Longer than this, a day needs its year to be told."""
_DIM = Style(dim=True)
_BOLD = Style(bold=True)


class Rows(Struct, frozen=True):
    """Which cores are drawn, in which order, and which are folded into one line."""

    shown: tuple[int, ...]
    """Row numbers of the map."""
    folded: tuple[int, ...]


def plot_width(width: int) -> int:
    """How many columns the map itself has on a screen of that width."""
    return max(8, width - LABEL_WIDTH - MARGIN_WIDTH - 2)


def choose_rows(answer: CoreMap, look: Look, *, sort: str, everything: bool) -> Rows:
    """Cores that stayed quiet, and more cores than fit the screen, are folded into one row."""
    worst = row_worst(answer)
    by_heat = sorted(range(len(answer.cores)), key=lambda row: (-worst[row], row))
    kept = by_heat
    if not everything and len(answer.cores) > TALL_UP_TO_CORES:
        hot = [row for row in by_heat if worst[row] >= glyphs.HOT_PERCENT]
        kept = hot[: max(TALL_UP_TO_CORES, look.height - _LINES_AROUND_MAP)]
        kept = kept if len(kept) >= TALL_UP_TO_CORES else by_heat[:TALL_UP_TO_CORES]
    if len(answer.cores) - len(kept) == 1:
        kept = by_heat  # a line that says "1 core folded" takes the place of that core
    shown = tuple(kept if sort == "heat" else sorted(kept))
    return Rows(shown, tuple(sorted(set(by_heat) - set(kept))))


def render(
    answer: CoresAnswer,
    view: Viewpoint,
    look: Look,
    *,
    sort: str = "number",
    everything: bool = False,
) -> RenderableType:
    core_map = answer.map
    columns = plot_width(look.width)
    said = in_words(answer.events, view, LABEL_WIDTH + 1, look.width)
    room = replace(look, height=look.height - len(said) - bool(said))
    rows = choose_rows(core_map, room, sort=sort, everything=everything)
    averages = [*_averages(core_map, look, columns), Text()] if core_map.cores else []
    lines = [*averages, *_events(answer, columns)]
    tall = len(core_map.cores) <= TALL_UP_TO_CORES
    for row in rows.shown:
        lines += _row(core_map, [row], str(core_map.cores[row]), view, look, columns, tall=tall)
    if rows.folded:
        label = f"+{len(rows.folded)}"
        lines += _row(core_map, list(rows.folded), label, view, look, columns, tall=False)
    for part in axis(core_map.window, columns, view):
        lines.append(Text(" " * (LABEL_WIDTH + 1)).append_text(part))
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
    legend = _legend(core_map, rows, look) if core_map.cores else []
    lines += [Text(), *legend, *said, Text()]
    sentences = [Text(sentence) for sentence in summary(answer, view)]
    if not core_map.cores:
        sentences = [Text("No times of cores were recorded in this window.")]
    sentences += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    return Group(*_title(core_map, view, look), Text(), *lines, *sentences)


def _title(core_map: CoreMap, view: Viewpoint, look: Look) -> list[Text]:
    zone = view.zone_name(core_map.window.start_ns)
    title = f"{count(len(core_map.cores), 'core')} · {view.show_window(core_map.window)} {zone}"
    step = duration(round(core_map.column_seconds * NS))
    how = f"One column is {step}: drawn by its worst second; mean: all seconds of all cores."
    return [*flow([(title, _BOLD)], look.width), *flow([(how, _DIM)], look.width)]


def _averages(core_map: CoreMap, look: Look, columns: int) -> list[Text]:
    node = core_map.node_mean_percent_of_machine
    worst, cores = worst_cores(core_map, core_map.worst_percent_of_core)
    top = float(np.nanmax(node)) if np.isfinite(node).any() else math.nan
    low_line = _spark("mean", node, look, columns)
    low_line.append(f" {percent(mean(node)):>5}  at most {percent(top)}")
    high_line = _spark("worst", worst, look, columns)
    if (column := worst_seen(worst, cores)) is not None:
        high_line.append(f" {percent(float(worst[column])):>5}  core {cores[column]}", _BOLD)
    return [low_line, high_line]


def _events(answer: CoresAnswer, columns: int) -> list[Text]:
    if not answer.events:
        return []
    line = Text(f"{'events':>{LABEL_WIDTH}} ", _DIM)
    line.append_text(marks(answer.events, answer.map.window, columns))
    total = sum(event.count for event in answer.events)
    return [line.append(f" {count(total, 'event')}", _DIM)]


def _spark(label: str, values: F32, look: Look, columns: int) -> Text:
    line = Text(f"{label:>{LABEL_WIDTH}} ", _DIM)
    for value in values[_stretch(len(values), columns)].tolist():
        style = (
            glyphs.GAP_STYLE if math.isnan(value) else glyphs.bar_style(round(value), look.colour)
        )
        line.append(glyphs.bar(value)[0], style)
    return line


def _row(
    core_map: CoreMap,
    rows: Sequence[int],
    label: str,
    view: Viewpoint,
    look: Look,
    columns: int,
    *,
    tall: bool,
) -> list[Text]:
    """One core, or several folded into one: a cell is then the worst of them."""
    block = core_map.worst_percent_of_core[list(rows)]
    values = _column_worst(block)
    which = np.argmax(np.where(np.isnan(block), -1.0, block), axis=0)
    modes = core_map.worst_mode[list(rows)][which, np.arange(block.shape[1])]
    place = _stretch(len(values), columns)
    cells = list(zip(values[place].tolist(), modes[place].tolist(), strict=True))
    drawn = _tall_cells(cells, look) if tall else [_cells(cells, look)]
    lines = [Text(" " * (LABEL_WIDTH + 1)).append_text(part) for part in drawn]
    lines[-1] = Text(f"{label:>{LABEL_WIDTH}} ").append_text(drawn[-1])
    if np.isfinite(values).any():
        value, mode, start_ns = worst_cell(core_map, rows)
        mode = mode if value > 0 else "idle"
        style = _BOLD if value >= glyphs.HOT_PERCENT else _DIM
        when = _since(start_ns, core_map, view)
        lines[-1].append(f" {percent(value):>5} {mode:<7} {when}", style)
    else:
        lines[-1].append("     – not recorded", _DIM)
    return lines


def _since(start_ns: int, core_map: CoreMap, view: Viewpoint) -> str:
    """In the room of `from 03:14:07`."""
    if core_map.window.seconds > _YEAR_SECONDS:
        return view.local(start_ns).strftime("%Y-%m-%d")
    if core_map.window.seconds > _DAY_SECONDS:
        form = "from %m-%d" if core_map.column_seconds >= _DAY_SECONDS else "%m-%d %H:%M"
        return view.local(start_ns).strftime(form)
    when = view.show(start_ns, with_date=False)
    when = when[:5] if core_map.column_seconds >= 60 else when
    return f"from {when}" if core_map.column_seconds > 1 else when


def _cells(cells: list[tuple[float, int]], look: Look) -> Text:
    line = Text()
    for (value, mode), run in groupby(cells):
        length = len(list(run))
        if math.isnan(value):
            line.append(glyphs.GAP * length, glyphs.GAP_STYLE)
            continue
        letter = glyphs.letter(value, mode_name(mode))
        style = glyphs.cell_style(round(value), bool(letter), look.colour)
        line.append((letter or glyphs.shade(value)) * length, style)
    return line


def _tall_cells(cells: list[tuple[float, int]], look: Look) -> list[Text]:
    lines = [Text(), Text()]
    for value, mode in cells:
        letter = "" if math.isnan(value) else glyphs.letter(value, mode_name(mode))
        for line, glyph in zip(lines, glyphs.bar(value, 2), strict=True):
            if math.isnan(value):
                line.append(glyph, glyphs.GAP_STYLE)
            elif letter:
                line.append(letter, glyphs.cell_style(round(value), True, look.colour))
            else:
                line.append(glyph, glyphs.bar_style(round(value), look.colour))
    return lines


def _legend(core_map: CoreMap, rows: Rows, look: Look) -> list[Text]:
    indent = LABEL_WIDTH + 1
    ramp = Text(f"{' ' * indent}0 % ", _DIM)
    for value in (0, 25, 50, 75, 100):
        ramp.append(glyphs.shade(value) * 2, glyphs.cell_style(value, False, look.colour))
    ramp.append(" ")
    said = f"100 % of one core, {glyphs.GAP} not recorded"
    lines = flow([(said, _DIM)], look.width, head=ramp, indent=indent)
    signs = [f"{sign} {mode}" for mode, sign in glyphs.MODE_LETTERS.items()]
    letters = f"≥ {glyphs.HOT_PERCENT:.0f} %: {', '.join([*signs, '█ user'])}"
    lines += flow([(letters, _DIM)], look.width, indent=indent)
    if rows.folded:
        worst = percent(float(row_worst(core_map)[list(rows.folded)].max()))
        text = f"+{len(rows.folded)}: quieter cores, at most {worst}; --all shows each"
        lines += flow([(text, _DIM)], look.width, indent=indent)
    return lines


def _stretch(have: int, want: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which column each character shows."""
    return (np.arange(want, dtype=np.int64) * have) // want


def _column_worst(block: F32) -> F32:
    filled = np.where(np.isnan(block), -np.inf, block).max(axis=0, initial=-np.inf)
    return np.where(np.isinf(filled), np.nan, filled).astype(np.float32)
