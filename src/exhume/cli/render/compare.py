"""What separates ill from well, for people: the answer in a sentence, then the classes."""

from __future__ import annotations

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from exhume.cli.figures import count
from exhume.cli.safe import printable
from exhume.fleet.comparison import Attribute, Comparison, SplitClass

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_GOOD = Style(color="green", bold=True)
_WARN = Style(color="yellow")
_SHOWN = 5
_MEMBERS = 4
_FEW = 10
_NOUNS = {"unit": "", "process": "the process ", "module": "the module ", "image": "the image ",
          "package": "the package ", "label": "the label ", "unit_file": "the file of ",
          "unit_restarts": "restarts of ", "event": ""}  # fmt: skip


def render(answer: Comparison, *, everything: bool = False) -> RenderableType:
    groups = f"{answer.ill:,} ill and {count(answer.well, 'well ' + answer.unit)}"
    title = Text(f"what separates {groups}", _BOLD)
    tested = f"{answer.attributes:,} attributes vary, {answer.classes_tested:,} different splits"
    left = f" · {answer.left_out:,} left out" if answer.left_out else ""
    parts: list[RenderableType] = [title.append(f" · {tested}{left}", _DIM), Text()]
    answer = replace(answer, classes=tuple(_of_the_ill(one) for one in answer.classes))
    parts += _verdict(answer)
    shown = [one for one in answer.classes if one.separates and not one.explained_by]
    proxies = [one for one in answer.classes if one.separates and one.explained_by]
    if not shown:
        shown = list(answer.classes)
    limit = len(answer.classes) if everything else _SHOWN
    for number, one in enumerate(shown[:limit], 1):
        parts += [Text(), *_class(one, number, everything=everything)]
    if len(shown) > limit:
        parts.append(Text(f"… {len(shown) - limit} more; --all shows them", _DIM))
    for one in proxies[: limit if everything else 3]:
        parts.append(
            Text(
                f"Only a proxy: {phrase(one.lead)} ({_shares(one)}) says nothing more once "
                f"{_named(one.explained_by)} is known.",
                _DIM,
            )
        )
    parts += [Text(f"⚠ {printable(note)}", _WARN) for note in answer.notes]
    return Group(*parts)


def _verdict(answer: Comparison) -> list[Text]:
    best = answer.classes[0] if answer.classes else None
    few = min(answer.ill, answer.well) < _FEW and answer.unit == "node"
    lines: list[Text] = []
    if answer.verdict == "separates" and best is not None:
        if best.is_answer:
            line = Text("The answer: ", _GOOD).append(_sentence(best), _BOLD)
            line.append(
                f" The diagnosis of {count(best.named_by_cases, 'ill node')} names it too: what "
                "differs and what was found guilty are the same.",
                Style(),
            )
            lines.append(line)
        else:
            lines.append(Text(_sentence(best), _BOLD))
            if best.lead.tier == "label":
                lines.append(
                    Text("A label is a place, not a cause: ask what is different there.", _WARN)
                )
    else:
        lines.append(Text(_no_cause(answer), _BOLD))
    if few or answer.verdict == "unknown":
        lines.append(
            Text(
                f"Small n: with {answer.ill} against {answer.well} a perfect separator has "
                f"p = {_p(answer.smallest_p)}, less is not to be had; of "
                f"{count(answer.classes_tested, 'split')} {answer.perfect_by_chance:.2g} would "
                "separate perfectly by chance.",
                _WARN,
            )
        )
    return lines


def _no_cause(answer: Comparison) -> str:
    levels = any(one.separates for one in answer.classes)
    if answer.verdict == "unknown":
        told = "No cause can be told" if levels else "It can't be told"
        said = f"{told}: too few {answer.unit}s for so many attributes."
    elif levels:
        said = "No cause separates them."
    else:
        return (
            "Nothing separates them: no attribute goes with the illness more than chance would "
            "have it."
        )
    alone = " Only levels go with the illness, and a level may be the illness itself."
    return said + alone if levels else said


