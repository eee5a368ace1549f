"""Where on the page a piece of evidence is to be seen."""

from __future__ import annotations

import shlex
from itertools import pairwise

from msgspec import Struct

from exhume.model.answers import Filter
from exhume.model.case import Case, Evidence
from exhume.model.window import Window

_TABS = {
    "top": "who",
    "flame": "flame",
    "events": "events",
    "zombies": "zombies",
    "units": "units",
    "series": "timeline",
    "cores": "timeline",
    "irqs": "timeline",
}


class Place(Struct, frozen=True):
    """Where the page shows what a piece of evidence claims."""

    evidence: str
    """Its id."""
    window: Window
    filter: Filter
    tab: str
    field: str
    """A field of the catalogue to draw below the map; empty where there is none."""


class CaseEntry(Struct, frozen=True):
    id: str
    case: Case
    places: tuple[Place, ...]


def place_of(evidence: Evidence) -> Place:
    """Read from the command that shows it: the page sets itself to what that would print."""
    try:
        words = shlex.split(evidence.check)
    except ValueError:
        words = []
    command = words[1] if len(words) > 1 and words[0] == "exhume" else ""
    given: dict[str, list[str]] = {}
    for option, value in pairwise(words):
        if option.startswith("--"):
            given.setdefault(option.removeprefix("--"), []).append(value)
    return Place(
        evidence=evidence.id,
        window=evidence.window,
        filter=Filter(
            cores=_numbers(given.get("core", [])),
            comms=tuple(given.get("comm", ())),
            pids=_numbers(given.get("pid", [])),
            tids=_numbers(given.get("tid", [])),
            cgroups=tuple(given.get("cgroup", ())),
            units=tuple(given.get("unit", ())),
            containers=tuple(given.get("container", ())),
            pods=tuple(given.get("pod", ())),
            modes=tuple(given.get("mode", ())),
        ),
        tab=_TABS.get(command, "timeline"),
        field=words[2] if command == "series" and len(words) > 2 else "",
    )


def _numbers(texts: list[str]) -> tuple[int, ...]:
    parts = [part for text in texts for part in text.split(",")]
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())
