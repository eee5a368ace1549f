"""The pictures of a report as inline SVG: core × time, and the number of zombies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.arrays import F32
from exhume.model.report import ZombieCurve
from exhume.model.window import Window

WIDTH = 1000
_LEFT, _RIGHT, _TOP, _AXIS = 64, 12, 26, 24
_LEVELS = 20
_CURVE_HEIGHT = 190
_MOST_POINTS = 900
_TICKS_NS = tuple(
    seconds * 1_000_000_000
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600,
                    43_200, 86_400)
)  # fmt: skip


def core_heat_map(
    cores: CoreMap, symptom: Window | None, core: int | None, label: str = "harm"
) -> str:
    """A row a core, a cell its worst second; the symptom's stretch and core are framed."""
    count = len(cores.cores)
    row = max(3.0, min(22.0, 420 / max(1, count)))
    body = row * count
    height = _TOP + 16 + body + _AXIS
    top = _TOP + 16.0
    parts = [_open(height, "map of cores × time")]
    parts += _row("mean", cores.node_mean_percent_of_machine, None, _TOP - 4.0, 14.0)
    parts.append(_text(_LEFT - 6, _TOP + 6.5, "all cores", anchor="end"))
    every = max(1, math.ceil(12 / row))
    for index, number in enumerate(cores.cores):
        y = top + index * row
        name = f"CPU {number}"
        if index % every == 0 and number != core:
            parts.append(_text(_LEFT - 6, y + row / 2 + 4, name, anchor="end"))
        worst, mode = cores.worst_percent_of_core[index], cores.worst_mode[index]
        parts += _row(name, worst, mode.tolist(), y, row - (1 if row > 5 else 0))
    if symptom is not None:
        parts += _framed(cores, symptom, core, (top, row, body), label)
    parts += _time_axis(cores.window, top + body)
    return "".join([*parts, "</svg>"])


