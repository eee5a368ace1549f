"""Which log line means what: signatures are data (kernel_log.toml, job_log.toml); this matches.

A flood must be cheap: a line is tried against a pattern only if it has the signature's literal, and
looking for 120 literals in a line takes 7 µs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from msgspec import Struct, field

from exhume.derive.safe_patterns import MAX_LINE, problem_of
from exhume.errors import ParseError

MAX_USER_SIGNATURES = 200
_MIN_LITERAL = 4

# Groups that become integers. Those with a unit become numbers in any case.
NUMBERS = frozenset(
    {
        *("changes", "code", "core", "count", "culprit_core", "index", "level", "limit", "number"),
        *("napi_scheduled", "order", "owner_pid", "pid", "queue", "rank", "rate", "remaining"),
        *("sector", "sequence", "stalled_jiffies", "status", "tag", "uid", "watchdog_core", "xid"),
    }
)
_UNITS: tuple[tuple[str, str, float], ...] = (
    ("_usec", "_seconds", 1e-6),
    ("_msec", "_seconds", 1e-3),
    ("_nsec", "_seconds", 1e-9),
    ("_sec", "_seconds", 1.0),
    ("_kb", "_bytes", 1024),
)
# `ena 0000:00:05.0 eth0: `, `virtio_net virtio2 eth0: `, on other buses `r8152 1-1.3:1.0 eth1: `,
# `mtk_soc_eth 1e100000.ethernet eth0: `, before 3.17 `igb 0000:01:00.0: eth0: `; dev_err() leaves
# the interface out, and
# `(unnamed net_device) (uninitialized)` stands for one that has no name yet.
_DEVICE = re.compile(
    r"(?:^|\s)(?P<driver>[\w-]{1,32}) (?P<device>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d|virtio\d+"
    r"|\d[\d.-]{0,16}:\d+\.\d+|[0-9a-f]{4,16}\.[a-z]\w{0,31}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4})"
    r"(?::? (?P<interface>[^\s:()]{1,32})(?: \([a-z]+\))?)?: "
    r"(?:\S{1,64}:\(pid \d+\): |\[\d/\d\] )?$"
)
_DECIMAL = re.compile(r"-?\d{1,16}\.\d{1,16}", re.ASCII)
_REQUIRED = ("id", "class", "literal", "pattern", "meaning")
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    "since": str, "device": bool, "examples": list, "numbers": list, "unless": (str, list)
}  # fmt: skip

FieldValue = str | int | float


class Signature(Struct, frozen=True):
    id: str
    cls: str
    literal: str
    pattern: re.Pattern[str]
    meaning: str
    since: str = ""
    has_device: bool = False
    unless: tuple[re.Pattern[str], ...] = ()
    examples: tuple[str, ...] = ()
    numbers: frozenset[str] = NUMBERS


class Match(Struct, frozen=True):
    id: str
    cls: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    meaning: str = ""


def match(text: str, signatures: Iterable[Signature] | None = None) -> Match | None:
    """The first signature that this line has; the kernel's, unless others are given."""
    text = text[:MAX_LINE]
    for signature in kernel_log() if signatures is None else signatures:
        if signature.literal in text:
            found = signature.pattern.search(text)
            if found is not None and (not any(one.search(text) for one in signature.unless)):
                return Match(
                    signature.id, signature.cls, _fields(signature, found), signature.meaning
                )
    return None


@lru_cache(maxsize=1)
def kernel_log() -> tuple[Signature, ...]:
    return _packaged("kernel_log.toml")


@lru_cache(maxsize=1)
def job_log() -> tuple[Signature, ...]:
    return _packaged("job_log.toml")


