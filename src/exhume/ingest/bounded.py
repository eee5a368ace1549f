"""What is remembered of a log's lines, however many names it has: the oldest gives way."""

from __future__ import annotations

from typing import TypeVar

MOST = 20_000
V = TypeVar("V")


def keep(known: dict[str, V], key: str, value: V) -> None:
    if len(known) >= MOST:
        del known[next(iter(known))]
    known[key] = value
