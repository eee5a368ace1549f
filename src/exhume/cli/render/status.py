"""One recorder on one screen: does it record, what is missing, what does it cost, how far back."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from exhume.cli.figures import NS, count, duration, percent, size
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.status import Cost, Disk, SourceState, Status

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_GOOD = Style(color="green", bold=True)
_BAD = Style(color="red", bold=True)
_WARN = Style(color="yellow", bold=True)
_SHOWN_FILES = 20
_FULL_BYTES = 64 << 10
_SILENT_NS = 120 * NS
"""It says how it is every half minute."""
_STATES = {"ok": ("✓", _GOOD), "absent": ("–", _DIM), "broken": ("✗", _BAD), "slow": ("!", _WARN)}


def render(status: Status, view: Viewpoint, *, is_of_imports: bool = False) -> RenderableType:
    """`is_of_imports`: nobody would record there."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style=_DIM, no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _rows(status, view):
        table.add_row(Text(label), value)
    headline = _headline(status, view, is_of_imports)
    parts: list[RenderableType] = [headline, *_silent(status, view), Text(), table]
    parts += [_source(source) for source in status.sources if source.state in ("broken", "slow")]
    for missing in status.missing:
        text = Text("\nmissing: ", _WARN).append(printable(missing.what), Style())
        text.append(f"\n  why: {printable(missing.why)}", _DIM)
        parts.append(text.append(f"\n  to have it: {printable(missing.remedy)}", Style()))
    for damage in status.disk.damaged:
        where = view.show_window(damage.window) if damage.window else "at an unknown time"
        parts.append(
            Text("\ndamaged: ", _BAD).append(f"{where}: {printable(damage.problem)}", Style())
        )
    return Group(*parts)


def _headline(status: Status, view: Viewpoint, is_of_imports: bool) -> Text:
    where = printable(status.data_dir)
    if status.state == "never" and status.disk.oldest_wall_ns is not None:
        return Text("a copy", _GOOD).append(f" of a recording in {where}; nobody records here")
    if status.state == "never":
        line = Text("never recorded", _BAD).append(f" in {where}", Style())
        if is_of_imports:
            return line
        return line.append("\n  'exhume up' records this node", _DIM)
    if status.imported is not None and status.state == "imported":
        when = f" at {view.show(status.imported.wall_ns)}"
        files = count(len(status.imported.files), "file")
        return Text("imported", _GOOD).append(f"{when} from {files}; nobody records here", Style())
    since = "" if status.since_wall_ns is None else f" since {view.show(status.since_wall_ns)}"
    if status.state == "stopped":
        line = Text("not recording", _BAD).append(since, Style())
        return line.append("\n  'exhume up' records this node", _DIM)
    ago = ""
    if status.since_wall_ns is not None and view.now_ns > status.since_wall_ns:
        ago = f" ({duration((view.now_ns - status.since_wall_ns) // NS * NS)})"
    pid = "" if status.pid is None else f", process {status.pid}"
    return Text("recording", _GOOD).append(f"{since}{ago}{pid}", Style())


