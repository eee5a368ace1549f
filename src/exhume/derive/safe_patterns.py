"""Regular expressions that can't take long, whatever line they meet.

Patterns come from a user's file and lines from anyone. Python's `re` backtracks without limit, so
what can blow up is refused when the file is read, with the reason, and lines are cut to a length.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

MAX_PATTERN = 800
MAX_WILD = 2
"""Stretches of anything (`.*`) in one pattern: each multiplies the work by the line's length."""
_SHORT = 64
"""A stretch of at most this many characters is not wild."""
_SINGLE = ("ANY", "IN", "LITERAL", "NOT_LITERAL")
_REFUSED = {
    "GROUPREF": "a reference back to a group",
    "GROUPREF_EXISTS": "a condition on a group",
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
}


def problem_of(pattern: str) -> str | None:
    """Why this pattern is refused; None if it is safe to run on any line."""
    if len(pattern) > MAX_PATTERN:
        return f"it has over {MAX_PATTERN} characters"
    try:
        re.compile(pattern)
        # The parser of `re` itself: private, but the only one that agrees with it.
        tree = import_module("re._parser").parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"it is no regular expression: {error}"
    wild: list[str] = []
    reason = _look(list(tree), wild, None)
    if reason is None and len(wild) > MAX_WILD:
        reason = f"it has {len(wild)} stretches of anything (.*), over {MAX_WILD}"
    return reason


def _look(items: list[Any], wild: list[str], following: str | None) -> str | None:
    """`following` is the character that must come after these items, where one must."""
    after_repeat: str | None = None
    for index, (operation, argument) in enumerate(items):
        name = str(operation)
        if name in _REFUSED:
            return f"it has {_REFUSED[name]}"
        after = _first(items[index + 1 :], following)
        repeated: str | None = None
        reason: str | None = None
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, body = argument
            if int(most) > 1:
                if len(body) != 1 or str(body[0][0]) not in _SINGLE:
                    return "it repeats a group: that can take for ever"
                repeated = str(body[0])
                if repeated == after_repeat:
                    return "it repeats the same thing twice in a row: that can take for ever"
                # What can't run over its own end (`[^,]*,`) has one way to match.
                is_ended = after is not None and not _matches(body[0], after)
                if int(most) > _SHORT and _matches(body[0], " ") and not is_ended:
                    wild.append(repeated)
            else:
                reason = _look(list(body), wild, after)
        elif name == "SUBPATTERN":
            reason = _look(list(argument[-1]), wild, after)
        elif name == "ATOMIC_GROUP":
            reason = _look(list(argument), wild, after)
        elif name == "BRANCH":
            reason = _most(argument[1], wild, after)
        if reason is not None:
            return reason
        after_repeat = repeated
    return None


def _first(items: list[Any], following: str | None) -> str | None:
    if not items:
        return following
    name, argument = str(items[0][0]), items[0][1]
    if name == "LITERAL":
        return chr(argument)
    return _first(list(argument[-1]), None) if name == "SUBPATTERN" else None


def _most(branches: Any, wild: list[str], following: str | None) -> str | None:
    """Only one branch is taken: the wildest counts."""
    wildest: list[str] = []
    for branch in branches:
        found: list[str] = []
        reason = _look(list(branch), found, following)
        if reason is not None:
            return reason
        wildest = max(wildest, found, key=len)
    wild += wildest
    return None


def _matches(item: Any, character: str) -> bool:
    """Could this single item be that character? Words end at a blank: what takes none is tame."""
    name, argument = str(item[0]), item[1]
    if name == "ANY":
        return True
    if name == "LITERAL":
        return bool(chr(argument) == character)
    if name == "NOT_LITERAL":
        return bool(chr(argument) != character)
    return re.fullmatch(_class_text(argument), character) is not None


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
