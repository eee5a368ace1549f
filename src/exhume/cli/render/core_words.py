"""Core × time in words: the bursts that matter, next to the mean that hid them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.cli.figures import NS, count, duration, percent
from exhume.cli.times import Viewpoint
from exhume.derive.bursts import FULL_PERCENT, Burst
from exhume.model.answers import MAP_MODES, CoreMap, EventAnswer
from exhume.model.arrays import F32, F64

_BURSTS_SHOWN = 4
_CORES_NAMED = 8


class CoresAnswer(Struct, frozen=True):
    """`exhume cores`: the map, and when single cores were full while the mean looked healthy."""

    map: CoreMap
    modes: tuple[str, ...]
    """What `worst_mode` counts in and the first axis of `mode_percent_of_core` goes over."""
    bursts: tuple[Burst, ...]
    """Cores at 95 % or more; those not in user mode first, then the longest first."""
    notes: tuple[str, ...] = ()
    """What weakens the answer: damaged stretches."""
    events: tuple[EventAnswer, ...] = ()
    """What happened meanwhile and may matter: known kernel log lines, job failures, failed units,
    cores off and on, steps of the clock, gaps, changes of rate."""


def summary(answer: CoresAnswer, view: Viewpoint) -> list[str]:
    """What the map says, in words: the bursts that matter, next to the mean that hid them."""
    core_map = answer.map
    worst = row_worst(core_map)
    if not np.isfinite(worst).any() or worst.max() < 0:
        return ["No core was recorded in this window."]
    if not answer.bursts:
        row = int(worst.argmax())
        _, mode, start_ns = worst_cell(core_map, [row])
        node = percent(mean(core_map.node_mean_percent_of_machine))
        return [
            f"No core reached {FULL_PERCENT:.0f} % in any second. The busiest was core "
            f"{core_map.cores[row]} with {percent(float(worst[row]))} ({mode}) "
            f"{_when(core_map, start_ns, view)}; the node mean was {node}."
        ]
    sentences = [_sentence(burst, view) for burst in answer.bursts[:_BURSTS_SHOWN]]
    rest = answer.bursts[_BURSTS_SHOWN:]
    if rest:
        where = _which(sorted({burst.core for burst in rest}))
        sentences.append(f"And {count(len(rest), 'more burst')} on {where}; --json lists them.")
    return sentences


def _which(cores: Sequence[int]) -> str:
    if len(cores) > _CORES_NAMED:
        return f"{len(cores)} cores"
    return ("core " if len(cores) == 1 else "cores ") + ", ".join(map(str, cores))


def _when(core_map: CoreMap, start_ns: int, view: Viewpoint) -> str:
    """Of a column that is wider than a second, which second it was is not known."""
    if core_map.column_seconds <= 1:
        return f"at {view.show(start_ns)}"
    return f"within {duration(round(core_map.column_seconds * NS))} from {view.show(start_ns)}"


def _sentence(burst: Burst, view: Viewpoint) -> str:
    mean = percent(burst.node_mean_percent_of_machine)
    if burst.exact:
        length = duration(round((burst.window.end_ns - burst.window.start_ns) / NS) * NS)
        return (
            f"Core {burst.core} was ≥ {FULL_PERCENT:.0f} % busy ({burst.mode}) for {length} from "
            f"{view.show(burst.window.start_ns)} while the node mean was {mean}."
        )
    start, _, end = view.show_window(burst.window).partition(" – ")
    return (
        f"Core {burst.core} was ≥ {FULL_PERCENT:.0f} % busy ({burst.mode}) in some seconds between "
        f"{start} and {end} while the node mean was {mean}."
    )


def row_worst(core_map: CoreMap) -> F64:
    """Per core; −1 where nothing was recorded."""
    known = np.nan_to_num(core_map.worst_percent_of_core.astype(np.float64), nan=-1.0)
    worst: F64 = known.max(axis=1, initial=-1.0)
    return worst


def worst_cell(core_map: CoreMap, rows: Sequence[int]) -> tuple[float, str, int]:
    """Value, mode and start of the first worst column of these rows."""
    block = np.nan_to_num(core_map.worst_percent_of_core[list(rows)], nan=-1.0)
    row, column = np.unravel_index(int(block.argmax()), block.shape)
    mode = mode_name(int(core_map.worst_mode[list(rows)][row, column]))
    span_ns = core_map.window.end_ns - core_map.window.start_ns
    start_ns = core_map.window.start_ns + span_ns * int(column) // block.shape[1]
    return float(block[row, column]), mode, start_ns


def mode_name(mode: int) -> str:
    return MAP_MODES[mode] if 0 <= mode < len(MAP_MODES) else "unknown"


def mean(values: F32) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else math.nan
