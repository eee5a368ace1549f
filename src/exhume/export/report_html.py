"""A case as one HTML page: nothing is loaded, and no name from the machine is ever markup.

The flame graph is the SVG that `exhume export` writes, in a frame of its own: its script is the
only one that the page's policy lets run, and it is known by its hash.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from exhume import __version__
from exhume.derive.case_words import (
    OUTCOME_MARKS,
    TEST_WORDS,
    also_harmed,
    harm_text,
    parties,
    telling,
    words_and_commands,
)
from exhume.derive.printable import printable
from exhume.export import svg
from exhume.export.report_charts import core_heat_map, heat_colours, zombie_curve
from exhume.export.words import instant_text, window_text
from exhume.model.case import Case, Evidence, Link, Risk, Symptom
from exhume.model.report import Report

_FLAME_WIDTH = 1030
_HEIGHT = re.compile(r'height="([0-9]+)"')
_ROLES = {"symptom": "symptom", "mechanism": "mechanism", "root_cause": "root cause"}


def html(report: Report) -> str:
    case = report.case
    status = case.verdict.status
    title = _safe(f"exhume why · {case.node or 'node'} · {case.verdict.summary}")
    sections = (
        _header(case), _chain(case), _cores(report), _flame(report), _zombies(report),
        _evidence(case.evidence), _actions(case), _rejected(case), _suspects(case),
        _also_harmed(case), _since_fix(case),
        _risks("Seen at that time, not tied to it", case.meanwhile),
        _risks("What harms nobody yet", case.risks), _gaps(case.gaps),
    )  # fmt: skip
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n',
            '<meta name="viewport" content="width=device-width,initial-scale=1">\n',
            f"<title>{title}</title>\n<style>{_style()}{heat_colours()}</style></head>\n",
            f'<body class="{status}"><main>\n',
            *(f"{section}\n" for section in sections if section),
            f"<footer>exhume {_safe(__version__)} · looked at {window_text(case.window)} · "
            f"{_safe(_node(case))}</footer>\n</main></body></html>\n",
        ]
    )


def _policy() -> str:
    digest = b64encode(sha256(f"\n{svg.script()}\n".encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; frame-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _header(case: Case) -> str:
    verdict = case.verdict
    grade = []
    if verdict.root_cause is not None:
        grade.append(verdict.root_cause.kind)
    if verdict.confidence is not None:
        grade.append(f"{verdict.confidence} confidence")
    facts = "".join(f"<dt>{_safe(k)}</dt><dd>{_safe(v)}</dd>" for k, v in facts_of(case))
    return (
        f'<header><span class="pill">{_safe(verdict.status)}</span> '
        f'<span class="dim">{_safe(" · ".join(grade))}</span>'
        f'<h1>{_safe(verdict.summary)}</h1><dl class="facts">{facts}</dl></header>'
    )


def facts_of(case: Case) -> Iterator[tuple[str, str]]:
    """When, where and who, in UTC: the page may be read anywhere."""
    symptom = case.symptom
    if symptom is None:
        yield "looked at", window_text(case.window)
        yield "where", _node(case)
        return
    many = f"; {symptom.count} times in this window" if symptom.count > 1 else ""
    yield "when", f"{window_text(symptom.window)}, {symptom.window.seconds:.1f} s{many}"
    core = symptom.victim.core
    yield "where", " · ".join([*([f"CPU {core}"] if core is not None else []), _node(case)])
    yield from parties(case)


def _node(case: Case) -> str:
    known = (case.node, f"Linux {case.kernel}" if case.kernel else "")
    return " · ".join(part for part in known if part) or "node not named"


def _chain(case: Case) -> str:
    if not case.chain:
        return ""
    links = "".join(map(_link, case.chain))
    words = ", ".join(f"<b>{word}</b>: {meaning}" for word, meaning in TEST_WORDS)
    marks = ", ".join(f"{mark} {outcome}" for outcome, mark in OUTCOME_MARKS.items())
    return (
        f'<section><h2>The chain</h2><ol class="chain">{links}</ol>'
        f'<p class="dim">Tests of a link, from left to right: {words}. {marks}</p></section>'
    )


def _link(link: Link) -> str:
    tests = "".join(
        f'<span class="test {outcome}" title="{word}: {meaning}: {outcome}">'
        f"{OUTCOME_MARKS[outcome]}</span>"
        for (word, meaning), outcome in zip(TEST_WORDS, link.tests.outcomes(), strict=True)
    )
    return (
        f'<li class="{link.role}"><span class="role">{_ROLES[link.role]}</span>'
        f'<span class="claim">{_safe(link.claim)} '
        f'<span class="dim">[{_safe(", ".join(link.evidence))}]</span></span>'
        f'<span class="tests">{tests}</span></li>'
    )


def _cores(report: Report) -> str:
    if report.cores is None:
        return ""
    symptom = report.case.symptom
    picture = core_heat_map(
        report.cores,
        None if symptom is None else symptom.window,
        None if symptom is None else symptom.victim.core,
        "" if symptom is None else "the symptom",
    )
    said = f"{window_text(report.cores.window)}; a cell is the worst second of a core"
    if report.cores.by_samples:
        said += ", counted from samples: no times of cores were recorded"
    scale = 'idle <span class="legend"></span> 100 % busy'
    return _figure(
        "Every core around it" if symptom else "Every core", f"{said} · {scale}", picture
    )


def _flame(report: Report) -> str:
    tree, symptom = report.flame, report.case.symptom
    if tree is None or symptom is None:
        return ""
    where = "all cores" if report.flame_core is None else f"CPU {report.flame_core}"
    made = "".join(
        svg.chunks(
            tree,
            title=f"{where} while {symptom.victim.name} was harmed",
            subtitle=f"{window_text(symptom.window)} · {tree.samples:,} samples",
            width=_FLAME_WIDTH,
            marked=report.hot,
        )
    )
    found = _HEIGHT.search(made)
    height = int(found[1]) if found else 600
    frame = (
        f'<iframe title="flame graph" height="{height + 4}" sandbox="allow-scripts" '
        f'src="data:image/svg+xml;base64,{b64encode(made.encode()).decode()}"></iframe>'
    )
    hot = ", ".join(f"<code>{_safe(name)}</code>" for name in report.hot)
    said = f"framed in red, as the evidence names it: {hot}" if hot else "where its time went"
    return _figure(f"Who had {where} then", said, frame)


def _zombies(report: Report) -> str:
    if report.zombies is None:
        return ""
    case = report.case
    marks = [one.window for one in ([case.symptom] if case.symptom else [])]
    first, last = int(report.zombies.counts[0]), int(report.zombies.counts[-1])
    said = f"from {first:,} to {last:,}; the shaded stretch is the symptom"
    picture = zombie_curve(report.zombies, marks)
    return _figure("Dead memory cgroups", said if marks else said.partition(";")[0], picture)


def _figure(title: str, caption: str, picture: str) -> str:
    """`caption` and `picture` are markup already."""
    return (
        f"<section><h2>{_safe(title)}</h2><figure><figcaption>{caption}</figcaption>{picture}"
        "</figure></section>"
    )


def _evidence(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return ""
    rows = "".join(
        f'<tr><td class="id">{_safe(one.id)}</td><td>{_safe(one.claim)}'
        f'<div class="figures">{_safe(figures_text(one))}</div>{_code(one.check)}</td></tr>'
        for one in evidence
    )
    return f"<section><h2>The evidence, and how to check it</h2><table>{rows}</table></section>"


def figures_text(one: Evidence) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {value}" for name, value in one.figures.items())


def _actions(case: Case) -> str:
    actions = case.actions
    cards = [
        f'<div class="card"><h3>{title}</h3>{_list(map(_with_commands, lines))}</div>'
        for title, lines in (
            ("What to do now", actions.now),
            ("For good", actions.for_good),
            ("To undo it", actions.undo),
            ("To see that it worked", actions.verify),
        )
        if lines
    ]
    inner = "".join(cards)
    return f'<section><h2>Actions</h2><div class="cards">{inner}</div></section>' if cards else ""


def _rejected(case: Case) -> str:
    chosen, rest = telling(case.rejected)
    rows = [
        f"<b>{_safe(one.culprit.name)}</b> "
        f'<span class="dim">({_safe(one.kind)})</span> {_safe(one.reason)}'
        for one in chosen
    ]
    if rest:
        rows.append(f'<span class="dim">and {_safe(", ".join(rest))}</span>')
    return _section("Ruled out", rows)


def _suspects(case: Case) -> str:
    return _section(
        "Suspects that remain",
        [
            f'{_safe(one.summary)} <span class="dim">({_safe(one.kind)}, {one.confidence} '
            "confidence)</span>"
            for one in case.other_suspects
        ],
    )


def _also_harmed(case: Case) -> str:
    others, more = also_harmed(case)
    rows = [
        f'{_safe(harm_text(one))} <span class="dim">({_safe(harm_when(one))})</span>'
        for one in others
    ]
    if more:
        rows.append(f'<span class="dim">and {more} more kinds of harm</span>')
    return _section(harm_title(case), rows)


def harm_title(case: Case) -> str:
    return "Harm in this window" if case.symptom is None else "Also harmed in this window"


def harm_when(one: Symptom) -> str:
    """In UTC: the page may be read anywhere."""
    many = f", {one.count} times" if one.count > 1 else ""
    return f"{instant_text(one.wall_ns)}{many}"


def _since_fix(case: Case) -> str:
    fix = case.since_fix
    if fix is None:
        return ""
    said = (
        f"<b>{_safe(fix.status.replace('-', ' '))}</b>: {fix.before} in "
        f"{fix.before_seconds / 60:.0f} min before, {fix.after} in "
        f"{fix.after_seconds / 60:.0f} min after: {_safe(fix.text)}"
    )
    return f"<section><h2>Since the fix</h2><p>{said}</p></section>"


def _risks(title: str, risks: Sequence[Risk]) -> str:
    return _section(title, [_safe(r.claim) + _code(r.check) for r in risks])


def _gaps(gaps: Sequence[str]) -> str:
    return _section("What weakens this answer", [_safe(gap) for gap in gaps])


def _section(title: str, rows: Sequence[str]) -> str:
    return f"<section><h2>{title}</h2>{_list(rows)}</section>" if rows else ""


def _list(rows: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{row}</li>' for row in rows)}</ul>"


def _code(command: str) -> str:
    return f"<pre><code>{_safe(command)}</code></pre>" if command else ""


def _with_commands(line: str) -> str:
    return "".join(
        f"<code>{_safe(text)}</code>" if is_command else _safe(text)
        for text, is_command in words_and_commands(line)
    )


def _safe(text: str) -> str:
    return escape(printable(text))


def _style() -> str:
    return files("exhume.export").joinpath("report.css").read_text(encoding="utf-8")
