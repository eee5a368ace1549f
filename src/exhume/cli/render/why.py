"""A case as an incident report: verdict, chain, evidence, who was ruled out, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group
from rich.style import Style
from rich.text import Text

from exhume.cli.figures import duration
from exhume.cli.render.flow import PLAIN, flow
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.case_words import (
    OUTCOME_MARKS,
    TEST_WORDS,
    also_harmed,
    harm_text,
    parties,
    telling,
)
from exhume.model.case import Case, Evidence, Link, Risk, Symptom

_BOLD, _DIM = Style(bold=True), Style(dim=True)
_COLOURS = {"found": "red", "suspected": "yellow", "unknown": "magenta", "healthy": "green"}
_MARK_STYLES = {
    "passed": Style(color="green"),
    "failed": Style(color="red", bold=True),
    "untested": _DIM,
}
_ROLES = {"symptom": "symptom", "mechanism": "◄ mechanism", "root_cause": "◄ root cause"}
_ROLE_WIDTH = max(map(len, _ROLES.values())) + 2
_MARKS_WIDTH = 2 * len(TEST_WORDS) - 1
_NARROW = 60
"""Below, the marks stand below a link instead of beside it."""


def render(case: Case, view: Viewpoint, width: int = 80) -> Group:
    blocks = [
        _verdict(case, view, width),
        _chain(case, width),
        _evidence(case.evidence, width),
        _rejected(case, width),
        _suspects(case, width),
        _others(case, view, width),
        *_actions(case, width),
        _since_fix(case, view, width),
        _risks("seen at that time, not tied to it", case.meanwhile, width),
        _risks("what harms nobody yet", case.risks, width),
        _gaps(case.gaps, width),
    ]
    lines: list[Text] = []
    for block in blocks:
        if block:
            lines += [Text(), *block] if lines else block
    return Group(*lines)


def _verdict(case: Case, view: Viewpoint, width: int) -> list[Text]:
    verdict = case.verdict
    colour = Style(color=_COLOURS[verdict.status], bold=True)
    label = Text(f"{verdict.status.upper()}  ", colour)
    lines = flow([(printable(verdict.summary), _BOLD)], width, head=label, indent=label.cell_len)
    if case.symptom is None:
        return lines + _looked_at(case, view, width)
    grade = []
    if verdict.root_cause is not None:
        grade.append(printable(verdict.root_cause.kind))
    if verdict.confidence is not None:
        grade.append(f"{verdict.confidence} confidence")
    if grade:
        lines += flow([(" · ".join(grade), colour)], width, indent=label.cell_len)
    lines.append(Text())
    for name, value in _facts(case, case.symptom, view):
        lines += flow([(printable(value), PLAIN)], width, head=Text(f"  {name}", _DIM), indent=11)
    return lines


def _facts(case: Case, symptom: Symptom, view: Viewpoint) -> Iterable[tuple[str, str]]:
    zone = view.zone_name(symptom.wall_ns)
    length = symptom.window.end_ns - symptom.window.start_ns
    when = f"{view.show_window(symptom.window)} {zone}, {duration(length)}"
    if symptom.count > 1:
        when += f"; {symptom.count} times in this window"
    yield "when", when
    core = symptom.victim.core
    place = [f"CPU {core}"] if core is not None else []
    place += [part for part in (case.node, f"Linux {case.kernel}" if case.kernel else "") if part]
    yield "where", " · ".join(place) or "not known"
    yield from parties(case)


def _looked_at(case: Case, view: Viewpoint, width: int) -> list[Text]:
    window = case.window
    zone = view.zone_name(window.end_ns)
    said = [f"looked at {view.show_window(window)} {zone}"]
    said += [part for part in (case.node, f"Linux {case.kernel}" if case.kernel else "") if part]
    lines = flow([(printable(" · ".join(said)), _DIM)], width, indent=2)
    if not case.risks and not case.symptoms:
        lines += flow([("No risks were seen either.", PLAIN)], width, indent=2)
    return lines


def _chain(case: Case, width: int) -> list[Text]:
    if not case.chain:
        return []
    beside = width >= _NARROW
    room = width - _MARKS_WIDTH - 2 if beside else width
    title = Text("the chain", _BOLD)
    if beside:
        initials = " ".join(word[0].upper() for word, _ in TEST_WORDS)
        title.append(" " * (width - _MARKS_WIDTH - title.cell_len))
        title.append(initials, _DIM)
    lines = [title]
    for link in case.chain:
        own = _link(link, room)
        if beside:
            own[0].append(" " * (width - _MARKS_WIDTH - own[0].cell_len))
            own[0].append_text(_marks(link))
        else:
            own.append(Text(" " * (2 + _ROLE_WIDTH)).append_text(_marks(link)))
        lines += own
    legend = ", ".join(f"{word[0].upper()} {meaning}" for word, meaning in TEST_WORDS)
    marks = ", ".join(f"{mark} {outcome}" for outcome, mark in OUTCOME_MARKS.items())
    return lines + flow([(f"{legend}: {marks}", _DIM)], width, indent=2)


def _link(link: Link, width: int) -> list[Text]:
    style = Style(bold=True, color="red") if link.role == "root_cause" else _BOLD
    head = Text(f"  {_ROLES[link.role]}", style)
    said = [(printable(link.claim), PLAIN), (f"[{', '.join(link.evidence)}]", _DIM)]
    return flow(said, width, head=head, indent=2 + _ROLE_WIDTH)


def _marks(link: Link) -> Text:
    text = Text()
    for index, outcome in enumerate(link.tests.outcomes()):
        text.append(" " if index else "")
        text.append(OUTCOME_MARKS[outcome], _MARK_STYLES[outcome])
    return text


def _evidence(evidence: Sequence[Evidence], width: int) -> list[Text]:
    if not evidence:
        return []
    lines = [Text("the evidence, and how to check it", _BOLD)]
    indent = 4 + max(len(one.id) for one in evidence)
    for one in evidence:
        head = Text(f"  {one.id}", _BOLD)
        lines += flow([(printable(one.claim), PLAIN)], width, head=head, indent=indent)
        lines += _command(one.check, indent, width)
    return lines


def _command(command: str, indent: int, width: int) -> list[Text]:
    """To be copied: where it needs another line, a shell takes both for one."""
    if not command:
        return []
    head = Text(" " * indent).append("$", _DIM)
    style = Style(color="cyan")
    said = [(printable(command), style)]
    lines = flow(said, width - 2, head=head, indent=indent + 2, is_command=True)
    for line in lines[:-1]:
        line.append(" \\", _DIM)
    return lines


def _rejected(case: Case, width: int) -> list[Text]:
    chosen, rest = telling(case.rejected)
    if not chosen:
        return []
    lines = [Text("ruled out", _BOLD)]
    for one in chosen:
        said = [
            (printable(one.culprit.name), _BOLD),
            (f"({one.kind})", _DIM),
            (printable(one.reason), PLAIN),
        ]
        lines += flow(said, width, head=Text("  ✗", Style(color="red")), indent=4)
    if rest:
        names = ", ".join(printable(name) for name in rest)
        lines += flow([(f"also {names}, for reasons that --json tells", _DIM)], width, indent=4)
    return lines


def _suspects(case: Case, width: int) -> list[Text]:
    if not case.other_suspects:
        return []
    lines = [Text("suspects that remain", _BOLD)]
    for one in case.other_suspects:
        said = [
            (printable(one.summary), PLAIN),
            (f"({one.kind}, {one.confidence} confidence)", _DIM),
        ]
        lines += flow(said, width, head=Text("  ?", Style(color="yellow")), indent=4)
    return lines


def _others(case: Case, view: Viewpoint, width: int) -> list[Text]:
    """What else was wrong in the window: one case explains one kind of harm."""
    others, more = also_harmed(case)
    if not others:
        return []
    title = "harm in this window" if case.symptom is None else "also harmed in this window"
    lines = [Text(title, _BOLD)]
    for one in others:
        many = f", {one.count} times" if one.count > 1 else ""
        said = [(printable(harm_text(one)), PLAIN), (f"({view.show(one.wall_ns)}{many})", _DIM)]
        lines += flow(said, width, head=Text("  •"), indent=4)
    if more:
        lines.append(Text(f"    and {more} more kinds of harm", _DIM))
    return lines


def _actions(case: Case, width: int) -> Iterable[list[Text]]:
    actions = case.actions
    for title, said in (
        ("what to do now", actions.now),
        ("for good", actions.for_good),
        ("to undo it", actions.undo),
        ("to see that it worked", actions.verify),
    ):
        if said:
            lines = [Text(title, _BOLD)]
            for line in said:
                lines += flow([(printable(line), PLAIN)], width, head=Text("  •"), indent=4)
            yield lines


def _since_fix(case: Case, view: Viewpoint, width: int) -> list[Text]:
    fix = case.since_fix
    if fix is None:
        return []
    colour = {"gone": "green", "better": "yellow", "not-gone": "red"}.get(fix.status, "magenta")
    head = Text(f"since the fix at {view.show(fix.fix_wall_ns)}: ", _BOLD)
    head.append(fix.status.replace("-", " "), Style(color=colour, bold=True))
    before, after = (round(seconds * 1e9) for seconds in (fix.before_seconds, fix.after_seconds))
    counted = (
        f"{fix.before} in {duration(before)} before, {fix.after} in {duration(after)} after: "
        f"{fix.text}"
    )
    return [head, *flow([(printable(counted), PLAIN)], width, indent=2)]


def _risks(title: str, risks: Sequence[Risk], width: int) -> list[Text]:
    if not risks:
        return []
    lines = [Text(title, _BOLD)]
    for one in risks:
        head = Text("  !", Style(color="yellow", bold=True))
        lines += flow([(printable(one.claim), PLAIN)], width, head=head, indent=4)
        lines += _command(one.check, 4, width)
    return lines


def _gaps(gaps: Sequence[str], width: int) -> list[Text]:
    lines = []
    for gap in gaps:
        lines += flow([(printable(gap), _DIM)], width, head=Text("Note: ", _DIM), indent=6)
    return lines