def zombie_curve(curve: ZombieCurve, marks: Sequence[Window]) -> str:
    """The count over time; each mark is a symptom."""
    window = Window(int(curve.wall_ns[0]), max(int(curve.wall_ns[-1]), int(curve.wall_ns[0]) + 1))
    top, bottom = 12.0, 12.0 + _CURVE_HEIGHT
    ceiling = _round_up(int(curve.counts.max()))
    parts = [_open(bottom + _AXIS, "zombie cgroups over time")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - share * _CURVE_HEIGHT
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(_LEFT - 6, y + 4, f"{round(ceiling * share):,}", anchor="end"))
    for mark in marks:
        if mark.overlaps(window):
            left, right = _x(window, mark.start_ns), _x(window, mark.end_ns)
            parts.append(
                f'<rect class="mark" x="{left:.1f}" y="{top}" width="{max(1.5, right - left):.1f}" '
                f'height="{_CURVE_HEIGHT}"/>'
            )
    step = max(1, len(curve.counts) // _MOST_POINTS)
    chosen = np.unique(np.append(np.arange(0, len(curve.counts), step), len(curve.counts) - 1))
    points = " ".join(
        f"{_x(window, int(curve.wall_ns[i])):.1f},"
        f"{bottom - int(curve.counts[i]) / ceiling * _CURVE_HEIGHT:.1f}"
        for i in chosen
    )
    parts.append(f'<polyline class="curve" points="{points}"/>')
    parts += _time_axis(window, bottom)
    return "".join([*parts, "</svg>"])


def _row(
    name: str, percent: F32, modes: list[int] | None, y: float, height: float
) -> Iterator[str]:
    """Neighbours that look the same are one rectangle: 96 cores × 180 columns stay small."""
    inner = WIDTH - _LEFT - _RIGHT
    width = inner / max(1, len(percent))
    levels = [-1 if math.isnan(p) else min(_LEVELS, round(p / 100 * _LEVELS)) for p in percent]
    start = 0
    for end in range(1, len(levels) + 1):
        if end < len(levels) and levels[end] == levels[start]:
            continue
        level = levels[start]
        shade = "none" if level < 0 else f"h{level}"
        tip = f"{name}: not recorded" if level < 0 else f"{name}: {level * 100 // _LEVELS} %"
        mode = modes[start] if modes is not None else -1
        if level > _LEVELS // 2 and 0 <= mode < len(MAP_MODES):
            tip += f", mostly {MAP_MODES[mode]}"
        yield (
            f'<rect class="{shade}" x="{_LEFT + start * width:.2f}" y="{y:.1f}" '
            f'width="{(end - start) * width + 0.3:.2f}" height="{height:.1f}">'
            f"<title>{escape(tip)}</title></rect>"
        )
        start = end


def _framed(
    cores: CoreMap,
    symptom: Window,
    core: int | None,
    place: tuple[float, float, float],
    label: str,
) -> Iterator[str]:
    top, row, body = place
    left, right = _x(cores.window, symptom.start_ns), _x(cores.window, symptom.end_ns)
    width = max(2.0, right - left)
    yield (
        f'<rect class="when" x="{left:.1f}" y="{_TOP - 5}" width="{width:.1f}" '
        f'height="{body + 22:.1f}"/>'
    )
    middle = min(max(left + width / 2, _LEFT + 40), WIDTH - _RIGHT - 40)
    yield _text(middle, _TOP - 11, label, "what", "middle")
    if core in cores.cores:
        y = top + cores.cores.index(core) * row
        yield (
            f'<rect class="where" x="{left:.1f}" y="{y - 1:.1f}" width="{width:.1f}" '
            f'height="{row + 1:.1f}"/>'
        )
        yield _text(_LEFT - 6, y + row / 2 + 4, f"CPU {core}", "what", "end")


def _time_axis(window: Window, y: float) -> Iterator[str]:
    length = window.end_ns - window.start_ns
    step = next((one for one in _TICKS_NS if length / one <= 9), _TICKS_NS[-1])
    tick = -(-window.start_ns // step) * step
    while tick <= window.end_ns:
        x = _x(window, tick)
        clock = str(np.datetime64(tick // 1_000_000_000, "s")).split("T")[1]
        anchor = "start" if x < _LEFT + 24 else "end" if x > WIDTH - _RIGHT - 24 else "middle"
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{y + 4:.1f}"/>'
        yield _text(x, y + 17, clock, anchor=anchor)
        tick += step


def _x(window: Window, wall_ns: int) -> float:
    share = (wall_ns - window.start_ns) / (window.end_ns - window.start_ns)
    return _LEFT + min(1.0, max(0.0, share)) * (WIDTH - _LEFT - _RIGHT)


def _open(height: float, name: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(name)}">'
    )


def _text(x: float, y: float, text: str, kind: str = "label", anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _round_up(count: int) -> int:
    """To a number whose quarters are read easily."""
    power = int("1" + "0" * (len(str(max(1, count))) - 1))
    tenths = (10, 12, 16, 20, 24, 32, 40, 60, 80, 100)
    return max(4, next(power * lead // 10 for lead in tenths if power * lead >= 10 * count))


def heat_colours() -> str:
    """White over amber to dark red, as rules of a style sheet; the same in light and dark."""
    stops = ((0.0, (238, 242, 246)), (0.35, (255, 221, 140)), (0.7, (240, 120, 50)),
             (1.0, (150, 10, 40)))  # fmt: skip
    rules = []
    for level in range(_LEVELS + 1):
        share = level / _LEVELS
        after = next(i for i, (at, _) in enumerate(stops) if share <= at)
        (low, a), (high, b) = stops[max(0, after - 1)], stops[after]
        part = 0.0 if high == low else (share - low) / (high - low)
        red, green, blue = (round(p + (q - p) * part) for p, q in zip(a, b, strict=True))
        rules.append(f".h{level}{{fill:rgb({red},{green},{blue})}}")
    return "".join(rules)
