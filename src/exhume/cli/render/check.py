"""What may hurt a node later, the worst first."""

from __future__ import annotations

from rich.console import Group
from rich.style import Style
from rich.text import Text

from exhume.cli.figures import count
from exhume.cli.render.flow import PLAIN, flow
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.check import CheckAnswer

_DIM = Style(dim=True)
_COLOURS = {"clean": "green", "risks": "yellow", "unknown": "magenta"}


def render(answer: CheckAnswer, view: Viewpoint, width: int) -> Group:
    said = {
        "clean": "no risk was found in what was looked at",
        "risks": f"{count(len(answer.risks), 'thing')} that may hurt this node",
        "unknown": "no risk seen, but not all could be looked at",
    }[answer.status]
    colour = Style(color=_COLOURS[answer.status], bold=True)
    head = Text(f"{answer.status.upper()}  ", colour)
    lines = flow([(said, Style(bold=True))], width, head=head, indent=head.cell_len)
    place = [
        answer.node,
        f"Linux {answer.kernel}" if answer.kernel else "",
        view.show(answer.wall_ns),
    ]
    lines += flow([(printable(" · ".join(p for p in place if p)), _DIM)], width, indent=2)
    if answer.harmed:
        lines += flow([(printable(f"Harmed already: {answer.harmed}"), PLAIN)], width, indent=2)
    if answer.risks:
        lines.append(Text())
    for one in answer.risks:
        mark = Text("  !", Style(color="yellow", bold=True))
        claim = [(printable(one.claim), PLAIN), (f"({one.kind})", _DIM)]
        lines += flow(claim, width, head=mark, indent=4)
        command = [(printable(one.check), Style(color="cyan"))]
        dollar = Text("    $", _DIM)
        own = flow(command, width - 2, head=dollar, indent=6, is_command=True)
        for line in own[:-1]:
            line.append(" \\", _DIM)
        lines += own
    lines.append(Text())
    looked = ", ".join(map(printable, answer.looked)) or "nothing"
    lines += flow([(looked, _DIM)], width, head=Text("Looked at: ", _DIM), indent=11)
    for gap in answer.missing:
        lines += flow([(printable(gap), PLAIN)], width, head=Text("Missing: "), indent=9)
    return Group(*lines)
