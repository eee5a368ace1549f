"""Core times, processes and frames of a window as tables."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, core_name, count, duration, percent, ranges, times
from exhume.cli.render.columns import Column, table
from exhume.cli.render.empty import no_samples
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.answers import CoreTimes, Filter, Top, TopFrame, TopProcess
from exhume.model.stack import FrameKind

CORES_SHOWN = 8
NOTABLE_TIMES = 3.0
"""From this many times its baseline on, a figure stands out."""

FRAME_STYLES = {
    FrameKind.PROCESS: Style(bold=True),
    FrameKind.USER: Style(color="cyan"),
    FrameKind.KERNEL: Style(color="yellow"),
    FrameKind.UNKNOWN: Style(dim=True),
}
FRAME_WORDS = {
    FrameKind.PROCESS: "process",
    FrameKind.USER: "user",
    FrameKind.KERNEL: "kernel",
    FrameKind.UNKNOWN: "unknown",
}
_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_CORES_NAMED = 3
_IDLE = 95.0
_SPARE_MODES = {"steal": 5, "iowait": 4, "irq": 3, "idle": 2, "user": 1}
"""Which go first where a line is short."""


def render(answer: Top, view: Viewpoint, look: Look) -> RenderableType:
    parts: list[RenderableType] = [_title(answer, view), Text()]
    if answer.core_times:
        parts += [*_core_times(answer.core_times, look), Text()]
    if answer.processes:
        parts += [*_processes(answer.processes, look), Text()]
    if answer.frames:
        parts += [*_frames(answer.frames, look), *_footnotes(answer.frames), Text()]
    if not answer.samples:
        parts.append(Text(_without_samples(answer)))
    parts += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    while isinstance(parts[-1], Text) and not parts[-1].plain:
        parts.pop()
    return Group(*parts)


def _without_samples(answer: Top) -> str:
    """Idle cores have none either, but not where their own times say that they were busy."""
    is_busy = any(one.idle_percent + one.iowait_percent < _IDLE for one in answer.core_times)
    is_filtered = answer.filter != Filter()
    if is_busy and not answer.seconds_recorded:
        return "No samples: only counters were recorded."
    if is_busy and not is_filtered:
        return "No samples of this, though cores were busy."
    return no_samples(is_filtered=is_filtered, seconds_sampled=answer.seconds_recorded)


def described(chosen: Filter) -> str:
    """The filter in words; empty when there is none."""
    parts = []
    if chosen.cores:
        parts.append(f"core{'s' if len(chosen.cores) > 1 else ''} {ranges(chosen.cores)}")
    for word, names in (
        ("process", chosen.comms),
        ("pid", chosen.pids),
        ("thread", chosen.tids),
        ("cgroup", chosen.cgroups),
        ("unit", chosen.units),
        ("container", chosen.containers),
        ("pod", chosen.pods),
        ("mode", chosen.modes),
    ):
        if names:
            parts.append(f"{word} {', '.join(printable(str(name)) for name in names)}")
    return " · ".join(parts)


def _title(answer: Top, view: Viewpoint) -> Text:
    zone = view.zone_name(answer.window.start_ns)
    title = Text(f"{view.show_window(answer.window)} {zone}", _BOLD)
    if words := described(answer.filter):
        title.append(f" · {words}", _BOLD)
    recorded = duration(round(answer.seconds_recorded * NS))
    title.append(f" · {count(answer.samples, 'sample')} in {recorded}", _DIM)
    return title


def _core_times(cores: tuple[CoreTimes, ...], look: Look) -> list[Text]:
    busiest = sorted(cores, key=lambda core: -_known(core.worst_second_percent))[:CORES_SHOWN]
    title = "core times, % of that core"
    if len(cores) > len(busiest):
        title += f" · the {len(busiest)} with the worst second of {len(cores)}"
    modes = ("user", "system", "softirq", "irq", "steal", "iowait", "idle")
    shown = [Column(mode, spare=_SPARE_MODES.get(mode, 0)) for mode in modes]
    columns = [Column("core"), *shown, Column("worst second", spare=-1)]
    rows = []
    for core in sorted(busiest, key=lambda core: core.core):
        figures = [getattr(core, f"{mode}_percent") for mode in modes]
        cells = [Text(percent(value), _DIM if not value else "") for value in figures]
        worst = Text(percent(core.worst_second_percent), _BOLD)
        rows.append([Text(core_name(core.core), _BOLD), *cells, worst])
    return table(title, columns, rows, look.width)


def _processes(rows: tuple[TopProcess, ...], look: Look) -> list[Text]:
    by_thread = any(row.tid is not None for row in rows)
    columns = [
        Column("time"),
        Column("user", spare=2),
        Column("system", spare=3),
        Column("usual", spare=5),
        Column("×", spare=4),
        Column("on cores", right=False, spare=1),
        Column("pid"),
        Column("tid", optional=True),
        Column("process", right=False, least=10),
        Column("belongs to", right=False, least=12, optional=True),
    ]
    cells = [
        [
            Text(percent(row.percent_of_one_core), _BOLD),
            Text(percent(row.user_percent_of_one_core)),
            Text(percent(row.system_percent_of_one_core)),
            Text(percent(row.baseline_percent_of_one_core), _DIM),
            _times(row.times_baseline, row.baseline_percent_of_one_core),
            Text(_cores(row.cores)),
            Text(_id(row.pid)),
            Text(_thread(row, by_thread)),
            Text(printable(row.comm), _BOLD),
            Text(printable(_owner(row)), _DIM),
        ]
        for row in rows
    ]
    title = f"{'threads' if by_thread else 'processes'}, % of one core"
    return table(title, columns, cells, look.width)


def _thread(row: TopProcess, by_thread: bool) -> str:
    """A row of a known process without a thread stands for all of them."""
    is_told = row.tid is not None or (by_thread and row.pid is None)
    return _id(row.tid) if is_told else ""


def _id(number: int | None) -> str:
    return "?" if number is None else str(number)


def _owner(row: TopProcess) -> str:
    """The most telling of what is known: pod and container, unit, or the bare cgroup."""
    if row.container:
        return f"{row.pod} {row.container}".strip()
    return row.unit or row.cgroup


def _frames(rows: tuple[TopFrame, ...], look: Look) -> list[Text]:
    columns = [
        Column("incl."),
        Column("self"),
        Column("core", spare=3),
        Column("usual", spare=5),
        Column("×", spare=4),
        Column("in", right=False, spare=1),
        Column("frame", right=False, least=16),
        Column("module", right=False, least=8, optional=True),
    ]
    cells = []
    for row in rows:
        style = FRAME_STYLES[row.frame.kind]
        name = Text("⚠ " if row.interrupts_were_off else "", Style(color="red", bold=True))
        cells.append(
            [
                Text(percent(row.inclusive_percent_of_selection), _BOLD),
                Text(percent(row.self_percent_of_selection)),
                Text(percent(row.inclusive_percent_of_one_core)),
                Text(percent(row.baseline_percent_of_one_core), _DIM),
                _times(row.times_baseline, row.baseline_percent_of_one_core),
                Text(FRAME_WORDS[row.frame.kind], style),
                name.append(printable(row.frame.name), style),
                Text(printable(row.frame.module), _DIM),
            ]
        )
    title = "frames, incl. and self in % of the selection, core and usual in % of one core"
    return table(title, columns, cells, look.width)


def _footnotes(rows: tuple[TopFrame, ...]) -> list[Text]:
    if not any(row.interrupts_were_off for row in rows):
        return []
    text = "⚠ interrupts were off before here: the time belongs to its caller (exhume flame)"
    return [Text(text, _DIM)]


def _times(value: float | None, baseline: float | None) -> Text:
    notable = baseline == 0 or (value is not None and value >= NOTABLE_TIMES)
    return Text(times(value, baseline), Style(color="red", bold=True) if notable else _DIM)


def _cores(cores: tuple[int, ...]) -> str:
    """`?` for samples that do not say on which."""
    named = ", ".join(map(str, cores[:_CORES_NAMED])) or "?"
    return f"{named} +{len(cores) - _CORES_NAMED}" if len(cores) > _CORES_NAMED else named


def _known(value: float) -> float:
    return -1.0 if math.isnan(value) else value