def _silent(status: Status, view: Viewpoint) -> list[Text]:
    """A recorder lives, and yet nothing of it may reach the disk."""
    if status.state != "running":
        return []
    free, said = status.disk.free_bytes, status.updated_wall_ns
    if free is not None and free < _FULL_BYTES:
        return [Text("  the disk is full: what is recorded now is lost; make room", _BAD)]
    if said is not None and view.now_ns - said > _SILENT_NS:
        ago = duration((view.now_ns - said) // NS * NS)
        return [Text(f"  it has said nothing for {ago}: it hangs, or its disk does", _BAD)]
    return []


def _rows(status: Status, view: Viewpoint) -> list[tuple[str, Text]]:
    rows: list[tuple[str, Text]] = []
    if status.node:
        node = Text(printable(status.node), _BOLD)
        boot = f"  boot {printable(status.boot_id)[:8]}" if status.boot_id else ""
        rows.append(("node", node.append(boot, _DIM)))
    if status.imported is not None:
        rows.append(("files", Text(_files(status.imported.files))))
    if status.state == "running":
        rows.append(("samples", _samples(status)))
        rows.append(("cores", _cores(status)))
    if status.sources:
        rows.append(("sources", _sources(status.sources)))
    if status.cost is not None and status.state == "running":
        rows.append(("cost", _cost(status.cost)))
    rows += _disk(status.disk, view)
    rows.append(("data", Text(printable(status.data_dir))))
    if status.version:
        rows.append(("version", Text(printable(status.version))))
    return rows


def _files(names: tuple[str, ...]) -> str:
    shown = ", ".join(printable(name) for name in names[:_SHOWN_FILES])
    more = len(names) - _SHOWN_FILES
    return f"{shown} and {more} more" if more > 0 else shown


def _samples(status: Status) -> Text:
    if status.event == "none":
        return Text("none: only counters are recorded", _WARN)
    rate = "–" if status.rate_hz is None else f"{status.rate_hz:g} a second and core"
    text = Text(f"{rate}, by {printable(status.event)}")
    wanted = status.wanted_rate_hz
    if wanted is not None and status.rate_hz is not None and status.rate_hz < wanted:
        text.append(f"  lowered from {wanted:g} to stay within its budget", _WARN)
    if status.cost is not None and status.cost.lost_samples:
        text.append(f"  {count(status.cost.lost_samples, 'sample')} lost", _WARN)
    return text


def _cores(status: Status) -> Text:
    text = Text(f"{status.cores_online} online")
    if status.event != "none":
        style = _WARN if status.cores_sampled < status.cores_online else Style()
        text.append(f", {status.cores_sampled} sampled", style)
    return text


def _sources(sources: tuple[SourceState, ...]) -> Text:
    text = Text()
    for source in sources:
        sign, style = _STATES[source.state]
        text.append("  " if text.plain else "")
        text.append(f"{sign} ", style).append(printable(source.name), Style())
    return text


def _source(source: SourceState) -> Text:
    _, style = _STATES[source.state]
    text = Text(f"\n{source.state}: ", style)
    return text.append(f"{printable(source.name)}: {printable(source.detail)}", Style())


def _cost(cost: Cost) -> Text:
    parts = [
        f"{percent(cost.cpu_percent_of_one_core)} of one core",
        f"{size(cost.rss_bytes)} memory",
    ]
    if cost.bytes_per_day is not None:
        parts.append(f"{size(cost.bytes_per_day)} a day")
    if cost.worst_lateness_ns is not None:
        parts.append(f"at most {duration(cost.worst_lateness_ns)} late")
    return Text(" · ".join(parts))


def _disk(disk: Disk, view: Viewpoint) -> list[tuple[str, Text]]:
    free = "" if disk.free_bytes is None else f", {size(disk.free_bytes)} free"
    limits = [
        f"kept {duration(disk.keep_ns)}" if disk.keep_ns is not None else "",
        f"at most {size(disk.max_bytes)}" if disk.max_bytes is not None else "",
    ]
    rows = [("disk", Text(f"{size(disk.used_bytes)} used{free}"))]
    rows.append(("retention", Text(", ".join(part for part in limits if part) or "no limit")))
    if disk.oldest_wall_ns is None:
        rows.append(("recorded", Text("nothing yet")))
    else:
        text = f"from {view.show(disk.oldest_wall_ns)} on: {duration(disk.recorded_ns)}"
        closed = f" in {count(disk.segments, 'segment')}" if disk.segments else ", no segment yet"
        rows.append(("recorded", Text(text + closed)))
    return rows + [
        (
            "pinned",
            Text(": ".join(filter(None, (view.show_window(pin.window), printable(pin.reason))))),
        )
        for pin in disk.pins
    ]
