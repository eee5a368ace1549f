"""Memory cgroups: how many are zombies, their growth, who holds them, when walks become long."""

from __future__ import annotations

import textwrap

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import count, duration, size
from exhume.cli.render.amounts import number
from exhume.cli.render.axis import axis
from exhume.cli.render.columns import Column, table
from exhume.cli.render.spark import spark
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.rates import Intervals, columns
from exhume.derive.zombies import pinned_bytes
from exhume.model.memcgs import Outlook, ZombieParent, ZombiesAnswer

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_BAD = Style(color="red", bold=True)
_WARN = Style(color="yellow", bold=True)
_LABEL = 9
_FIGURE = 9
_NAMES_SHOWN = 10
_FAR_NS = 10 * 365 * 86_400 * 1_000_000_000
_PINS = (
    ("shmem_bytes", "tmpfs or shared memory"),
    ("file_bytes", "page cache"),
    ("anonymous_bytes", "anonymous memory"),
)


def render(answer: ZombiesAnswer, view: Viewpoint, look: Look) -> RenderableType:
    parts: list[RenderableType] = [_title(answer, view), Text()]
    if answer.tracked is not None or answer.zombies is not None:
        parts += [*_counts(answer, view, look), Text()]
    if answer.outlook is not None:
        parts += [*_outlook(answer, answer.outlook, view), Text()]
    if answer.parents:
        parts += [*_parents(answer.parents, look), Text()]
    if answer.names:
        parts += [*_names(answer, look), Text()]
    if answer.percpu_bytes is not None or answer.slab_bytes is not None:
        parts += [*_cost(answer), Text()]
    for text in answer.missing:
        parts.append(Text("missing: ", _WARN).append(printable(text), Style()))
    parts += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    while isinstance(parts[-1], Text) and not parts[-1].plain:
        parts.pop()
    return Group(*parts)


def _title(answer: ZombiesAnswer, view: Viewpoint) -> Text:
    zone = view.zone_name(answer.window.start_ns)
    title = Text(f"memory cgroups · {view.show_window(answer.window)} {zone}", _BOLD)
    if answer.outlook is not None:
        title.append(f" · Linux {printable(answer.outlook.kernel)}", _DIM)
    return title


