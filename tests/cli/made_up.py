"""Answers made up by hand: a node of any size with one burst, and names nobody would choose."""

from __future__ import annotations

import io
from datetime import UTC
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
from rich.console import Console, RenderableType

from exhume.cli.common import Look
from exhume.cli.figures import NS
from exhume.cli.times import Viewpoint, parse_time
from exhume.model.answers import (
    MAP_MODES,
    CoreMap,
    CoreTimes,
    Filter,
    FlameTree,
    Top,
    TopFrame,
    TopProcess,
)
from exhume.model.arrays import F32
from exhume.model.stack import Frame, FrameKind
from exhume.model.window import Window

BERLIN = ZoneInfo("Europe/Berlin")
NOW_NS = parse_time("2024-05-01T03:20:00Z", Viewpoint(2_000_000_000 * NS, UTC))
VIEW = Viewpoint(NOW_NS, UTC)

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "two\nlines\rback",
    "[bold red]markup[/] [link=file:///]x[/link]",
    "gpj.\u202egnp\u2066bidi",
    "zero\u200bwidth\ufeff",
    "c1\x9b31m",
    "lone\udcffsurrogate",
    "zalgo" + "\u0300" * 30,
    "semi;colon and space 12",
    "x" * 500,
    "",
)


def core_map(
    cores: int,
    seconds: int,
    columns: int,
    *,
    burst: tuple[int, int, int] | None = None,
    gap: tuple[int, int] | None = None,
    level: float = 0.3,
    end_ns: int = NOW_NS,
) -> CoreMap:
    """`burst`: core, first second, length, all of it system time. `gap`: first second, length."""
    random = np.random.default_rng(7)
    load = random.beta(2, 2 / level - 2, (cores, seconds)).astype(np.float32) * 70
    modes = np.zeros((len(MAP_MODES), cores, seconds), np.float32)
    modes[0], modes[1], modes[3] = load * 0.7, load * 0.25, load * 0.05
    if burst:
        core, first, length = burst
        modes[:, core, first : first + length] = np.array([[2], [98], [0], [0], [0], [0]])
    if gap:
        modes[:, :, gap[0] : gap[0] + gap[1]] = np.nan
    return _columns(modes, seconds, columns, end_ns)


def _columns(modes: F32, seconds: int, columns: int, end_ns: int) -> CoreMap:
    window = Window(end_ns - seconds * NS, end_ns)
    cores = modes.shape[1]
    busy = modes[:5].sum(axis=0)
    worst, mean = np.full((2, cores, columns), np.nan, np.float32)
    worst_mode = np.full((cores, columns), -1, np.int8)
    by_mode = np.full((len(MAP_MODES), cores, columns), np.nan, np.float32)
    node = np.full(columns, np.nan, np.float32)
    edges = np.arange(columns + 1) * seconds // columns
    for column, (first, last) in enumerate(pairwise(edges)):
        good = first + np.flatnonzero(~np.isnan(busy[0, first:last]))
        if len(good):
            at = good[busy[:, good].argmax(axis=1)]
            every = np.arange(cores)
            worst[:, column] = busy[every, at]
            worst_mode[:, column] = modes[:5, every, at].argmax(axis=0)
            mean[:, column] = busy[:, good].mean(axis=1)
            by_mode[:, :, column] = modes[:, :, good].max(axis=2)
            node[column] = busy[:, good].mean()
    return CoreMap(
        window, seconds / columns, tuple(range(cores)), worst, worst_mode, mean, by_mode, node
    )


