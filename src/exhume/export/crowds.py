"""Thousands of short-lived processes, put together by name: no list can show them one by one."""

from __future__ import annotations

from collections.abc import Sequence


def crowds(names: Sequence[str], core_ns: Sequence[int], at_most: int) -> list[list[int]]:
    """Indexes of what is shown together: those with most time alone, the others by name.

    Names with least time are one crowd where there would be too many of them, too. There are at
    most twice `at_most` groups, and one.
    """
    ranked = sorted(range(len(names)), key=lambda index: -core_ns[index])
    found = [[index] for index in ranked[:at_most]]
    named: dict[str, list[int]] = {}
    for index in ranked[at_most:]:
        named.setdefault(names[index], []).append(index)
    by_time = sorted(named.values(), key=lambda group: -sum(core_ns[index] for index in group))
    found += by_time[:at_most]
    rest = [index for group in by_time[at_most:] for index in group]
    return [*found, rest] if rest else found


def crowd_name(names: Sequence[str], noun: str) -> str:
    """`cc1 (312 processes)`; of several names the first, as the one with most time."""
    distinct = len(set(names))
    name = names[0] if distinct == 1 else f"{names[0]} and {distinct - 1} other names"
    return f"{name} ({len(names)} {noun})"
