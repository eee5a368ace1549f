"""Samples in code that a program made while it ran, and that nothing names."""

from __future__ import annotations

import numpy as np

from exhume.ingest.row_table import RowTable
from exhume.model.stack import StackTree
from exhume.perf.symbolize import NO_FILE_FRAME

_ALL_TIMES = 0, (1 << 63) - 1
_WORTH_A_WORD_RATIO = 0.05


def ends_in_made_code(rows: RowTable, tree: StackTree) -> int:
    """How many of the samples. Most captures have none, and then nothing is read again."""
    is_made = np.array([frame == NO_FILE_FRAME for frame in tree.frames], np.bool_)[tree.frame]
    if not is_made.any():
        return 0
    return sum(int(is_made[part.node].sum()) for part in rows.between(*_ALL_TIMES))


def note(count: int, of: int, *, is_text: bool = False) -> str:
    """`count` of so many samples; empty where they are too few to matter.

    `is_text`: of text that perf script has written, which has the names that it found.
    """
    if not of or count < _WORTH_A_WORD_RATIO * of:
        return ""
    where = "in /tmp when `perf script` runs" if is_text else "among the inputs"
    return (
        f"{count / of:.0%} of its samples are in code that a JIT made, shown as "
        f"{NO_FILE_FRAME.name}: with the process's perf-PID.map {where} it has names "
        "(node --perf-basic-prof, java -XX:+DumpPerfMapAtExit or perf-map-agent)"
    )
