"""A fingerprint in short: how much of each area there is, what is missing, what it took."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.figures import count
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.fingerprint import AREA, AREAS, Fingerprint

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_WARN = Style(color="yellow")


def render(found: Fingerprint, view: Viewpoint, output: str | None) -> RenderableType:
    total = sum(map(len, found.fields.values()))
    title = Text(f"{printable(found.node)} · {view.show(found.wall_ns)}", _BOLD)
    title.append(f" · {count(total, 'field')} · hash {found.hash[:16]}", _DIM)
    parts: list[RenderableType] = [title]
    for area in AREAS:
        fields = found.fields.get(area.name)
        if fields:
            parts.append(
                Text(f"  {len(fields):5,}  ", _BOLD).append(area.title, Style()).append(
                    f"  {_classes(found, area.name)}", _DIM
                )
            )  # fmt: skip
    for what, why in found.missing.items():
        name = AREA[what].title if what in AREA else what
        parts.append(Text(f"⚠ not read: {printable(name)}: {printable(why)}", _WARN))
    place = "" if output is None else f"written to {printable(output)}; "
    parts.append(Text(f"{place}it took {found.cpu_seconds:.2f} s of CPU", _DIM))
    if output is None:
        parts.append(Text("-o FILE keeps it; --json shows all of it", _DIM))
    return Group(*parts)


def _classes(found: Fingerprint, area: str) -> str:
    return ", ".join(sorted({field.kind for field in found.fields[area].values()}))
