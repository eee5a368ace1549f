"""`zone==a and cases.zombie-cgroups>0`: who is ill, as an expression over a fleet. Pure.

A name is a label (`zone`), a field (`sysctl.net.core.somaxconn`, `unit/ecs.service`), a level
(`zombies`), `cases` or `cases.KIND`. Alone it means: there is one, or it is not 0. A node of which
something asked for is not known is neither ill nor well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

import numpy as np
from msgspec import Struct, field

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.fleet.cohort import UNKNOWN, Column, Fleet
from exhume.model.arrays import Bool
from exhume.model.fingerprint import AREA, Value

_TOKEN = re.compile(
    r"\s*(?:(?P<operator>==|!=|>=|<=|=|>|<)|(?P<bracket>[()])|\"(?P<double>[^\"]*)\""
    r"|'(?P<single>[^']*)'|(?P<word>[^\s()<>=!\"']+))"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FAILED = ("found", "suspected", "unknown")
_MAX_DEPTH = 50
_FORMS = (
    "write for example: zone==a, 'zombies>1000', 'cases.zombie-cgroups>0 and pool==gpu', "
    "unit/ecs.service==runs"
)


class Truth(Struct, frozen=True):
    """For each node whether it holds, and whether that is known."""

    holds: Bool
    known: Bool


class Answer(Struct):
    truth: Truth
    used: set[str] = field(default_factory=set)
    """Keys of the columns it asked for: they define the illness, so they can't explain it."""


def evaluate(text: str, fleet: Fleet) -> Answer:
    parser = _Parser(text, _tokens(text), fleet)
    truth = parser.either(0)
    if parser.place < len(parser.tokens):
        raise _wrong(text, f"'{parser.tokens[parser.place][1]}' comes too late")
    return Answer(truth, parser.used)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise _wrong(text, f"'{text[place:].strip()[:20]}' makes no sense")
        kind = match.lastgroup or ""
        quoted = kind in ("double", "single")
        found.append(("quoted" if quoted else kind, match[kind]))
        place = match.end()
    if not found:
        raise _wrong(text, "it is empty")
    return found


class _Parser(Struct):
    text: str
    tokens: list[tuple[str, str]]
    fleet: Fleet
    place: int = 0
    used: set[str] = field(default_factory=set)

    def either(self, depth: int) -> Truth:
        left = self._both(depth)
        while self._word("or"):
            right = self._both(depth)
            holds = (left.holds & left.known) | (right.holds & right.known)
            left = Truth(holds, holds | (left.known & right.known))
        return left

    def _both(self, depth: int) -> Truth:
        left = self._not(depth)
        while self._word("and"):
            right = self._not(depth)
            fails = (~left.holds & left.known) | (~right.holds & right.known)
            known = fails | (left.known & right.known)
            left = Truth(left.holds & right.holds & ~fails, known)
        return left

    def _not(self, depth: int) -> Truth:
        if depth > _MAX_DEPTH:
            raise _wrong(self.text, "it is nested too deeply")
        if self._word("not"):
            inner = self._not(depth + 1)
            return Truth(~inner.holds & inner.known, inner.known)
        if self._next() == ("bracket", "("):
            self.place += 1
            inner = self.either(depth + 1)
            if self._next() != ("bracket", ")"):
                raise _wrong(self.text, "a ) is missing")
            self.place += 1
            return inner
        return self._comparison()

    def _comparison(self) -> Truth:
        kind, name = self._next()
        if kind not in ("word", "quoted"):
            why = f"a name is expected, not '{name}'" if name else "it ends early"
            raise _wrong(self.text, why)
        self.place += 1
        kind, operator = self._next()
        wanted: str | None = None
        if kind == "operator":
            self.place += 1
            kind, wanted = self._next()
            if kind not in ("word", "quoted"):
                raise _wrong(self.text, f"a value is expected after {operator}")
            self.place += 1
        cases = self._cases(name)
        if cases is not None:
            test = _test(operator if wanted is not None else ">", wanted or "0", self.text)
            holds = np.array([test(count) for count in cases], bool)
            return Truth(holds, np.ones(len(holds), bool))
        column = resolve(name, self.fleet)
        self.used.add(column.key)
        return _asked(column, operator if wanted is not None else "", wanted, self.text)

    def _cases(self, name: str) -> list[int] | None:
        kinds = {case.kind for cases in self.fleet.cases.values() for case in cases if case.kind}
        prefix, dot, kind = name.partition(".")
        if name in kinds:
            prefix, dot, kind = "cases", ".", name
        if prefix != "cases":
            return None
        return [
            sum(
                case.status in _FAILED and (not dot or case.kind == kind)
                for case in self.fleet.cases.get(place, ())
            )
            for place in range(len(self.fleet.nodes))
        ]

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("", "")

    def _word(self, word: str) -> bool:
        if self._next() == ("word", word):
            self.place += 1
            return True
        return False


def resolve(name: str, fleet: Fleet) -> Column:
    """The column a name means: label, area and name, level, or the only one so called."""
    by_key = {column.key: column for column in fleet.columns}
    area, dot, rest = name.partition(".")
    tries = [f"label/{name}", name, f"load/{name}", f"cloud/{name}"]
    if dot and area in AREA:
        tries.insert(1, f"{area}/{rest}")
    for key in tries:
        if key in by_key:
            return by_key[key]
    same = [column for column in fleet.columns if column.name == name]
    if len(same) == 1:
        return same[0]
    if same:
        shown = ", ".join(column.key for column in same[:5])
        raise _wrong(name, f"it may mean any of {shown}")
    near = get_close_matches(name, [*by_key, *(c.name for c in fleet.columns)], 3)
    hint = f"; is {' or '.join(near)} meant?" if near else ""
    raise _wrong(name, f"no node has a label or field of that name{hint}")


def _asked(column: Column, operator: str, wanted: str | None, text: str) -> Truth:
    known = column.codes != UNKNOWN
    if not operator or wanted is None:
        each = [value not in (None, 0, "0", False, "off", "") for value in column.values]
    else:
        test = _test(operator, wanted, text)
        each = [value is not None and test(value) for value in column.values]
        if operator == "!=":
            each = [value is None or test(value) for value in column.values]
    holds = np.array([*each, False], bool)[column.codes]
    return Truth(holds & known, known)


def _test(operator: str, wanted: str, text: str) -> Callable[[Value], bool]:
    if operator in ("=", "==", "!="):
        is_equal = operator != "!="
        number = float(wanted) if _NUMBER.fullmatch(wanted) else None

        def same(value: Value) -> bool:
            if isinstance(value, tuple):
                return (wanted in value) == is_equal
            if isinstance(value, bool):
                words = ("yes", "true") if value else ("no", "false")
                return (wanted.lower() in words) == is_equal
            equal = str(value) == wanted or (number is not None and _float(value) == number)
            return equal == is_equal

        return same
    if not _NUMBER.fullmatch(wanted):
        raise _wrong(text, f"{operator} needs a number, not '{wanted}'")
    limit = float(wanted)

    def ordered(value: Value) -> bool:
        found = _float(value)
        if found is None:
            return False
        if operator in (">", "<="):
            return (found > limit) == (operator == ">")
        return (found >= limit) == (operator == ">=")

    return ordered


def _float(value: Value) -> float | None:
    if isinstance(value, bool | tuple):
        return None
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return float(value)


def _wrong(text: str, why: str) -> ExhumeError:
    return ExhumeError(f"'{text}' says not who is ill: {why}", todo=_FORMS, exit_code=EXIT_USAGE)
