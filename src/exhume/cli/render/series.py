"""A field over time: a line of bars for each instance, with its least, mean, most and last."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, duration
from exhume.cli.render.amounts import amount, short_unit
from exhume.cli.render.axis import axis
from exhume.cli.render.spark import spark
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.rates import Intervals, columns
from exhume.derive.series_report import not_recorded
from exhume.model.evidence import InstanceSeries, SeriesReport

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_STYLES = {"most": _BOLD, "resets": Style(color="yellow", bold=True)}
_HEADINGS = ("least", "mean", "most", "last", "resets")
_LEAST_SPARK = 20
_LEAST_NAME = 8


def render(answer: SeriesReport, view: Viewpoint, look: Look) -> RenderableType:
    title = [*_title(answer, view), Text()]
    if not answer.series:
        return Group(*title, Text(f"{not_recorded(answer.field)}."), *_notes(answer))
    lines: list[Text] = []
    headings = _HEADINGS if any(one.resets for one in answer.series) else _HEADINGS[:-1]
    figures = [_figures(one, answer.unit) for one in answer.series]
    widths = [
        max(len(heading), *(len(row[column]) for row in figures))
        for column, heading in enumerate(headings)
    ]
    names = [printable(one.instance) for one in answer.series]
    room = look.width - sum(widths) - 2 * len(widths) - 2
    most = max(_LEAST_NAME, min(room - _LEAST_SPARK, look.width * 2 // 5))
    name_width = min(max(map(cell_len, names)), most)
    plot = max(_LEAST_SPARK, room - name_width) if name_width else max(_LEAST_SPARK, room + 1)
    lead = name_width + 1 if name_width else 0
    heading = Text(" " * (lead + plot), _DIM)
    for width, word in zip(widths, headings, strict=True):
        heading.append(f"  {word:>{width}}", _DIM)
    lines.append(heading)
    for name, one, row in zip(names, answer.series, figures, strict=True):
        line = Text(_fitted(name, name_width) + " " if lead else "")
        line.append_text(_spark(one, answer, look, plot))
        for width, cell, word in zip(widths, row, headings, strict=False):
            line.append(f"  {cell:>{width}}", _STYLES.get(word, Style()))
        lines.append(line)
    lines += [Text(" " * lead).append_text(part) for part in axis(answer.window, plot, view)]
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
    return Group(*title, *lines, *_notes(answer))


def _title(answer: SeriesReport, view: Viewpoint) -> list[Text]:
    field = answer.field
    title = Text(field.id, _BOLD).append(f" · {short_unit(answer.unit)}", Style())
    if field.instance:
        title.append(f" by {field.instance}", Style())
    zone = view.zone_name(answer.window.start_ns)
    title.append(f" · {view.show_window(answer.window)} {zone}", _DIM)
    return [title, Text(field.help, _DIM)]


def _figures(one: InstanceSeries, unit: str) -> list[str]:
    values = [amount(value, unit) for value in (one.least, one.mean, one.most, one.last)]
    return [*values, f"{one.resets:,}" if one.resets else ""]


def _spark(one: InstanceSeries, answer: SeriesReport, look: Look, plot: int) -> Text:
    wall = one.wall_ns
    if answer.is_rate:
        start = wall - _step(one)
        intervals = Intervals(start, wall, one.values)
    else:
        intervals = Intervals(wall, wall + _step(one), one.values)
    return spark(columns(intervals, answer.window, plot), one.most, colour=look.colour)


def _step(one: InstanceSeries) -> int:
    """How long a value usually holds."""
    gaps = sorted((one.wall_ns[1:] - one.wall_ns[:-1]).tolist())
    return max(1, gaps[len(gaps) // 2]) if gaps else NS


def _fitted(name: str, width: int) -> str:
    """Of a path that is too long its end is kept: that tells it from others."""
    if cell_len(name) <= width:
        return set_cell_size(name, width)
    if name.startswith("/"):
        return "…" + name[1 - width :]
    return set_cell_size(name, width - 1) + "…"


def _notes(answer: SeriesReport) -> list[Text]:
    lines = []
    step = duration(round(answer.window.seconds * NS))
    if answer.left_out:
        shown = len(answer.series)
        text = f"The {shown} most active of {shown + answer.left_out} in {step}; --limit shows more"
        lines += [Text(), Text(f"{text}, and names or patterns after the field choose.", _DIM)]
    return lines + [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