def _counts(answer: ZombiesAnswer, view: Viewpoint, look: Look) -> list[RenderableType]:
    lead = _LABEL + 1 + _FIGURE + 2
    plot = max(10, look.width - lead)

    def line(label: str, value: int | None, words: str, style: Style = _BOLD) -> list[Text]:
        shown = "–" if value is None else f"{value:,}"
        text = Text(f"{label:>{_LABEL}} ", _DIM).append(f"{shown:>{_FIGURE}}", style)
        first, *more = textwrap.wrap(words, plot)
        return [text.append(f"  {first}", _DIM), *(Text(" " * lead + part, _DIM) for part in more)]

    lines = line("tracked", answer.tracked, "kept by the kernel")
    lines += line("live", answer.live, "with a directory")
    grows = answer.growth is not None and answer.growth.low_per_hour > 0
    words = _growth_words(answer)
    lines += line("zombies", answer.zombies, words, _BAD if grows else _BOLD)
    if len(answer.counts) > 1:
        wall, counts = answer.wall_ns, answer.counts.astype(float)
        least, most = counts.min(), counts.max()
        usual = int(sorted((wall[1:] - wall[:-1]).tolist())[(len(wall) - 1) // 2])
        # From the least to the most: a hundred more of 60,000 are a leak all the same.
        floor = max(0.0, least - max(1.0, (most - least) / 8))
        drawn = columns(Intervals(wall, wall + usual, counts - floor), answer.window, plot)
        span = Text(f"{f'{least:,.0f} – {most:,.0f}':>{lead - 2}}  ", _DIM)
        lines.append(span.append_text(spark(drawn, most - floor, colour=look.colour)))
        lines += [Text(" " * lead).append_text(p) for p in axis(answer.window, plot, view)]
    if answer.empty is not None:
        words = "live but empty: leaked directories, which are no zombies"
        lines += line("empty", answer.empty, words, _WARN if answer.empty > 100 else Style())
    for text in lines:
        text.no_wrap, text.overflow = True, "crop"
    return [*lines]


def _growth_words(answer: ZombiesAnswer) -> str:
    growth = answer.growth
    if growth is None:
        fell = len(answer.counts) > 0 and 2 * answer.counts[-1] < answer.counts.max()
        return "growth not known: too few valid counts" + (
            " since most were let go" if fell else ""
        )
    over = duration(growth.over_ns)
    counts = count(growth.readings, "count")
    if growth.low_per_hour == growth.high_per_hour == 0:
        return f"no growth over {over} ({counts})"
    middle, low, high = (_signed(v) for v in (growth.per_hour, growth.low_per_hour,
                                              growth.high_per_hour))  # fmt: skip
    spread = "" if low == high else f", mostly {low} to {high}"
    return f"{middle} an hour{spread}, over {over} ({counts})"


def _outlook(answer: ZombiesAnswer, outlook: Outlook, view: Viewpoint) -> list[RenderableType]:
    grows = answer.growth is not None and answer.growth.per_hour > 0
    rate = f" at {_signed(answer.growth.per_hour)} an hour" if grows and answer.growth else ""
    lines: list[RenderableType] = [Text(f"when walks become long{rate}", _DIM)]
    for walk in outlook.walks:
        when, style = "not known" if answer.growth is None else "never at this rate", Style()
        if walk.in_ns == 0:
            when, style = "already", _BAD
        elif walk.in_ns is not None:
            when, style = f"in {duration(walk.in_ns)}", _WARN
            at = answer.window.end_ns + walk.in_ns
            if walk.in_ns < _FAR_NS:
                when += f", {view.show(at)[:-3]}"
            else:
                when, style = "in more than 10 years", Style()
        one = "a typical walk" if outlook.measured_walks else "one walk"
        text = Text(f"  {one} takes {walk.seconds:g} s from {walk.zombies:>6,} zombies on: ")
        lines.append(text.append(when, style))
    per = f"{outlook.seconds_per_zombie * 1000:.2g} ms"
    said = f"Assumed: {per} a zombie and walk, as on bare metal (kernel commit dd8657b6c1cb). "
    if outlook.measured_walks:
        said = (
            f"Measured: {per} a zombie, in the median of {outlook.measured_walks} walks here, of "
            f"which the longest took {outlook.longest_seconds:.1f} s. "
        )
    said += f"On Linux {printable(outlook.kernel)} what walks them all is {outlook.walker}"
    if outlook.reschedules:
        said += ", which lets others run as it goes: it burns a core and starves nobody on it. "
        said += "memory.stat and memory.numa_stat no longer walk them (5.2, 5.8)."
    else:
        said += ", without letting others run: the network's thread on that core waits as long."
    lines.append(Padding(Text(said, _DIM), (0, 0, 0, 2)))
    return lines


def _parents(parents: tuple[ZombieParent, ...], look: Look) -> list[Text]:
    by_count = any(parent.zombies is not None for parent in parents)
    if by_count:
        heads = [Column("zombies"), Column("parent", right=False, least=16)]
        rows = [
            [Text(f"{parent.zombies or 0:,}", _BOLD), Text(printable(parent.path), _BOLD)]
            for parent in parents
        ]
        title = "who holds them (cgroup v2 does not tell what pins them)"
        return table(title, heads, rows, look.width)
    heads = [*map(Column, ("tmpfs", "page cache", "anonymous"))]
    heads += [Column("parent", right=False, least=16), Column("pinned by", right=False, least=8)]
    rows = []
    for parent in parents:
        sizes = [getattr(parent, name) or 0 for name, _ in _PINS]
        total = pinned_bytes(parent)
        pin = next(words for (name, words), held in zip(_PINS, sizes, strict=True)
                   if held == max(sizes))  # fmt: skip
        rows.append(
            [
                *(Text(size(held), _BOLD if held * 2 > total else _DIM) for held in sizes),
                Text(printable(parent.path), _BOLD),
                Text(pin),
            ]
        )
    return table("who holds them: memory of dead children, by parent (v1)", heads, rows, look.width)


def _names(answer: ZombiesAnswer, look: Look) -> list[Text]:
    heads = [*map(Column, ("left", "born", "removed", "released", "born an hour"))]
    heads.append(Column("name", right=False, least=16))
    hours = max(answer.recorded_seconds, 1.0) / 3600
    rows = [
        [
            Text(f"{name.left:,}", _BAD if name.left else _DIM),
            Text(f"{name.born:,}"),
            Text(f"{name.removed:,}"),
            Text(f"{name.released:,}"),
            Text(number(name.born / hours), _DIM),
            Text(printable(name.name), _BOLD if name.left else Style()),
        ]
        for name in answer.names[:_NAMES_SHOWN]
    ]
    title = "by name in this window, ids folded to *; left: removed and not let go"
    lines = table(title, heads, rows, look.width)
    if len(answer.names) > _NAMES_SHOWN:
        more = count(len(answer.names) - _NAMES_SHOWN, "more name")
        lines.append(Text(f"And {more}; --json lists them.", _DIM))
    return lines


def _cost(answer: ZombiesAnswer) -> list[Text]:
    parts = []
    for label, now, growth in (
        ("per-CPU data", answer.percpu_bytes, answer.percpu_growth),
        ("unreclaimable slab", answer.slab_bytes, answer.slab_growth),
    ):
        if now is not None:
            change = ""
            if growth is not None:
                sign = "−" if growth.per_hour < 0 else "+"
                change = f" ({sign}{size(abs(growth.per_hour))} an hour)"
            parts.append(f"{label} {size(now)}{change}")
    text = Text("memory  ", _DIM).append(", ".join(parts), Style())
    if answer.bytes_per_zombie is not None:
        text.append(f": {size(answer.bytes_per_zombie)} a zombie", _BOLD)
        if answer.zombies:
            text.append(f", {size(answer.bytes_per_zombie * answer.zombies)} in all", _BOLD)
    else:
        text.append("; how much of it a zombie takes does not show in this window", _DIM)
    return [text]


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(round(value, 1) if abs(value) < 100 else value)
