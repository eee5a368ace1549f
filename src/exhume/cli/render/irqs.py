"""Interrupt lines next to their cores, the cores' network work, and the threads that serve it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import count, duration, percent
from exhume.cli.render import glyphs
from exhume.cli.render.amounts import number
from exhume.cli.render.columns import Column, table
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.queues import is_network
from exhume.model.evidence import Crowd, IrqLine, IrqsAnswer, NetCore, NetThread

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_BAD = Style(color="red", bold=True)
_WARN = Style(color="yellow", bold=True)
_LINES_SHOWN = 16
_CORES_SHOWN = 12
_THREADS_SHOWN = 8
_LONG_WAIT_NS = 500_000_000
"""A thread that serves the network and was not run for so long is a symptom by itself."""


def render(
    answer: IrqsAnswer, view: Viewpoint, look: Look, *, everything: bool = False
) -> RenderableType:
    zone = view.zone_name(answer.window.start_ns)
    title = f"interrupts · {view.show_window(answer.window)} {zone}"
    parts: list[RenderableType] = [Text(title, _BOLD), Text()]
    busy = {one.core: one for one in answer.cores}
    lines = [line for line in answer.lines if everything or line.device or line.irq.isdigit()]
    if lines:
        shown = lines if everything else lines[:_LINES_SHOWN]
        parts += _lines(shown, busy, look)
        rest = len(answer.lines) - len(shown)
        words = [f"{count(rest, 'quieter or system line')} (--all)"] if rest else []
        if answer.silent_lines:
            words.append(f"{count(answer.silent_lines, 'line')} that never fired")
        parts += [Text(f"Not shown: {', '.join(words)}.", _DIM)] if words else []
        parts.append(Text())
    else:
        parts += [Text("No interrupt of a device was recorded in this window."), Text()]
    if answer.cores:
        parts += [*_cores(answer.cores, look, everything=everything), Text()]
    if threads := [one for one in answer.threads if everything or one.wait_ns]:
        parts += [*_threads(threads, view, look, everything=everything), Text()]
    parts += [Text(_crowd(one), _WARN) for one in answer.crowded]
    parts += [Text(text) for text in _said(answer, view)]
    parts += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    while isinstance(parts[-1], Text) and not parts[-1].plain:
        parts.pop()
    return Group(*parts)


def _lines(lines: Sequence[IrqLine], busy: dict[int, NetCore], look: Look) -> list[Text]:
    columns = [
        *map(Column, ("a second", "at most", "core", "its mean", "worst second")),
        Column("serves", right=False, least=8, optional=True),
        Column("irq"),
        Column("name", right=False, least=12),
    ]
    rows = []
    for line in lines:
        core = busy.get(line.core) if line.core is not None else None
        worst = core.worst_percent_of_core if core else math.nan
        mode = f" {core.worst_mode}" if core and core.worst_mode else ""
        queue = "" if line.queue is None else f" {line.queue}"
        serves = f"{line.device} {line.direction}{queue}" if line.device else ""
        rows.append(
            [
                Text(number(line.per_second), _BOLD),
                Text(number(line.most_per_second), _DIM),
                Text("–" if line.core is None else str(line.core), _BOLD),
                Text(percent(core.mean_percent_of_core if core else None)),
                Text(percent(worst) + mode, _hot(worst)),
                Text(printable(serves)),
                Text(printable(line.irq), _DIM),
                Text(printable(line.name), _DIM if serves else Style()),
            ]
        )
    return table("lines, and how busy the core was that each goes to", columns, rows, look.width)


def _cores(cores: Sequence[NetCore], look: Look, *, everything: bool) -> list[Text]:
    def notable(one: NetCore) -> tuple[int, float, float]:
        return (
            -(one.dropped or 0) - (one.squeezed or 0),
            -_known(one.net_rx_per_second),
            -_known(one.worst_percent_of_core),
        )

    shown = sorted(cores, key=notable)
    shown = shown if everything else shown[:_CORES_SHOWN]
    columns = [
        *map(Column, ("core", "its mean", "worst second", "NET_RX/s", "packets/s", "squeezed")),
        Column("dropped"),
        Column("queues", optional=True),
        Column("interrupts/s", optional=True),
    ]
    rows = [_core_row(one) for one in sorted(shown, key=lambda one: one.core)]
    title = "cores: work for the network; squeezed and dropped in the whole window"
    if len(cores) > len(shown):
        title += f" · {len(shown)} of {len(cores)}"
    return table(title, columns, rows, look.width)


def _core_row(one: NetCore) -> list[Text]:
    worst = f"{percent(one.worst_percent_of_core)} {one.worst_mode}".rstrip()
    squeezed, dropped = (
        "–" if total is None else f"{total:,}" for total in (one.squeezed, one.dropped)
    )
    return [
        Text(str(one.core), _BOLD),
        Text(percent(one.mean_percent_of_core)),
        Text(worst, _hot(one.worst_percent_of_core)),
        Text(number(one.net_rx_per_second)),
        Text(number(one.packets_per_second)),
        Text(squeezed, _WARN if one.squeezed else _DIM),
        Text(dropped, _BAD if one.dropped else _DIM),
        Text(str(one.queues) if one.queues else ""),
        Text(number(one.device_interrupts_per_second), _DIM),
    ]


def _threads(
    threads: Sequence[NetThread], view: Viewpoint, look: Look, *, everything: bool
) -> list[Text]:
    shown = threads if everything else threads[:_THREADS_SHOWN]
    columns = [
        *map(Column, ("waited", "worst second", "at", "ran")),
        Column("thread", right=False, least=12),
    ]
    rows = [
        [
            Text(_time(one.wait_ns), _BOLD),
            Text(_time(one.worst_wait_ns),
                 _BAD if (one.worst_wait_ns or 0) >= _LONG_WAIT_NS else Style()),
            Text("" if one.worst_wait_wall_ns is None else view.show(one.worst_wait_wall_ns), _DIM),
            Text(_time(one.run_ns), _DIM),
            Text(printable(one.name), _BOLD),
        ]
        for one in shown
    ]  # fmt: skip
    title = "threads that serve the network: how long each was ready and not run"
    return table(title, columns, rows, look.width)


def _crowd(one: Crowd) -> str:
    share = percent(one.percent_of_its_interrupts)
    which = "all" if one.queues == one.of_queues else str(one.queues)
    return (
        f"⚠ {printable(one.device)}: {which} of its {one.of_queues} queues interrupt core "
        f"{one.core} ({share} of its interrupts). One full core stops them together."
    )


def _said(answer: IrqsAnswer, view: Viewpoint) -> list[str]:
    """The join that matters: a starved thread, or a full core that has queues."""
    said = [
        f"{printable(thread.name)} was ready and not run for {_time(thread.worst_wait_ns)} "
        f"before {view.show(thread.worst_wait_wall_ns)}."
        for thread in answer.threads
        if thread.worst_wait_wall_ns is not None and (thread.worst_wait_ns or 0) >= _LONG_WAIT_NS
    ]
    for core in answer.cores:
        queues = [line for line in answer.lines if line.core == core.core and is_network(line)]
        if core.worst_percent_of_core >= 95 and queues and core.worst_mode in ("system", "irq"):
            names = ", ".join(printable(line.name) for line in queues[:3])
            more = f" and {len(queues) - 3} more" if len(queues) > 3 else ""
            said.append(
                f"Core {core.core} was full for a second or longer (mostly {core.worst_mode}), "
                f"and serves {names}{more}."
            )
    return said[:6]


def _hot(value: float) -> Style:
    return _BAD if value >= glyphs.HOT_PERCENT else Style()


def _time(ns: int | None) -> str:
    return "–" if ns is None else duration(ns)


def _known(value: float) -> float:
    return -1.0 if math.isnan(value) else value
