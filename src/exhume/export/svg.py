"""A flame graph as one SVG file: zoom, search and tooltips are inside, nothing is loaded.

Each frame is a <g> with a title, so that viewers without scripts show names too. The script is
`svg_script.js`; no name from the machine is ever part of it. The root is at the top, beside search
and title: one deep recursion makes the picture many screens high, and of one that stands on its
root a browser shows the empty sky first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.resources import files
from zlib import crc32

from msgspec import Struct

from exhume.derive.frame_classes import FrameClass, frame_classes
from exhume.derive.printable import printable
from exhume.export.names import frame_name
from exhume.model.answers import FlameTree
from exhume.model.stack import Frame

MIN_WIDTH, MAX_WIDTH = 300, 20_000
MIN_FRAME_PX = 0.1
_PAD, _ROW, _HEAD, _FOOT = 12.0, 18, 94, 14
_CHARACTER_PX = 6.9
"""Of the font at 11.5 px; a little more than it measures, so that no name runs out of its box."""
_SHADES = 5
# Hue, saturation, lightness of the middle shade. As in the terminal user code is cyan and the
# kernel yellow to orange; interrupt work stands out from both.
_COLOURS = {
    FrameClass.PROCESS: (215, 16, 74),
    FrameClass.USER: (192, 55, 72),
    FrameClass.KERNEL: (38, 88, 66),
    FrameClass.SOFTIRQ: (305, 48, 76),
    FrameClass.IRQ: (4, 76, 72),
    FrameClass.UNKNOWN: (0, 0, 82),
}
_WORDS = {
    FrameClass.PROCESS: "process",
    FrameClass.USER: "user",
    FrameClass.KERNEL: "kernel",
    FrameClass.SOFTIRQ: "softirq",
    FrameClass.IRQ: "interrupt",
    FrameClass.UNKNOWN: "unknown",
}


class Box(Struct, frozen=True):
    node: int
    x: float
    """Share of the whole, from the left."""
    share: float
    level: int


def chunks(
    tree: FlameTree,
    *,
    title: str,
    subtitle: str,
    width: int,
    marked: Collection[str] = (),
    is_of_time: bool = True,
) -> Iterator[str]:
    """`marked`: functions to stand out, by their bare names. `is_of_time`: samples that are not
    (faults, switches) are only counted."""
    inner = width - 2 * _PAD
    boxes, left_out = layout(tree, MIN_FRAME_PX / inner)
    height = _HEAD + _ROW * (1 + max((box.level for box in boxes), default=0)) + _FOOT
    classes = frame_classes(tree.parent.tolist(), tree.frames)
    drawn = sorted({classes[box.node] for box in boxes if box.node})
    yield _head(width, height, title, subtitle, drawn, _hint(tree, left_out))
    weight_ns = int(tree.total_ns[0]) / tree.samples if tree.samples else 1.0
    for box in boxes:
        hot = bool(box.node) and tree.frames[box.node].name in marked
        tip = _tip(tree, box, classes[box.node], weight_ns, is_of_time=is_of_time)
        yield _frame(tree, box, classes[box.node], inner, tip, hot=hot)
    # ]]> can't occur in a script of ours, but a test makes sure.
    yield f"</g>\n<script><![CDATA[\n{script()}\n]]></script>\n</svg>\n"


def layout(tree: FlameTree, min_share: float) -> tuple[list[Box], int]:
    """Boxes from the root on, callees by name, and how many nodes were too thin to draw."""
    total = tree.total_ns.tolist()
    if not total[0]:
        return [], 0
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parent.tolist()):
        if node and total[node] >= min_share * total[0]:
            children.setdefault(parent, []).append(node)
    boxes: list[Box] = []
    pending = [Box(0, 0.0, 1.0, 0)]
    while pending:
        box = pending.pop()
        boxes.append(box)
        x = box.x
        for child in sorted(children.get(box.node, ()), key=lambda node: tree.frames[node].name):
            share = total[child] / total[0]
            pending.append(Box(child, x, share, box.level + 1))
            x += share
    return boxes, len(total) - len(boxes)


def _head(
    width: int, height: int, title: str, subtitle: str, drawn: list[FrameClass], hint: str
) -> str:
    legend, x = [], _PAD
    for class_ in drawn:
        word = _WORDS[class_]
        legend.append(
            f'<rect class="{_css(class_, 2)}" x="{x:.0f}" y="52" width="11" height="11" rx="2"/>'
            f'<text class="dim" x="{x + 16:.0f}" y="61.5">{word}</text>'
        )
        x += 16 + len(word) * _CHARACTER_PX + 18
    colours = "".join(
        f".{_css(class_, shade)}{{fill:{_hsl(class_, shade)}}}"
        for class_ in FrameClass
        for shade in range(_SHADES)
    )
    right = width - _PAD
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{_escaped(title)}</title>\n"
        f"<style>{_STYLE}{colours}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}"/>\n'
        f'<text class="big" x="{_PAD:.0f}" y="25">{_escaped(title)}</text>\n'
        f'<text class="dim" x="{_PAD:.0f}" y="43">{_escaped(subtitle)}</text>\n'
        f'<g class="legend">{"".join(legend)}</g>\n'
        f'<text id="reset" class="link" x="{right - 250:.0f}" y="61.5" text-anchor="end" '
        'visibility="hidden">show all</text>\n'
        f'<foreignObject x="{right - 240:.0f}" y="44" width="240" height="26">'
        '<input xmlns="http://www.w3.org/1999/xhtml" id="search" type="search" '
        'placeholder="search names (regex)" aria-label="search" spellcheck="false"/>'
        "</foreignObject>\n"
        f'<text id="matched" class="dim" x="{right:.0f}" y="25" text-anchor="end"> </text>\n'
        f'<text id="details" class="dim" x="{_PAD:.0f}" y="{_HEAD - 9}">{_escaped(hint)}</text>\n'
        '<g id="frames">\n'
    )


def _frame(
    tree: FlameTree,
    box: Box,
    class_: FrameClass,
    inner: float,
    tip: str,
    *,
    hot: bool,
) -> str:
    total = int(tree.total_ns[box.node])
    name = _name(tree, box)
    x, width = _PAD + box.x * inner, box.share * inner
    y = _HEAD + _ROW * box.level
    shade = _css(class_, crc32(name.encode()) % _SHADES) if box.node else "root"
    label = fitted(name, width)
    text = f'<text x="{x + 3:.1f}" y="{y + 12.5}">{_escaped(label)}</text>' if label else ""
    # The exact place is there for the zoom; what is drawn is rounded.
    return (
        f'<g class="{"f hot" if hot else "f"}" data-x="{box.x:.9g}" data-w="{box.share:.9g}" '
        f'data-l="{box.level}">'
        f"<title>{_escaped(tip)}</title>"
        f'<rect class="{shade}" x="{x:.2f}" y="{y}" width="{seen(width):.2f}" height="{_ROW - 1}"/>'
        f"{text}</g>\n"
        if total
        else ""
    )


def _name(tree: FlameTree, box: Box) -> str:
    return frame_name(tree.frames[box.node]) if box.node else "all"


def _tip(
    tree: FlameTree, box: Box, class_: FrameClass, weight_ns: float, *, is_of_time: bool
) -> str:
    total, own = int(tree.total_ns[box.node]), int(tree.self_ns[box.node])
    frame = tree.frames[box.node]
    place = _module(frame) if box.node else ""
    kind = _WORDS[class_] if box.node else "everything"
    length = f", {total / 1e9:.3f} s" if is_of_time else ""
    shares = f"{100 * box.share:.2f} %{length}, {round(total / weight_ns):,} samples"
    itself = f"; itself {100 * own / int(tree.total_ns[0]):.2f} %" if own else ""
    return f"{_name(tree, box)}\n{kind}{place}\n{shares}{itself}"


def _module(frame: Frame) -> str:
    return f", {printable(frame.module)}" if frame.module else ""


def fitted(name: str, width: float) -> str:
    """As much of a name as its box has room for; nothing where that would be two letters."""
    room = int((width - 6) / _CHARACTER_PX)
    if room < 3:
        return ""
    return name if len(name) <= room else name[: room - 1] + "…"


def seen(width: float) -> float:
    """How wide a box is drawn: a line's breadth less than it is, to tell neighbours apart."""
    return width - 0.7 if width > 2 else width


