"""The rows of bench.overhead: what is made of the turns, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Literal

from msgspec import Struct

from bench._long_close import Closed
from bench._overhead_plan import (
    EXHUME,
    MANY,
    MIB,
    NOTHING,
    PERF,
    SEGMENT_SECONDS,
    Plan,
)
from bench._overhead_turns import Turn
from bench.workloads import COMPUTE_SHARE, SYSCALL_SHARE, Kind

MOST_OTHERS_PERCENT = 10.0
"""Of one core, by others than recorder and load: above it the figures are not to be quoted."""


class Case(Struct, frozen=True):
    """All that a figure may be made of: one turn, and what to compare it with."""

    turn: Turn
    base: Turn
    """The turn of the same round without a recorder."""
    long: Closed | None
    work_per_second: float
    """Of the load, in CPU seconds as calibrated."""
    steady_seconds: float

    def slowdown_percent(self, kind: Kind, clock: Literal["wall_seconds", "cpu_seconds"]) -> float:
        with_it, without = (
            median(getattr(timed, clock) for timed in turn.timed[kind])
            for turn in (self.turn, self.base)
        )
        return float(100 * (with_it / without - 1))

    def load_extra_percent(self) -> float:
        more = self.turn.load_seconds_per_work - self.base.load_seconds_per_work
        return 100 * more * self.work_per_second

    def long_memory_mib(self) -> float | None:
        if self.long is None or self.turn.memory is None:
            return None
        return (self.long.peak_bytes + self.turn.memory.steady_bytes) / MIB

    def with_long_segments_percent(self) -> float | None:
        """What the end of a segment takes on top comes once in ten minutes."""
        if self.long is None:
            return None
        plain = self.plain_percent()
        at_the_end = self.turn.cpu_percent["main"] + self.turn.cpu_percent["aside"]
        rotation_seconds = max(0.0, at_the_end - plain) / 100 * self.steady_seconds
        return plain + 100 * (rotation_seconds + self.long.cpu_seconds) / SEGMENT_SECONDS

    def plain_percent(self) -> float:
        return sum(self.turn.plain_percent.values())


class Row(Struct, frozen=True):
    what: str
    unit: str
    figure: Callable[[Case], float | None]
    budget: str = ""
    is_extra: bool = False
    """A difference to the turn without a recorder: near zero, so no ratio to perf makes sense."""


def _of(part: str, figure: Callable[[Any], float]) -> Callable[[Case], float | None]:
    """A figure of an optional part of a turn."""

    def get(case: Case) -> float | None:
        value = case.long if part == "long" else getattr(case.turn, part)
        return None if value is None else figure(value)

    return get


def _recorded(figure: Callable[[Turn], float]) -> Callable[[Case], float | None]:
    """A figure that only a recorder has."""
    return lambda case: None if case.turn.memory is None else figure(case.turn)


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("recorder, start-up", "CPU s", _recorded(lambda t: t.start_up_cpu_seconds)),
    Row("recorder, steady", "% core", _recorded(lambda t: sum(t.plain_percent.values()))),
    Row("recorder, a close in the window", "% core",
        _recorded(lambda t: sum(t.cpu_percent.values()))),
    Row("  its loop", "% core", _recorded(lambda t: t.cpu_percent["main"])),
    Row("  its children (scans, symbols)", "% core", _recorded(lambda t: t.cpu_percent["aside"])),
    Row("  the closer", "% core", _recorded(lambda t: t.cpu_percent["closer"])),
    Row("closer, for a recorded minute", "CPU s",
        _of("closed", lambda c: 60 * c.cpu_seconds / c.recorded_seconds)),
    Row("closer, ten minutes at once", "CPU s", _of("long", lambda c: c.cpu_seconds)),
    Row("recorder, with 10-minute segments", "% core", Case.with_long_segments_percent, "≤ 1; ≤ 3"),
    Row("more CPU in the load for the same work", "% core", Case.load_extra_percent, is_extra=True),
    Row("whole machine, busy", "% core", lambda c: c.turn.machine_percent),
    Row("  more than with nothing", "% core",
        lambda c: c.turn.machine_percent - c.base.machine_percent, is_extra=True),
    Row("  neither recorder nor load", "% core", lambda c: c.turn.others_percent),
    Row("load: work done of work planned", "%", lambda c: 100 * c.turn.pace_ratio),
    Row("CPU-bound work, longer by", "% time",
        lambda c: c.slowdown_percent("cpu", "wall_seconds"), is_extra=True),
    Row("  more CPU by", "% CPU",
        lambda c: c.slowdown_percent("cpu", "cpu_seconds"), is_extra=True),
    Row("syscall-bound work, longer by", "% time",
        lambda c: c.slowdown_percent("syscalls", "wall_seconds"), is_extra=True),
    Row("  more CPU by", "% CPU",
        lambda c: c.slowdown_percent("syscalls", "cpu_seconds"), is_extra=True),
    Row("recorder RSS, steady", "MiB", _of("memory", lambda m: m.steady_bytes / MIB)),
    Row("recorder RSS, peak", "MiB", _of("memory", lambda m: m.peak_bytes["main"] / MIB)),
    Row("its children RSS, peak", "MiB", _of("memory", lambda m: m.peak_bytes["aside"] / MIB)),
    Row("closer RSS, peak", "MiB", _of("closed", lambda c: c.peak_bytes / MIB)),
    Row("all processes RSS, worst instant", "MiB",
        _of("memory", lambda m: m.worst_rss_bytes / MIB), "≤ 120"),
    Row("all processes PSS, worst instant", "MiB",
        _of("memory", lambda m: m.worst_pss_bytes / MIB)),
    Row("closer RSS, peak, ten minutes at once", "MiB", _of("long", lambda c: c.peak_bytes / MIB)),
    Row("  and the steady recorder", "MiB", Case.long_memory_mib, "≤ 120"),
    Row("rings (kernel memory)", "MiB", _of("memory", lambda m: m.ring_bytes / MIB)),
    Row("written", "KiB/s", _recorded(lambda t: t.written_bytes_per_second / 1024)),
    Row("kept on disk", "KiB/s",
        _of("closed", lambda c: c.segment_bytes / c.recorded_seconds / 1024)),
    Row("  ten minutes at once", "KiB/s",
        _of("long", lambda c: c.segment_bytes / c.recorded_seconds / 1024), "≤ 34 at 9,300/s"),
    Row("samples kept (idle ones are not)", "1/s",
        _of("closed", lambda c: c.samples / c.recorded_seconds)),
)
# fmt: on


class Figure(Struct, frozen=True):
    what: str
    unit: str
    budget: str
    values: dict[str, list[float]]
    """By contender, one a round; empty where it has no such figure."""
    ratio_to_perf: float | None


def figures(
    turns: Sequence[Sequence[Turn]], long: dict[str, Closed], plan: Plan, cores: int
) -> list[Figure]:
    """`turns` by round, the one without a recorder among them."""
    work = COMPUTE_SHARE * cores + SYSCALL_SHARE * max(1, cores // 2)
    cases = []
    for round_ in turns:
        base = next(turn for turn in round_ if turn.contender == NOTHING)
        cases += [
            Case(turn, base, long.get(turn.contender), work, plan.steady_seconds) for turn in round_
        ]
    result = []
    for row in ROWS:
        values: dict[str, list[float]] = {name: [] for name in (NOTHING, EXHUME, MANY, PERF)}
        for case in cases:
            value = row.figure(case)
            if value is not None and (not row.is_extra or case.turn is not case.base):
                values[case.turn.contender].append(value)
        ours, theirs = values[EXHUME], values[PERF]
        ratio = None
        if not row.is_extra and ours and theirs and median(theirs) > 0:
            ratio = median(ours) / median(theirs)
        result.append(Figure(row.what, row.unit, row.budget, values, ratio))
    return result


def table(found: Sequence[Figure]) -> str:
    names = (NOTHING, EXHUME, MANY, PERF)
    lines: list[tuple[str, ...]] = [("", "", *names, "exhume/perf", "budget")]
    for figure in found:
        ratio = "" if figure.ratio_to_perf is None else f"{figure.ratio_to_perf:.2f}"
        cells = (_cell(figure.values[name]) for name in names)
        lines.append((figure.what, figure.unit, *cells, ratio, figure.budget))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 1, len(line) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cell(values: Sequence[float]) -> str:
    """The median, and where there are several the least and the most."""
    if not values:
        return "–"
    text = _short(median(values))
    return text if len(values) == 1 else f"{text} [{_short(min(values))}…{_short(max(values))}]"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def notes(plan: Plan, turns: Sequence[Sequence[Turn]]) -> list[str]:
    everyone = [turn for round_ in turns for turn in round_]
    late = min(turn.pace_ratio for turn in everyone)
    others = max(turn.others_percent for turn in everyone)
    found = [
        f"{len(turns)} round(s), medians [least…most]; start-up is the first "
        f"{plan.start_up_seconds:g} s, steady the {plan.steady_seconds:g} s after them. The first "
        f"segment ends, and is closed, {plan.close_after_seconds:g} s after the start.",
        "% core: percent of one core. CPU of recorders: cgroup cpuacct, ended children included.",
    ]
    if plan.has_long_close:
        found.append(
            "Ten minutes at once: the turn's last seconds, repeated, closed by the closer."
        )
    if any(t.closed is None and t.contender in (EXHUME, MANY) for t in everyone):
        found.append("In one turn no segment was closed: the recorder was too slow to start.")
    if late < 0.99 or others > MOST_OTHERS_PERCENT:
        found.append(
            f"THE MACHINE WAS TOO BUSY: others took up to {others:.0f} % of a core; as little as "
            f"{100 * late:.0f} % of the load's work was done. Do not quote these figures."
        )
    return found
