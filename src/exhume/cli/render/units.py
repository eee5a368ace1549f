"""Units, containers and programs by how badly they loop; the healthy ones in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, count, duration, percent, size
from exhume.cli.render.amounts import number
from exhume.cli.render.columns import Column, table
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.loops import LEAST_STARTS, SHORT_SECONDS
from exhume.model.lifecycles import Lifecycle, Mark, UnitsAnswer

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_SHOWN = 12
_SENTENCES = 4
_TITLES: dict[Mark, tuple[str, Style]] = {
    "crash loop": ("crash loops", Style(color="red", bold=True)),
    "loop": ("loops: started again and again by one parent; how they end is not recorded",
             Style(color="yellow", bold=True)),
    "many short jobs": ("many short jobs: scripts, builds, probes", _BOLD),
    "scheduled": ("scheduled: often started, and not because it dies", _BOLD),
    "healthy": ("healthy", _BOLD),
}  # fmt: skip


def render(
    answer: UnitsAnswer, view: Viewpoint, look: Look, *, everything: bool = False
) -> RenderableType:
    zone = view.zone_name(answer.window.start_ns)
    recorded = duration(round(answer.recorded_seconds) * NS)
    title = Text(f"who keeps dying · {view.show_window(answer.window)} {zone}", _BOLD)
    parts: list[RenderableType] = [title.append(f" · {recorded} recorded", _DIM), Text()]
    for mark in _TITLES:
        rows = [one for one in answer.lifecycles if one.mark == mark]
        if rows and (everything or mark != "healthy"):
            parts += [*_section(mark, rows, view, look, everything=everything), Text()]
    bad = [one for one in answer.lifecycles if one.mark in ("crash loop", "loop")]
    parts += [Text(sentence) for sentence in map(_sentence, bad[:_SENTENCES])]
    if not answer.is_told:
        parts.append(Text("The files tell of nobody who starts or ends."))
    elif not bad:
        parts.append(Text("Nothing loops.", Style(color="green", bold=True)))
    if words := _cron(answer.lifecycles):
        parts.append(Text(words))
    if not everything and (words := _healthy(answer.lifecycles)):
        parts.append(Text(words, _DIM))
    parts += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    return Group(*parts)


def _section(
    mark: Mark, rows: Sequence[Lifecycle], view: Viewpoint, look: Look, *, everything: bool
) -> list[Text]:
    title, style = _TITLES[mark]
    shown = rows if everything else rows[:_SHOWN]
    columns = [
        *map(Column, ("starts", "an hour", "lives")),
        Column("succeeds", optional=True),
        Column("zombies", optional=True),
        Column("restarts", optional=True),
        Column("last start", optional=True),
        Column("memory", optional=True),
        Column("CPU", optional=True),
        Column("what", right=False),
        Column("name", right=False, least=14),
        Column("by", right=False, least=8, optional=True),
    ]
    cells = [[Text(text, cell) for text, cell in _row(one, view)] for one in shown]
    lines = table(title, columns, cells, look.width)
    lines[0].stylize(style)
    if len(rows) > len(shown):
        rest = rows[len(shown) :]
        starts = sum(one.starts for one in rest)
        lines.append(Text(f"And {len(rest)} more with {count(starts, 'start')}; --all lists them.",
                          _DIM))  # fmt: skip
    return lines


def _row(one: Lifecycle, view: Viewpoint) -> list[tuple[str, Style]]:
    zombies = ""
    if one.zombies_per_start is not None:
        zombies = ("≤ " if one.zombies_at_most else "") + number(round(one.zombies_per_start, 2))
    last = one.last_start_wall_ns
    bad = Style(color="red", bold=True)
    success = one.success_percent_of_known_ends
    fails = success is not None and success < 50
    unknown = "" if one.kind == "process" else "–"  # of those nobody ever knows
    least = "≥ " if one.starts_at_least else ""
    is_counted = one.starts > 0 or one.mark != "crash loop"
    return [
        (f"{least}{one.starts:,}" if is_counted else "–", _BOLD),
        (least + number(round(one.starts_per_hour, 1)) if is_counted else "–", Style()),
        (("≤ " if one.lifetime_at_most else "") + seconds(one.median_lifetime_seconds), Style()),
        (unknown if success is None else percent(success), bad if fails else Style()),
        (zombies, bad if one.zombies_per_start else Style()),
        ("" if one.restarts is None else f"{one.restarts:,}", Style()),
        ("" if last is None else view.show(last), _DIM),
        ("" if one.memory_bytes_per_start is None else size(one.memory_bytes_per_start), Style()),
        (seconds(one.cpu_seconds_per_start, unknown=""), _DIM),
        ("cron job" if one.is_of_cron else one.kind, _DIM),
        (printable(one.name), _BOLD),
        (printable(_by(one)), _DIM),
    ]


def _by(one: Lifecycle) -> str:
    if one.kind == "container" and one.ids is not None and one.ids > 1:
        return f"{one.detail} · {one.ids} ids" if one.detail else f"{one.ids} ids"
    return one.detail


def _cron(lifecycles: Sequence[Lifecycle]) -> str:
    """What cron starts at a steady pace, the most frequent first."""
    paces = [
        f"{printable(one.name)} every {seconds(one.pace_seconds)}"
        for one in lifecycles
        if one.is_of_cron and one.pace_seconds is not None
    ]
    return f"Cron starts {', '.join(paces[:_SENTENCES])}." if paces else ""


def _sentence(one: Lifecycle) -> str:
    name = f"{one.kind} {printable(one.name)}"
    parent = f" under {printable(one.detail)}" if one.kind == "process" and one.detail else ""
    reasons = []
    least = "at least " if one.starts_at_least else ""
    # Where looks see one now and then, when that was says nothing of its pace.
    seldom = one.starts_at_least and (one.pace_seconds or 0) > 2 * (one.looked_every_seconds or 0)
    if one.pace_seconds is not None and not seldom:
        reasons.append(f"{least}every {seconds(one.pace_seconds)}")
    if one.most_starts_in_10_minutes >= LEAST_STARTS:
        reasons.append(f"{least}{one.most_starts_in_10_minutes:,} starts within 10 minutes")
    if one.median_lifetime_seconds is not None and one.median_lifetime_seconds < SHORT_SECONDS:
        most = "at most " if one.lifetime_at_most else ""
        reasons.append(f"lives {most}{seconds(one.median_lifetime_seconds)} in the median")
    if one.kind == "container" and one.ids and not one.restarts and one.ids > 1:
        # Each run of a pod's container has an id of its own, and the kubelet counts them.
        uncounted = "" if "/" in one.name else ", so nobody counts restarts"
        reasons.append(f"{one.ids} ids under one name{uncounted}")
    if one.restarts_so_far is not None and one.starts < LEAST_STARTS:
        reasons.append(f"restarted {one.restarts_so_far:,} times so far")
    if not reasons:
        said = f" ({printable(one.detail)})" if one.detail and not one.starts else ""
        reasons.append(f"whoever starts it waits before it tries again, or gave up on it{said}")
    text = f"{name[0].upper()}{name[1:]}{parent}: {', '.join(reasons)}."
    if one.starts_at_least and one.looked_every_seconds is not None:
        text += (
            f" Known by looks {seconds(one.looked_every_seconds)} apart, which miss what starts and"
            " ends in between."
        )
    if one.zombies_per_start:
        per_hour = number(round(one.zombies_per_start * one.starts_per_hour))
        bound = "at most " if one.zombies_at_most else ""
        each = number(round(one.zombies_per_start, 2))
        cgroups = "zombie cgroup" if each == "1" else "zombie cgroups"
        text += f" Each start leaves {bound}{each} {cgroups}: {per_hour} an hour."
    return text


def _healthy(lifecycles: Sequence[Lifecycle]) -> str:
    well = [one for one in lifecycles if one.mark == "healthy"]
    if not well:
        return ""
    kinds = Counter(one.kind for one in well)
    nouns = (
        (kinds["unit"], "unit"), (kinds["container"], "container"), (kinds["process"], "program")
    )  # fmt: skip
    parts = [count(number, noun) for number, noun in nouns if number]
    starts = sum(one.starts for one in well)
    return f"Healthy: {', '.join(parts)} with {count(starts, 'start')}; --all lists them."


def seconds(value: float | None, *, unknown: str = "–") -> str:
    return unknown if value is None else duration(round(value * NS))
