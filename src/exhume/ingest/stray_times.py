"""Samples whose time is damaged: a lost digit or a flipped bit makes it hours or years off.

Who wrote them wrote in order of time, but for a little. A gap stays a gap, after which the times go
on from there; a damaged time is alone, and those before and after it are as if it were not there.
"""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64, Bool

_FAR_NS = 600 * 1_000_000_000
"""Nearer ones do no harm: they stretch a recording by less than a segment."""
_FURTHER = 100
"""So many times as far from either neighbour as these are from each other."""


def stray(time_ns: I64, writer: I64 | None = None) -> Bool:
    """Which of the samples, in the order of the file; the first and the last can't be told.

    `writer`: of each who wrote it, where several did, each in order of time (the buffers of cores).
    """
    found = np.zeros(len(time_ns), np.bool_)
    if len(time_ns) < 3 or int(time_ns.max()) - int(time_ns.min()) < _FAR_NS:
        return found
    order = np.arange(len(time_ns)) if writer is None else np.argsort(writer, kind="stable")
    at = time_ns[order].astype(np.float64)  # differences of any two numbers fit
    before, after = np.abs(np.diff(at))[:-1], np.abs(np.diff(at))[1:]
    apart = np.abs(at[2:] - at[:-2])
    nearest = np.minimum(before, after)
    is_stray = (nearest >= _FAR_NS) & (nearest >= _FURTHER * apart)
    if writer is not None:
        whose = writer[order]
        is_stray &= (whose[1:-1] == whose[:-2]) & (whose[1:-1] == whose[2:])
    found[order[1:-1][is_stray]] = True
    return found
