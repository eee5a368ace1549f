"""Windows and filters as a title says them."""

from __future__ import annotations

import numpy as np

from exhume.derive.printable import printable
from exhume.model.answers import Filter
from exhume.model.window import Window

_SECOND_NS = 1_000_000_000


def described(wanted: Filter) -> str:
    """`core 39, comm kubelet`; empty where nothing was filtered."""
    parts = []
    for name in Filter.__struct_fields__:
        values = getattr(wanted, name)
        if values:
            parts.append(f"{name.removesuffix('s')} {' or '.join(map(str, values))}")
    return printable(", ".join(parts))


def window_text(window: Window) -> str:
    """`2024-05-01 03:14:02 – 03:14:07 UTC`: in UTC, since the file may be read anywhere."""
    ends = np.array([window.start_ns, window.end_ns], "datetime64[ns]")
    is_whole = window.start_ns % _SECOND_NS == window.end_ns % _SECOND_NS == 0
    shown = np.datetime_as_string(ends, unit="s" if is_whole else "ms").tolist()
    start, end = (text.split("T") for text in shown)
    return f"{start[0]} {start[1]} – {' '.join(end[start[0] == end[0] :])} UTC"


def instant_text(wall_ns: int) -> str:
    """`2024-05-01 03:14:02 UTC`."""
    shown: str = np.datetime_as_string(np.datetime64(wall_ns, "ns"), unit="s")
    return f"{shown.replace('T', ' ')} UTC"