def parse(text: str, path: str, limit: int = MAX_USER_SIGNATURES) -> tuple[Signature, ...]:
    """Signatures of a user's file, in the form that kernel_log.toml explains."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ParseError(path, "whole file", f"TOML: {error}") from None
    entries, shared = document.get("signature"), document.get("unless", {})
    if not isinstance(entries, list) or set(document) - {"signature", "unless"}:
        raise ParseError(path, "whole file", "[[signature]] entries, [unless], and nothing else")
    if not isinstance(shared, dict) or not all(isinstance(one, str) for one in shared.values()):
        raise ParseError(path, "unless", "name = 'expression'")
    if len(entries) > limit:
        raise ParseError(path, "whole file", f"at most {limit} signatures, not {len(entries)}")
    return tuple(_signature(entry, index, path, shared) for index, entry in enumerate(entries, 1))


def _packaged(name: str) -> tuple[Signature, ...]:
    text = files("exhume.derive").joinpath(name).read_text(encoding="utf-8")
    return parse(text, name, limit=1000)


def _signature(entry: Any, index: int, path: str, shared: Mapping[str, str]) -> Signature:
    where = f"signature {index}"
    if not isinstance(entry, dict):
        raise ParseError(path, where, "a table")
    for name in _REQUIRED:
        if not isinstance(entry.get(name), str) or not entry[name]:
            raise ParseError(path, where, f"{name} = 'text'")
    where = f"signature {index} ({entry['id']})"
    for name, value in entry.items():
        if name not in _REQUIRED and not isinstance(value, _OPTIONAL.get(name, ())):
            allowed = ", ".join((*_REQUIRED, *_OPTIONAL))
            raise ParseError(path, where, f"keys {allowed}; not {name} = {value!r}")
    if len(entry["literal"]) < _MIN_LITERAL:
        raise ParseError(path, where, f"a literal of {_MIN_LITERAL} characters or more")
    said = entry.get("unless", [])
    said = [said] if isinstance(said, str) else said
    if not all(isinstance(one, str) for one in said):
        raise ParseError(path, where, "unless = 'expression' or ['expression', …]")
    unless = [shared.get(one, one) for one in said]
    for pattern in (entry["pattern"], *unless):
        problem = problem_of(pattern)
        if problem is not None:
            raise ParseError(path, where, f"a pattern that is safe to run: {problem}")
    signature = Signature(
        id=entry["id"],
        cls=entry["class"],
        literal=entry["literal"],
        pattern=re.compile(entry["pattern"]),
        meaning=entry["meaning"],
        since=entry.get("since", ""),
        has_device=entry.get("device", False),
        unless=tuple(map(re.compile, unless)),
        examples=tuple(str(example) for example in entry.get("examples", ())),
        numbers=NUMBERS.union(str(number) for number in entry.get("numbers", ())),
    )
    for example in signature.examples:
        if match(example, (signature,)) is None:
            raise ParseError(path, where, f"a literal and a pattern that match {example!r}")
    return signature


def _fields(signature: Signature, found: re.Match[str]) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    if signature.has_device:
        fields.update(_device(found.string[: found.start()][-160:]))
    for name, value in found.groupdict().items():
        if value is not None:
            name, factor = _kind(name, signature.numbers)
            fields[name] = value if factor is None else _number(value, factor)
    return fields


@lru_cache(maxsize=256)
def _device(prefix: str) -> Mapping[str, str]:
    """In a flood the same device speaks again and again."""
    before = _DEVICE.search(prefix)
    groups = before.groupdict() if before is not None else {}
    return {name: value for name, value in groups.items() if value is not None}


@lru_cache(maxsize=1024)
def _kind(group: str, numbers: frozenset[str]) -> tuple[str, float | None]:
    """The field that a group becomes, and what its number is multiplied by; None for text.

    A pattern can't name two groups alike; in its second branch it calls them `…_2`.
    """
    name = group.removesuffix("_2")
    for suffix, becomes, factor in _UNITS:
        if name.endswith(suffix):
            return name.removesuffix(suffix) + becomes, factor
    return name, 1 if name in numbers else None


def _number(value: str, factor: float) -> FieldValue:
    if value.isascii() and value.removeprefix("-").isdigit() and len(value) <= 18:
        # 6328000 µs are 6.328 s, not 6.327999999999999.
        return int(value) * factor if isinstance(factor, int) else round(int(value) * factor, 9)
    if _DECIMAL.fullmatch(value) and len(value) <= 18:
        return round(float(value) * factor, 9)
    return value
