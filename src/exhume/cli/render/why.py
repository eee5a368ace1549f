"""A case as an incident report: verdict, chain, evidence, who was ruled out, what to do."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.model.case import Case, Link

_BOLD, _DIM = Style(bold=True), Style(dim=True)
_COLOURS = {"found": "red", "suspected": "yellow", "unknown": "magenta", "healthy": "green"}
_MARKS = {"passed": "✓", "failed": "✗", "untested": "·"}


def render(case: Case, view: Viewpoint) -> RenderableType:
    parts: list[RenderableType] = [_verdict(case, view), Text()]
    if case.chain:
        parts += [Text("the chain", _BOLD), *(_link(link) for link in case.chain), Text()]
    if case.evidence:
        parts.append(Text("the evidence", _BOLD))
        for one in case.evidence:
            parts.append(Padding(Text(f"{one.id}  {printable(one.claim)}"), (0, 0, 0, 2)))
            parts.append(Padding(Text(f"$ {printable(one.check)}", _DIM), (0, 0, 0, 6)))
        parts.append(Text())
    if case.rejected:
        parts.append(Text("ruled out", _BOLD))
        for rejected in case.rejected:
            name = printable(rejected.culprit.name)
            text = f"{name} ({rejected.kind}): {printable(rejected.reason)}"
            parts.append(Padding(Text(text), (0, 0, 0, 2)))
        parts.append(Text())
    actions = case.actions
    for title, lines in (
        ("what to do now", actions.now),
        ("for good", actions.for_good),
        ("to undo it", actions.undo),
        ("to see that it worked", actions.verify),
    ):
        if lines:
            parts.append(Text(title, _BOLD))
            parts += [Padding(Text(f"• {printable(line)}"), (0, 0, 0, 2)) for line in lines]
    if case.since_fix is not None:
        fix = case.since_fix
        parts += [Text(), Text(f"since the fix: {fix.status.replace('-', ' ')}", _BOLD)]
        counted = (
            f"{fix.before} in {fix.before_seconds / 60:.0f} min before, {fix.after} in "
            f"{fix.after_seconds / 60:.0f} min after: {fix.text}"
        )
        parts.append(Padding(Text(counted), (0, 0, 0, 2)))
    if case.risks:
        parts += [Text(), Text("what harms nobody yet", _BOLD)]
        parts += [Padding(Text(f"• {printable(r.claim)}"), (0, 0, 0, 2)) for r in case.risks]
    parts += [Text(f"Note: {printable(gap)}", _DIM) for gap in case.gaps]
    return Group(*parts)


def _verdict(case: Case, view: Viewpoint) -> Text:
    status = case.verdict.status
    text = Text(status, Style(color=_COLOURS[status], bold=True))
    if case.verdict.confidence:
        text.append(f" ({case.verdict.confidence} confidence)", _DIM)
    text.append(f"  {printable(case.verdict.summary)}", _BOLD)
    if case.symptom is not None:
        text.append(f"\n{view.show(case.symptom.wall_ns)}", _DIM)
    return text


def _link(link: Link) -> RenderableType:
    arrow = "" if link.role == "symptom" else "◄ "
    tests = link.tests
    marks = " ".join(
        f"{name} {_MARKS[outcome]}"
        for name, outcome in zip(
            ("order", "place", "dose", "counterfactual"), tests.outcomes(), strict=True
        )
    )
    text = Text(f"{arrow}{link.role.replace('_', ' ')}: {printable(link.claim)}")
    text.append(f"  [{', '.join(link.evidence)}]  {marks}", _DIM)
    return Padding(text, (0, 0, 0, 2))