def _class(one: SplitClass, number: int, *, everything: bool) -> list[RenderableType]:
    head = Text(f"{number}. ", _DIM).append(phrase(one.lead), _BOLD)
    head.append(f"  {one.lead.tier}", _DIM)
    if one.alongside:
        head.append(" · a level: it may be the illness itself", _DIM)
    if not one.separates:
        head.append(" · not told from chance", _WARN)
    known = one.ill_known + one.well_known
    perfect = f" · a perfect separator, n = {known:,}" if one.is_perfect else ""
    odds = f"odds × {_figure(one.odds_ratio)} ({_figure(one.odds_ratio_low)}–"
    odds += f"{_figure(one.odds_ratio_high)})"
    lines: list[RenderableType] = [
        head,
        _indented(Text(f"{_shares(one)}{perfect}")),
        _indented(Text(f"p = {_p10(one.log10_p)}, q = {_p(one.q)}, {odds}", _DIM)),
    ]
    # Of one field one test says it.
    by_field = {(other.area, other.name): other for other in reversed(one.members)}
    by_field.pop((one.lead.area, one.lead.name), None)
    others = list(by_field.values())[::-1]
    if others:
        limit = len(others) if everything else _MEMBERS
        named = "; ".join(f"{phrase(other)}{_side(one, other)}" for other in others[:limit])
        more = max(0, len(others) - limit) + one.member_count - len(one.members)
        rest = f"; and {more:,} more" if more else ""
        lines.append(_indented(Text(f"the same split: {named}{rest}", _DIM)))
    if one.named_by_cases and not one.is_answer:
        lines.append(_indented(Text(f"named by {count(one.named_by_cases, 'case')}", _WARN)))
    return lines


def _indented(text: Text) -> Padding:
    """Also where it goes on in another line."""
    return Padding(text, (0, 0, 0, 3), expand=False)


def _of_the_ill(one: SplitClass) -> SplitClass:
    """A threshold that the ill don't reach is said of them: below it."""
    if one.lead.on_ill or not one.lead.test.startswith("≥ "):
        return one
    return replace(
        one,
        lead=replace(one.lead, test=f"<{one.lead.test[1:]}", on_ill=True),
        ill_with=one.ill_known - one.ill_with,
        well_with=one.well_known - one.well_with,
        odds_ratio=1 / one.odds_ratio,
        odds_ratio_low=1 / one.odds_ratio_high,
        odds_ratio_high=1 / one.odds_ratio_low,
    )


def phrase(one: Attribute) -> str:
    test = one.test[2:] if one.test in ("= runs", "= happens") else one.test
    return printable(f"{_noun(one.area)}{one.name} {test}")


def _named(what: str) -> str:
    """`unit/x.service = runs`, as a comparison writes it, in words."""
    area, _, rest = what.partition("/")
    if rest.endswith(" = runs"):
        rest = f"{rest.removesuffix('= runs')}runs"
    return printable(f"{_noun(area)}{rest}")


def _noun(area: str) -> str:
    return _NOUNS.get(area, area.replace("_", " ") + " ")


def _sentence(one: SplitClass) -> str:
    return f"{phrase(one.lead)} on {_shares(one)}."


def _shares(one: SplitClass) -> str:
    return (
        f"{one.ill_with:,} of {one.ill_known:,} ill and "
        f"{one.well_with:,} of {one.well_known:,} well"
    )


def _side(one: SplitClass, other: Attribute) -> str:
    return "" if other.on_ill == one.lead.on_ill else " (on the other side)"


def _p10(log10_p: float) -> str:
    return _p(10**log10_p) if log10_p > -300 else f"1e{log10_p:.0f}"


def _p(value: float) -> str:
    return f"{value:.2g}" if value > 0 else "0 (below 1e-300)"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
