"""A case as Markdown, for a ticket or a post-mortem. Names from the machine are never markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from exhume.derive.case_words import (
    OUTCOME_MARKS,
    TEST_WORDS,
    also_harmed,
    harm_text,
    telling,
    words_and_commands,
)
from exhume.derive.printable import printable
from exhume.export.report_html import facts_of, harm_title, harm_when
from exhume.export.words import window_text
from exhume.model.case import Case, Risk

_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w)|:(?=//)|^[#+-]|(?<=^\d)[.)])")
"""What begins markup; `_` within a word and `-` within a line do not."""
_ROLES = {"symptom": "symptom", "mechanism": "◄ mechanism", "root_cause": "◄ **root cause**"}


def markdown(case: Case) -> str:
    return "\n".join(_lines(case)) + "\n"


def _lines(case: Case) -> Iterator[str]:
    verdict = case.verdict
    yield f"# {verdict.status.capitalize()}: {_safe(verdict.summary)}"
    yield ""
    if verdict.root_cause is not None:
        yield f"- kind: {_safe(verdict.root_cause.kind)}, {verdict.confidence} confidence"
    for name, value in facts_of(case):
        yield f"- {name}: {_safe(value)}"
    yield from _chain(case)
    yield from _evidence(case)
    actions = case.actions
    yield from _list("What to do now", actions.now)
    yield from _list("For good", actions.for_good)
    yield from _list("To undo it", actions.undo)
    yield from _list("To see that it worked", actions.verify)
    yield from _set_aside(case)
    yield from _also_harmed(case)
    if case.since_fix is not None:
        fix = case.since_fix
        yield from ("", "## Since the fix", "")
        yield (
            f"**{fix.status.replace('-', ' ')}**: {fix.before} in {fix.before_seconds / 60:.0f} "
            f"min before, {fix.after} in {fix.after_seconds / 60:.0f} min after: {_safe(fix.text)}"
        )
    yield from _risks("Seen at that time, not tied to it", case.meanwhile)
    yield from _risks("What harms nobody yet", case.risks)
    yield from _list("What weakens this answer", case.gaps)
    yield from ("", f"Looked at {window_text(case.window)}.")


def _chain(case: Case) -> Iterator[str]:
    if not case.chain:
        return
    yield from ("", "## The chain", "")
    yield "| | claim | evidence | " + " | ".join(word for word, _ in TEST_WORDS) + " |"
    yield "|---|---|---|" + ":-:|" * len(TEST_WORDS)
    for link in case.chain:
        marks = " | ".join(OUTCOME_MARKS[outcome] for outcome in link.tests.outcomes())
        ids = ", ".join(link.evidence)
        yield f"| {_ROLES[link.role]} | {_safe(link.claim)} | {ids} | {marks} |"
    meanings = "; ".join(f"{word}: {meaning}" for word, meaning in TEST_WORDS)
    outcomes = ", ".join(f"{mark} {outcome}" for outcome, mark in OUTCOME_MARKS.items())
    yield from ("", f"{meanings}. {outcomes}.")


def _evidence(case: Case) -> Iterator[str]:
    if not case.evidence:
        return
    yield from ("", "## The evidence, and how to check it", "")
    for one in case.evidence:
        yield f"- **{one.id}** {_safe(one.claim)}"
        yield from _command(one.check)


def _set_aside(case: Case) -> Iterator[str]:
    chosen, rest = telling(case.rejected)
    if chosen:
        yield from ("", "## Ruled out", "")
        for one in chosen:
            yield f"- **{_safe(one.culprit.name)}** ({one.kind}): {_safe(one.reason)}"
        if rest:
            yield f"- and {', '.join(map(_safe, rest))}"
    if case.other_suspects:
        yield from ("", "## Suspects that remain", "")
        for suspect in case.other_suspects:
            yield f"- {_safe(suspect.summary)} ({suspect.kind}, {suspect.confidence} confidence)"


def _also_harmed(case: Case) -> Iterator[str]:
    others, more = also_harmed(case)
    if not others:
        return
    yield from ("", f"## {harm_title(case)}", "")
    for one in others:
        yield f"- {_safe(harm_text(one))} ({harm_when(one)})"
    if more:
        yield f"- and {more} more kinds of harm"


def _risks(title: str, risks: Sequence[Risk]) -> Iterator[str]:
    if not risks:
        return
    yield from ("", f"## {title}", "")
    for one in risks:
        yield f"- {_safe(one.claim)}"
        yield from _command(one.check)


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", "")
        yield from (f"- {_with_commands(line)}" for line in lines)


def _command(command: str) -> Iterator[str]:
    if not command:
        return
    shown = printable(command)
    fence = _fence(shown, 3)
    yield from (f"  {fence}sh", f"  {shown}", f"  {fence}")


def _fence(text: str, at_least: int) -> str:
    """Longer than every run of ` in what it holds, so that nothing gets out."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(at_least, longest + 1)


def _with_commands(line: str) -> str:
    """A command is to be copied as it is: nothing in it is escaped."""
    return "".join(
        _code(text) if is_command else _safe(text)
        for text, is_command in words_and_commands(printable(line))
    )


def _code(text: str) -> str:
    fence = _fence(text, 1)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _safe(text: str) -> str:
    plain = _SPECIAL.sub(r"\\\1", printable(text))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
