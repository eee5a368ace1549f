"""Observations and scenes made by hand: seconds since T0 instead of nanoseconds of wall time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from exhume.diagnose.scene import Scene, Stall
from exhume.model.answers import EventAnswer, SeriesAnswer
from exhume.model.case import Outcome, Party, Symptom
from exhume.model.lifecycles import Lifecycle, Mark, ProcessEvents, ProcessTime
from exhume.model.memcgs import MemcgName, ZombiesAnswer
from exhume.model.observation import CloseUp, CoreLoad, Observation
from exhume.model.occupancy import Hold, Occupancy, Occupant
from exhume.model.window import Window

NS = 1_000_000_000
T0 = 1_800_000_000 * NS
MINUTES_10 = 600.0


def at(seconds: float) -> int:
    return T0 + round(seconds * NS)


def span(start: float, end: float) -> Window:
    return Window(at(start), at(end))


WINDOW = span(0, MINUTES_10)


def series(
    field: str, values: Sequence[int], instance: str = "", every: float = 1.0, start: float = 0.0
) -> SeriesAnswer:
    wall = np.array([at(start + i * every) for i in range(len(values))], np.int64)
    return SeriesAnswer(
        field, instance, wall, np.array(values, np.int64), np.zeros(len(values), np.uint8)
    )


def event(
    seconds: float, kind: str, subject: str = "", text: str = "", **fields: Any
) -> EventAnswer:
    core, pid = fields.pop("core", None), fields.pop("pid", None)
    count = fields.pop("count", 1)
    return EventAnswer(at(seconds), kind, subject, text, core, pid, count, fields)


def starts(name: str, begin: int, end: int, each: int = 20) -> tuple[EventAnswer, ...]:
    """Of a unit, every ten seconds `each` times."""
    return tuple(event(10 * i + 5, "unit-start", name, count=each) for i in range(begin, end))


def lives(rows: Sequence[tuple[float, str, str]] = (), names: Sequence[str] = ()) -> ProcessEvents:
    """Execs: (second, name, parent)."""
    number: dict[str, int] = {name: i for i, name in enumerate(names)}
    for _, name, parent in rows:
        number.setdefault(name, len(number))
        number.setdefault(parent, len(number))
    count = len(rows)
    return ProcessEvents(
        tuple(number),
        np.array([at(second) for second, _, _ in rows], np.int64),
        np.ones(count, np.bool_),
        np.array([number[name] for _, name, _ in rows], np.int32),
        np.array([number[parent] for _, _, parent in rows], np.int32),
        np.full(count, 1, np.int64),
        np.arange(1000, 1000 + count, dtype=np.int64),
        np.ones(count, np.int64),
        np.full(count, np.nan),
    )


def lifecycle(
    kind: Any, name: str, starts: int, mark: Mark = "crash loop", detail: str = "", **more: Any
) -> Lifecycle:
    return replace(
        Lifecycle(
            kind,
            name,
            detail,
            mark,
            starts,
            starts * 6.0,
            starts,
            None,
            None,
            None,
            None,
            0.1,
            None,
        ),
        **more,
    )


def zombies(counts: Mapping[float, int], names: Sequence[MemcgName] = ()) -> ZombiesAnswer:
    wall = np.array([at(second) for second in counts], np.int64)
    values = np.array(list(counts.values()), np.int64)
    last = int(values[-1]) if len(values) else None
    return ZombiesAnswer(
        WINDOW, MINUTES_10, last, 10, last, None, None, wall, values, None, 1, (), tuple(names),
        None, None, None, None, None, None, (),
    )  # fmt: skip


def hold(
    start: float, seconds: float, comm: str = "payer", core: int = 1, pid: int = 77, **more: Any
) -> Hold:
    given: dict[str, Any] = {
        "is_one_call": True,
        "call": "ksys_read",
        "deepest": "memcg_numa_stat_show",
    } | more
    return Hold(
        core=core, window=span(start, start + seconds), comm=comm, pid=pid, tid=pid, cgroup="",
        **given,
    )  # fmt: skip


def occupant(
    comm: str, share: float = 1.0, frames: Mapping[str, float] | None = None, **more: Any
) -> Occupant:
    given: dict[str, Any] = {
        "pid": 77, "cgroup": "", "unit": "", "container": "", "pod": "", "samples": 100,
        "core_ns": NS, "user_share": 0.0, "softirq_share": 0.0, "longest_run": span(0, 1),
    } | more  # fmt: skip
    return Occupant(comm=comm, share_of_window=share, frames=dict(frames or {}), **given)


def load(percent: Mapping[int, Sequence[int]], mode: int = 1) -> CoreLoad:
    """By core: percent in one mode (system), second by second."""
    cores = tuple(sorted(percent))
    length = len(percent[cores[0]])
    permille = np.zeros((6, length, len(cores)), np.int16)
    for column, core in enumerate(cores):
        permille[mode, :, column] = np.array(percent[core]) * 10
    start = np.array([at(i) for i in range(length)], np.int64)
    return CoreLoad(cores, start, start + NS, permille)


def process(comm: str, core_seconds: float, pid: int = 5, cgroup: str = "") -> ProcessTime:
    return ProcessTime(comm, pid, 1, cgroup, "", "", round(core_seconds * NS))


def observation(**more: Any) -> Observation:
    plain = Observation(
        window=WINDOW,
        node="n1",
        kernel="5.4.0",
        boots=(),
        recorded_seconds=MINUTES_10,
        sampled_seconds=MINUTES_10,
        load=None,
        series={},
        events=(),
        lives=lives(),
        lifecycles=(),
        zombies=None,
        holds=(),
        lines=(),
        crowds=(),
    )
    fields = more.pop("series", ())
    by_field: dict[str, tuple[SeriesAnswer, ...]] = {}
    for one in fields:
        by_field[one.field] = (*by_field.get(one.field, ()), one)
    return replace(plain, series=by_field, **more)


def symptom(
    start: float, seconds: float, victim: str = "victim", kind: str = "job-failure", **more: Any
) -> Symptom:
    window = span(start, start + seconds)
    given: dict[str, Any] = {
        "victim": Party(comm=victim),
        "source": "job log",
        "text": f"{victim} timed out",
    } | more
    return Symptom(kind=kind, wall_ns=window.end_ns, window=window, **given)


def scene(
    seen: Observation,
    like: Sequence[Symptom],
    during: Sequence[Occupant] = (),
    core: int | None = 1,
    place: Outcome = "passed",
    softirq: float = 0.0,
) -> Scene:
    def stall(one: Symptom) -> Stall:
        if core is None:
            return Stall(one, one.window, None, None)
        samples = 100 if during or softirq else 0
        there = Occupancy(core, one.window, samples, tuple(during), softirq)
        return Stall(one, one.window, core, CloseUp(there))

    return Scene(
        seen, like[0], tuple(like), (), tuple(map(stall, like)), core, place, "it is known"
    )