def _hint(tree: FlameTree, left_out: int) -> str:
    if not int(tree.total_ns[0]):
        return "no samples: the cores were idle, or only counters were recorded"
    hint = "click a frame to look into it; Esc shows all"
    thin = f"; {left_out:,} frames thinner than {MIN_FRAME_PX} px are not drawn" if left_out else ""
    return hint + thin


def script() -> str:
    return files("exhume.export").joinpath("svg_script.js").read_text(encoding="utf-8")


def _hsl(class_: FrameClass, shade: int) -> str:
    hue, saturation, lightness = _COLOURS[class_]
    away = shade - _SHADES // 2
    return f"hsl({(hue + 4 * away) % 360},{saturation}%,{lightness + 3 * away}%)"


def _css(class_: FrameClass, shade: int) -> str:
    return f"{class_.name[0].lower()}{class_.value}{shade}"


def _escaped(text: str) -> str:
    """For text and attributes. `printable` left nothing that XML can't hold."""
    safe = "\n".join(map(printable, text.split("\n")))
    return (
        safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )


_STYLE = (
    "text{font:11.5px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "fill:#1b1f24}"
    ":root{background:#fff}.paper{fill:#fff}.root{fill:#d8dce2}"
    ".big{font:600 15px system-ui,sans-serif}.dim{fill:#5b6470}"
    ".link{fill:#0b62c4;cursor:pointer;text-decoration:underline}"
    ".f{cursor:pointer}.f text{pointer-events:none}"
    ".f:hover rect{stroke:#1b1f24;stroke-width:.8}"
    ".hot rect{stroke:#b00020;stroke-width:2.2}.hot text{font-weight:700}"
    ".above rect{opacity:.6}.gone{display:none}"
    ".searching .f rect{opacity:.3}.searching .hit rect{opacity:1;fill:#8e5bd6}"
    ".searching .hit text{fill:#fff}"
    "#search{box-sizing:border-box;width:100%;height:24px;font:12px system-ui,sans-serif;"
    "padding:2px 8px;border:1px solid #b7bec8;border-radius:5px;background:#fff;color:#1b1f24}"
    "#search.bad{border-color:#c62828}"
    "@media(prefers-color-scheme:dark){:root{background:#15181d}.paper{fill:#15181d}.big{fill:#e8ebef}"
    ".dim{fill:#9aa4b1}.link{fill:#6db1ff}#search{background:#22262d;color:#e8ebef;"
    "border-color:#474f5a}.f:hover rect{stroke:#fff}}"
)
