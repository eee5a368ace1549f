"""The call tree as indented lines with bars."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, count, duration, percent
from exhume.cli.render.empty import no_samples
from exhume.cli.render.top import FRAME_STYLES
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.answers import FlameTree
from exhume.model.stack import Frame, FrameKind

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_BAR_WIDTH = 10
_LEFT_WIDTH = 7 + 1 + _BAR_WIDTH + 1
_PARTS = " ▏▎▍▌▋▊▉█"
# Calls that take this much of the first one's time share its line.
_SAME_SHARE = 0.95
_ARROW = " → "
_KERNEL_MARK = "ᵏ"


class Line(Struct, frozen=True):
    """A chain of calls that hardly branches, with how deep it hangs."""

    guides: str
    """What the lines above draw down the left side."""
    branch: str
    chain: tuple[int, ...]
    """Nodes of the tree, callers first."""
    has_children: bool


def render(
    tree: FlameTree,
    view: Viewpoint,
    look: Look,
    *,
    seconds_sampled: float,
    min_percent: float,
    is_filtered: bool = False,
    counted: Sequence[str] = (),
) -> RenderableType:
    """`counted`: the events of samples that measure no time."""
    lines: list[RenderableType] = [_title(tree, view, seconds_sampled)]
    total = int(tree.total_ns[0])
    if not total:
        none = no_samples(is_filtered=is_filtered, seconds_sampled=seconds_sampled)
        return Group(*lines, Text(none))
    share_of_core = percent(100 * total / NS / seconds_sampled)
    used = f"100 % is {duration(total)} of core time: {share_of_core} of one core."
    if counted:
        shown = printable(", ".join(counted))
        used = f"100 % is {count(tree.samples, 'sample')} of {shown}: no measure of time on a core."
    lines += [Text(used, _DIM), Text()]
    for line in walk(tree, min_percent / 100):
        lines += _draw(tree, line, look)
    left_out = _left_out(tree, min_percent / 100)
    if left_out:
        share = percent(100 * left_out / total)
        what = f"Not drawn: branches below {min_percent:g} %, {share} of the time in sum"
        lines += [Text(), Text(f"{what} (it counts in their callers).", _DIM)]
    return Group(*lines)


def walk(tree: FlameTree, min_share: float) -> Iterator[Line]:
    """Lines from the top, the heaviest branch first. Iterative: stacks may be very deep."""
    total = tree.total_ns.tolist()
    least = max(1.0, min_share * total[0])
    children: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(tree.parent.tolist()):
        if node and total[node] >= least:
            children[parent].append(node)
    pending: list[tuple[int, str, str]] = []

    def push(node: int, guides: str) -> None:
        ordered = sorted(children[node], key=lambda child: -total[child])
        for child in reversed(ordered):
            pending.append((child, guides, "└ " if child == ordered[-1] else "├ "))

    push(0, "")
    pending = [(node, "", "") for node, _, _ in pending]
    while pending:
        node, guides, branch = pending.pop()
        chain = [node]
        while len(children[chain[-1]]) == 1:
            only = children[chain[-1]][0]
            if total[only] < _SAME_SHARE * total[node]:
                break
            chain.append(only)
        below = guides + {"": "", "└ ": "  ", "├ ": "│ "}[branch]
        push(chain[-1], below)
        yield Line(guides, branch, tuple(chain), bool(children[chain[-1]]))


def _draw(tree: FlameTree, line: Line, look: Look) -> list[Text]:
    total = int(tree.total_ns[0])
    share = int(tree.total_ns[line.chain[0]]) / total
    own = int(tree.self_ns[line.chain[-1]]) / total
    left = Text(f"{percent(100 * share):>7} ", _BOLD)
    left.append(bar(share, _BAR_WIDTH), Style(color="red"))
    left.append(" ")
    # Deep trees: keep at least half of the line for names, and say how deep it is.
    room = max(4, (look.width - _LEFT_WIDTH) // 2)
    guides = line.guides
    if cell_len(guides) > room:
        guides = f"{len(guides) // 2}⋯".rjust(room)
    first = left.append(guides + line.branch, _DIM)
    hang = " " * _LEFT_WIDTH + guides.replace("⋯", " ")
    hang += {"": "", "├ ": "│ ", "└ ": "  "}[line.branch] + (
        "│   " if line.has_children else "    "
    )
    pieces = [_piece(tree.frames[node], last=node == line.chain[-1]) for node in line.chain]
    if line.has_children and own >= 0.001:
        pieces.append(Text(f"  self {percent(100 * own)}", _DIM))
    return _filled(first, pieces, Text(hang, _DIM), look.width)


def bar(share: float, width: int) -> str:
    eighths = max(1, round(min(share, 1.0) * width * 8))
    full, part = divmod(eighths, 8)
    return ("█" * full + (_PARTS[part] if part else "")).ljust(width)


def _piece(frame: Frame, *, last: bool) -> Text:
    name = printable(frame.name) or "[unknown]"
    mark = _KERNEL_MARK if frame.kind == FrameKind.KERNEL else ""
    return Text(name + mark, FRAME_STYLES[frame.kind]).append("" if last else _ARROW, _DIM)


def _filled(line: Text, pieces: list[Text], hang: Text, width: int) -> list[Text]:
    """Pieces one after the other, on as many lines as they need; no name is hidden."""
    lines = [line]
    fresh = True
    for piece in pieces:
        if not fresh and lines[-1].cell_len + piece.cell_len > width:
            lines.append(hang.copy())
            fresh = True
        while lines[-1].cell_len + len(piece.plain.rstrip()) > width:
            room = max(8, width - lines[-1].cell_len)
            head = len(set_cell_size(piece.plain, room).rstrip())
            lines[-1].append_text(piece[:head])
            piece = piece[head:]
            lines.append(hang.copy())
        lines[-1].append_text(piece)
        fresh = False
    for drawn in lines:
        drawn.rstrip()
        drawn.no_wrap, drawn.overflow = True, "crop"
    return lines


def _left_out(tree: FlameTree, min_share: float) -> int:
    """Core time of branches not drawn: pruned by the query or below the threshold here."""
    total, parents = tree.total_ns.tolist(), tree.parent.tolist()
    least = max(1.0, min_share * total[0])
    thin = sum(
        total[node]
        for node in range(1, len(parents))
        if total[node] < least and (parents[node] == 0 or total[parents[node]] >= least)
    )
    return int(thin + tree.pruned_ns)


def _title(tree: FlameTree, view: Viewpoint, seconds_sampled: float) -> Text:
    zone = view.zone_name(tree.window.start_ns)
    title = Text(f"{view.show_window(tree.window)} {zone}", _BOLD)
    length = duration(round(seconds_sampled * NS))
    return title.append(f" · {count(tree.samples, 'sample')} in {length}", _DIM)
