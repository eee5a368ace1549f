"""Execs, exits and other events made up by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exhume.model.answers import EventAnswer
from exhume.model.lifecycles import ProcessEvents

NS = 1_000_000_000
T0 = 1_700_000_000 * NS

Row = tuple[float, str, str, str, int, int, float]
"""Seconds, `exec` or `exit`, name, parent, parent pid, count, lifetime in seconds."""


def process_events(rows: list[Row], pids: list[int] | None = None) -> ProcessEvents:
    names: dict[str, int] = {}

    def number(name: str) -> int:
        return names.setdefault(name, len(names)) if name else -1

    order = sorted(range(len(rows)), key=lambda index: rows[index][0])
    ordered = [rows[index] for index in order]
    own = [(pids[index] if pids else -1) for index in order]
    return ProcessEvents(
        wall_ns=np.array([T0 + round(row[0] * NS) for row in ordered], np.int64),
        is_exec=np.array([row[1] == "exec" for row in ordered], np.bool_),
        name=np.array([number(row[2]) for row in ordered], np.int32),
        parent=np.array([number(row[3]) for row in ordered], np.int32),
        parent_pid=np.array([row[4] for row in ordered], np.int64),
        pid=np.array(own, np.int64),
        count=np.array([row[5] for row in ordered], np.int64),
        lifetime_seconds=np.array([row[6] for row in ordered], np.float64),
        names=tuple(names),
    )


def lived(at: float, name: str, parent: str, parent_pid: int, seconds: float) -> list[Row]:
    nan = float("nan")
    return [
        (at, "exec", name, parent, parent_pid, 1, nan),
        (at + seconds, "exit", name, parent, parent_pid, 1, seconds),
    ]


def compile_like(files: int = 400) -> list[Row]:
    """`make -j8`: each file has a shell, a driver and a compiler, with parents that come and go."""
    random = np.random.default_rng(3)
    rows: list[Row] = []
    at = 0.0
    for file in range(files):
        at += float(random.exponential(0.4))
        took = float(random.lognormal(0.2, 0.8))
        rows += lived(at, "sh", "make", 500, took + 0.1)
        rows += lived(at + 0.01, "gcc", "sh", 10_000 + 3 * file, took)
        rows += lived(at + 0.02, "cc1", "gcc", 10_001 + 3 * file, took * 0.8)
        rows += lived(at + 0.02 + took * 0.8, "as", "gcc", 10_001 + 3 * file, took * 0.1)
    return rows


def event(
    kind: str,
    subject: str,
    at: float,
    *,
    count: int = 1,
    pid: int | None = None,
    text: str = "",
    core: int | None = None,
    of: Mapping[str, str | int | float] | None = None,
    **fields: str | int | float,
) -> EventAnswer:
    """`of`: fields whose names are no identifiers, such as `class`."""
    wall_ns = T0 + round(at * NS)
    return EventAnswer(wall_ns, kind, subject, text, core, pid, count, {**(of or {}), **fields})