STORY_WINDOW = Window(
    parse_time("2024-05-01T03:14:02Z", VIEW), parse_time("2024-05-01T03:14:07Z", VIEW)
)
_STORY = (
    # parent, name, kind, self samples
    (-1, "", FrameKind.UNKNOWN, 0),
    (0, "kubelet", FrameKind.PROCESS, 0),
    (0, "swapper", FrameKind.PROCESS, 0),
    (0, "python", FrameKind.PROCESS, 0),
    (1, "runtime.goexit", FrameKind.USER, 0),
    (2, "common_interrupt", FrameKind.KERNEL, 0),
    (3, "train_step", FrameKind.USER, 12),
    (4, "main.(*Manager).housekeeping", FrameKind.USER, 0),
    (5, "ena_io_poll", FrameKind.KERNEL, 6),
    (7, "syscall.read", FrameKind.USER, 0),
    (9, "vfs_read", FrameKind.KERNEL, 4),
    (9, "entry_SYSCALL_64", FrameKind.KERNEL, 3),
    (10, "memcg_stat_show", FrameKind.KERNEL, 10),
    (12, "mem_cgroup_nr_lru_pages", FrameKind.KERNEL, 320),
    (12, "cpumask_next", FrameKind.KERNEL, 95),
    (13, "_raw_spin_unlock_irqrestore", FrameKind.KERNEL, 30),
)


def frame(name: str, kind: FrameKind = FrameKind.KERNEL) -> Frame:
    return Frame(name, "[kernel]" if kind == FrameKind.KERNEL else "kubelet", kind)


def flame_tree(rename: dict[str, str] | None = None) -> FlameTree:
    names = rename or {}
    parent = np.array([row[0] for row in _STORY], np.int32)
    own = np.array([row[3] for row in _STORY], np.int64) * (NS // 97)
    total = own.copy()
    for index in range(len(parent) - 1, 0, -1):
        total[parent[index]] += total[index]
    frames = tuple(frame(names.get(name, name), kind) for _, name, kind, _ in _STORY)
    return FlameTree(STORY_WINDOW, parent, frames, total, own, sum(r[3] for r in _STORY), 0)


def top(*, comm: str = "kubelet", frame_name: str = "mem_cgroup_nr_lru_pages") -> Top:
    return Top(
        window=STORY_WINDOW,
        filter=Filter(cores=(39,)),
        seconds_recorded=5.0,
        samples=480,
        processes=(
            TopProcess(
                comm, 1204, None, "/system.slice/kubelet.service", (39, 12, 40), 462, 95.3, 96.2,
                2.1, 93.2, 0.8, 119.1,
            ),
            TopProcess("python", 88, 91, "", (39,), 12, 2.5, 2.5, 2.5, 0.0, 2.4, 1.04),
            TopProcess("ecs-agent", 9, None, "", (39,), 6, 1.2, 1.3, 0.6, 0.6, 0.0, None),
            TopProcess("swapper/39", 0, None, "", (39,), 6, 1.2, 1.3, 0.0, 1.2, None, None),
        ),
        frames=(
            TopFrame(frame("runtime.goexit", FrameKind.USER), 96.2, 0, 95.3, 0.8, 119.0, False),
            TopFrame(frame(frame_name), 72.9, 66.7, 72.1, 0.02, 3605.0, False),
            TopFrame(frame("_raw_spin_unlock_irqrestore"), 6.2, 6.2, 6.2, None, None, True),
        ),
        core_times=(CoreTimes(39, 1.8, 97.4, 0.0, 0.6, 0.0, 0.0, 0.2, 100.0),),
        notes=("12 samples were lost on core 39",),
    )  # fmt: skip


def look(width: int = 120, height: int = 40, *, colour: bool = False) -> Look:
    return Look(width, height, colour)


def drawn(renderable: RenderableType, width: int = 120, *, colour: bool = False) -> str:
    """What a terminal of that width would be sent."""
    screen = Console(
        file=io.StringIO(), width=width, height=40, highlight=False, markup=False, emoji=False,
        force_terminal=colour, color_system="truecolor" if colour else None,
    )  # fmt: skip
    screen.print(renderable)
    output = screen.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def assert_harmless(text: str) -> None:
    """Nothing but printable characters and newlines: no escapes, no bidi, no surrogates."""
    for line in text.split("\n"):
        assert line.isprintable() or not line, ascii(line)
