"""CSV as RFC 4180 has it: a field over time, and core × time. NaN, not recorded, is an empty cell.

Each row has its time twice: ISO 8601 in UTC for people, seconds since 1970 for programs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from exhume.derive.printable import printable
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.arrays import F32, I64
from exhume.model.evidence import SeriesReport

CRLF = "\r\n"
_FORMULA = ("=", "+", "-", "@")
"""What a spreadsheet takes for the beginning of a formula, also in a name from the machine."""


def series(report: SeriesReport, *, line_end: str = CRLF) -> Iterator[str]:
    """`value` is in the unit that the header names."""
    yield _rows([["time", "epoch_seconds", "instance", "value"]], line_end)
    for one in report.series:
        name = _text(one.instance)
        values = ["" if np.isnan(value) else f"{value:.15g}" for value in one.values.tolist()]
        times = zip(_iso(one.wall_ns), _epoch(one.wall_ns), values, strict=True)
        yield _rows([[iso, epoch, name, value] for iso, epoch, value in times], line_end)


def core_map(answer: CoreMap, *, line_end: str = CRLF) -> Iterator[str]:
    """A row a core and column of the map; percentages are of that core."""
    modes = [f"worst_{mode}_percent" for mode in MAP_MODES]
    head = ["time", "epoch_seconds", "seconds", "core", "worst_percent", "worst_mode"]
    yield _rows([[*head, "mean_percent", *modes]], line_end)
    columns = answer.mean_percent_of_core.shape[1]
    step_ns = (answer.window.end_ns - answer.window.start_ns) / max(1, columns)
    start = answer.window.start_ns + np.rint(np.arange(columns) * step_ns).astype(np.int64)
    heads = zip(_iso(start), _epoch(start), strict=True)
    percents = np.stack(
        [answer.worst_percent_of_core, answer.mean_percent_of_core, *answer.mode_percent_of_core]
    )
    texts, mode_names = _tenths(percents), [*MAP_MODES, ""]
    seconds = f"{answer.column_seconds:.6g}"
    # Millions of cells: a column at once, and nothing in it needs quotes.
    for column, (iso, epoch) in enumerate(heads):
        when = f"{iso},{epoch},{seconds}"
        found = np.rint(10 * np.nan_to_num(percents[:, :, column], nan=-0.1)).astype(np.int64)
        worst, mean, *by_mode = ([texts[tenth] for tenth in row] for row in found.tolist())
        named = [mode_names[mode] for mode in answer.worst_mode[:, column].tolist()]
        rows = zip(answer.cores, worst, named, mean, map(",".join, zip(*by_mode, strict=True)),
                   strict=True)  # fmt: skip
        yield "".join(f"{when},{c},{w},{n},{m},{each}{line_end}" for c, w, n, m, each in rows)


def _tenths(percents: F32) -> list[str]:
    """Each text that a cell may have, by tenths of a percent; the last one is of NaN."""
    most = float(np.nanmax(percents, initial=0.0)) if percents.size else 0.0
    return [*(f"{tenth / 10:.1f}" for tenth in range(round(10 * most) + 2)), ""]


def _rows(rows: Sequence[Sequence[str]], line_end: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator=line_end).writerows(rows)
    return out.getvalue()


def _iso(wall_ns: I64) -> list[str]:
    times = np.datetime_as_string(wall_ns.astype("datetime64[ns]"), unit="ms")
    return [f"{time}Z" for time in times.tolist()]


def _epoch(wall_ns: I64) -> list[str]:
    return [f"{ns // 1_000_000_000}.{ns // 1_000_000 % 1000:03d}" for ns in wall_ns.tolist()]


def _text(name: str) -> str:
    shown = printable(name)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
