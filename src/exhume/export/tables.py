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
    iso, epoch = _iso(start), _epoch(start)
    seconds = f"{answer.column_seconds:.6g}"
    for column in range(columns):
        rows = []
        for row, core in enumerate(answer.cores):
            mode = int(answer.worst_mode[row, column])
            rows.append(
                [
                    iso[column],
                    epoch[column],
                    seconds,
                    str(core),
                    _percent(answer.worst_percent_of_core[row, column]),
                    MAP_MODES[mode] if mode >= 0 else "",
                    _percent(answer.mean_percent_of_core[row, column]),
                    *map(_percent, answer.mode_percent_of_core[:, row, column]),
                ]
            )
        yield _rows(rows, line_end)


def _rows(rows: Sequence[Sequence[str]], line_end: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator=line_end).writerows(rows)
    return out.getvalue()


def _iso(wall_ns: I64) -> list[str]:
    times = np.datetime_as_string(wall_ns.astype("datetime64[ns]"), unit="ms")
    return [f"{time}Z" for time in times.tolist()]


def _epoch(wall_ns: I64) -> list[str]:
    return [f"{ns // 1_000_000_000}.{ns // 1_000_000 % 1000:03d}" for ns in wall_ns.tolist()]


def _percent(value: F32 | np.float32) -> str:
    return "" if np.isnan(value) else f"{value:.1f}"


def _text(name: str) -> str:
    shown = printable(name)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
