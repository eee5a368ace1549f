"""Regular expressions that can't take long, whatever line they meet.

Patterns come from a user's file and lines from anyone. Python's `re` tries every way a line can be
divided among the repeated parts of a pattern, so the ways are counted when the file is read: for
each repeated part the number of places where it may end, multiplied up.

A part that can't match what must follow it (`[^,]*,`) ends in one place only. One that can (`.*,`)
ends at most where the text that follows it occurs.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

from msgspec import Struct

MAX_PATTERN = 800
MAX_LINE = 1024
"""Lines are cut to this length before any pattern sees them. The kernel's own are shorter."""
MAX_STEPS = 20_000_000
"""At most a second on the worst line there is, some milliseconds on the worst that occur."""

_SINGLE = ("ANY", "IN", "LITERAL", "NOT_LITERAL")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_REFUSED = {
    "GROUPREF": "a reference back to a group",
    "GROUPREF_EXISTS": "a condition on a group",
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
}
_ALPHABET = "".join(map(chr, range(128))) + "é中"


class _Part(Struct, frozen=True):
    """One place of a pattern: what may stand there, and how often."""

    characters: frozenset[str]
    """For a fork, what each of its ways may begin with, those past it not included."""
    least: int = 1
    most: int = 1
    is_literal: bool = False
    skips: int = 0
    """For a fork: how many parts the way past it leaves out. 0 for a plain part."""
    ways: int = 2
    """For a fork: how many there are, if a line can begin more than one of them."""


class _UnsafeError(Exception):
    pass


def problem_of(pattern: str) -> str | None:
    """Why this pattern is refused; None if it is safe to run on any line."""
    if len(pattern) > MAX_PATTERN:
        return f"it has over {MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():
            # `[[`, say: a later Python will take it for something else.
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
        # The parser of `re` itself: private, but the only one that agrees with it.
        tree = import_module("re._parser").parse(pattern)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        return f"it is no regular expression: {error}"
    try:
        steps = _steps(_flat(list(tree), bool(tree.state.flags & re.IGNORECASE)))
    except _UnsafeError as error:
        return str(error)
    if steps > MAX_STEPS:
        return f"the worst line would take {steps:.0e} steps: it repeats too much in too many ways"
    return None


def _steps(parts: list[_Part]) -> float:
    """An upper bound of how often the engine looks at a character."""
    starts = MAX_LINE / max(1, _literal_run(parts, 0))
    total, ways, last_ends = 0.0, 1.0, 1.0
    for index, part in enumerate(parts):
        most = min(part.most, MAX_LINE)
        before = parts[index - 1] if index else None
        if before is not None and before.is_literal and not before.characters & part.characters:
            # Wherever it begins, it runs no further than to the next place where it may begin:
            # `:\d+` reads every digit of a line once, not once for each colon.
            total += ways / last_ends * min(MAX_LINE, most * last_ends) + ways
        else:
            total += ways * max(1, most)
        if part.skips or part.least != part.most:
            ends = _ends(part, parts, index)
            ways *= ends
            last_ends = ends if ends > 1 else last_ends
    return starts * max(1.0, total)


def _ends(part: _Part, parts: list[_Part], index: int) -> float:
    """In how many places this part may end such that what follows it can go on."""
    after = index + 1 + part.skips
    if not part.characters & _first(parts, after):
        return 1
    run = _literal_run(parts, after)
    places = MAX_LINE / run if run else MAX_LINE
    return part.ways if part.skips else max(1.0, min(part.most - part.least + 1, places))


def _first(parts: list[_Part], index: int) -> frozenset[str]:
    """What the rest of the pattern may begin with. Its end takes anything and never fails."""
    if index >= len(parts):
        return frozenset()
    part = parts[index]
    if part.skips:
        return part.characters | _first(parts, index + 1 + part.skips)
    return part.characters if part.least else part.characters | _first(parts, index + 1)


def _literal_run(parts: list[_Part], start: int) -> int:
    count = 0
    for part in parts[start:]:
        if not part.is_literal:
            break
        count += 1
    return count


def _flat(items: list[Any], ignore_case: bool) -> list[_Part]:
    parts: list[_Part] = []
    for operation, argument in items:
        name = str(operation)
        if name in _REFUSED:
            raise _UnsafeError(f"it has {_REFUSED[name]}")
        if name in _SINGLE:
            is_literal = name == "LITERAL" and not ignore_case
            characters = _characters(operation, argument, ignore_case)
            parts.append(_Part(characters, is_literal=is_literal))
        elif name in _REPEATS:
            least, most, body = argument
            parts += _repeated(int(least), int(most), list(body), ignore_case)
        elif name == "SUBPATTERN":
            _, added, _, body = argument
            parts += _flat(list(body), ignore_case or bool(added & re.IGNORECASE))
        elif name == "ATOMIC_GROUP":
            parts += _flat(list(argument), ignore_case)
        elif name == "BRANCH":
            parts += _branched([_flat(list(one), ignore_case) for one in argument[1]])
        elif name != "AT":
            raise _UnsafeError(f"it has {name.lower()}, which is not allowed here")
    return parts


def _repeated(least: int, most: int, body: list[Any], ignore_case: bool) -> list[_Part]:
    inner = _flat(body, ignore_case)
    if len(inner) == 1 and len(body) == 1 and str(body[0][0]) in _SINGLE:
        return [_Part(inner[0].characters, least, most)]
    if most > 1:
        raise _UnsafeError("it repeats a group: that can take for ever")
    if not inner and least != most:
        raise _UnsafeError("it makes nothing optional: each time the ways to match double")
    if least or not inner:
        return inner
    return [_Part(_first(inner, 0), 0, 0, skips=len(inner)), *inner]


def _branched(branches: list[list[_Part]]) -> list[_Part]:
    """As if all branches stood one after the other, each of them to be skipped."""
    parts: list[_Part] = []
    ways = len(branches)
    for branch in branches:
        if branch:
            parts += [_Part(_first(branch, 0), 0, 0, skips=len(branch), ways=ways), *branch]
            ways = 1  # counted once for all of them
    return parts


def _characters(operation: Any, argument: Any, ignore_case: bool) -> frozenset[str]:
    name = str(operation)
    if name == "ANY":
        return _of("[^\\n]", False)
    if name == "LITERAL":
        known = _of(re.escape(chr(argument)), ignore_case)
        return known or frozenset({chr(argument)})
    if name == "NOT_LITERAL":
        return _of(f"[^{re.escape(chr(argument))}]", ignore_case)
    return _of(_class_text(argument), ignore_case)


@lru_cache(maxsize=512)
def _of(pattern: str, ignore_case: bool) -> frozenset[str]:
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    return frozenset(character for character in _ALPHABET if compiled.fullmatch(character))


def _class_text(parts: Any) -> str:
    text = ""
    for operation, argument in parts:
        name = str(operation)
        if name == "NEGATE":
            text += "^"
        elif name == "LITERAL":
            text += re.escape(chr(argument))
        elif name == "RANGE":
            text += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
        elif name == "CATEGORY":
            text += _CATEGORIES[str(argument)]
    return f"[{text}]"


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
