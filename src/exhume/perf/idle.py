"""Which samples the idle loop itself made, by the kernel's names. Interrupt work on top is none.

The recorder drops them by the loop's addresses. It knows those only once the kernel's symbols are
read: what came before is told apart here.
"""

from __future__ import annotations

import numpy as np

from exhume.derive.kernel_frames import is_idle_loop
from exhume.model.arrays import I32, U64, Bool
from exhume.perf.asof import UNKNOWN
from exhume.perf.attr import CONTEXT_MAX
from exhume.perf.naming import RawSamples
from exhume.perf.symbols.table import SymbolTable


def idle_samples(table: SymbolTable | None, leaf: U64, pid: I32) -> Bool:
    """`leaf`: where each sample's core was."""
    found = np.zeros(len(leaf), np.bool_)
    rows = np.flatnonzero(pid == 0)
    if table is None or not len(rows):
        return found
    addresses, which = np.unique(leaf[rows], return_inverse=True)
    symbols = table.lookup(addresses)
    names = [table.name(one) if one >= 0 else "" for one in symbols.tolist()]
    found[rows] = np.array([is_idle_loop(name) for name in names], np.bool_)[which]
    return found


def idle_rows(table: SymbolTable | None, raw: RawSamples) -> Bool:
    """The same by stacks: the leaf is the first word, or behind the mark of whose code it is."""
    leaf = np.zeros(len(raw.pid), np.uint64)
    rows = np.flatnonzero((raw.pid == 0) & (raw.stack != UNKNOWN))
    if len(rows):
        words = raw.words[0] if len(raw.words) == 1 else np.concatenate(raw.words)
        begin = raw.word_start[raw.stack[rows]]
        end = begin + raw.word_count[raw.stack[rows]]
        marked = words[begin] >= np.uint64(CONTEXT_MAX)
        at = begin + marked
        there = at < end
        leaf[rows[there]] = words[at[there]]
    return idle_samples(table, leaf, raw.pid)
