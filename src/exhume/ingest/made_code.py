"""Samples in code that a program made while it ran, and that nothing names; and in none at all."""

from __future__ import annotations

import numpy as np

from exhume.ingest.row_table import RowTable
from exhume.model.stack import Frame, StackTree
from exhume.perf.symbolize import LOST_STACK_FRAME, NO_FILE_FRAME

_ALL_TIMES = 0, (1 << 63) - 1
_WORTH_A_WORD_RATIO = 0.05


def ends_in_made_code(rows: RowTable, tree: StackTree) -> int:
    """How many of the samples."""
    return _ends_in(NO_FILE_FRAME, rows, tree)


def _ends_in(leaf: Frame, rows: RowTable, tree: StackTree) -> int:
    """Most captures have none, and then nothing is read again."""
    is_leaf = np.array([frame == leaf for frame in tree.frames], np.bool_)[tree.frame]
    if not is_leaf.any():
        return 0
    return sum(int(is_leaf[part.node].sum()) for part in rows.between(*_ALL_TIMES))


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


def note_without_code(rows: RowTable, tree: StackTree) -> str:
    """Of text of perf script: `-F` without ip and sym, or tracepoints without call chains."""
    count = _ends_in(LOST_STACK_FRAME, rows, tree)
    if not len(rows) or count < _WORTH_A_WORD_RATIO * len(rows):
        return ""
    return (
        f"{count / len(rows):.0%} of its samples do not say in which function they were, shown as "
        f"{LOST_STACK_FRAME.name}: `perf record -g` and `perf script -F +ip,+sym,+dso` tell it"
    )
