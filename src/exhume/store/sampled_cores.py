"""Core times counted from samples, for what was recorded without them: a perf capture by itself.

They see what the profiler saw: stolen and waiting time are no samples, and read as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from exhume.model.arrays import I64, U32
from exhume.model.core import NO_CORE
from exhume.model.modes import MAP_MODES
from exhume.model.sample import Samples, Stretch
from exhume.model.stack import Mode, StackTree
from exhume.perf.eventnames import is_time_like
from exhume.store import sums
from exhume.store.rollups import I16, SECOND_NS, CoreSeconds, period_ns
from exhume.store.view import SegmentView

SPARSE_NS = 100_000_000
"""From one sample to the next; further apart they say less of an instant than counters do."""
MODES = tuple(MAP_MODES.index(mode.name.lower()) for mode in Mode)
"""Which of MAP_MODES a sample's mode is."""
_LEAST_NS = 1_000_000
"""Times of the roll-up are written in steps of this."""
_NOTHING = np.empty(0, np.int64)


def has_core_times(fields: Iterable[str]) -> bool:
    """Times that the kernel counted are better than any samples."""
    return any(field.startswith("cpu.") for field in fields)


def tells_time(stretch: Stretch) -> bool:
    """Page faults and context switches come when they like: they are no time on a core."""
    return 0 < period_ns(stretch) <= SPARSE_NS and is_time_like(stretch.event)


def sampled_cores(view: SegmentView) -> tuple[int, ...]:
    """Cores that samples are known to be of, or were watched and idled; a segment's meta data
    tells."""
    watched = {core for stretch in view.stretches for core in stretch.cores}
    return tuple(sorted({*view.samples().cores, *watched} - {NO_CORE}))


class SampledRollUp:
    """Stretches that were sampled are cut into seconds; the last of each takes what is left."""

    def __init__(
        self, start_ns: int, end_ns: int, stretches: Sequence[Stretch], tree: StackTree
    ) -> None:
        edges = [max(start_ns, stretch.start_ns) for stretch in stretches] + [end_ns]
        cuts, periods = [_NOTHING], [_NOTHING]
        self._watched: list[tuple[int, tuple[int, ...]]] = []
        """Of each stretch: how many seconds it has, and the cores that were watched, if known."""
        for (begin, end), stretch in zip(pairwise(edges), stretches, strict=True):
            if end - begin >= _LEAST_NS and tells_time(stretch):
                cuts.append(_seconds(begin, end))
                periods.append(np.full(len(cuts[-1]) - 1, period_ns(stretch), np.int64))
                self._watched.append((len(cuts[-1]) - 1, stretch.cores))
        self._start_ns = np.concatenate([cut[:-1] for cut in cuts])
        self._end_ns = np.concatenate([cut[1:] for cut in cuts])
        self._period_ns = np.concatenate(periods)
        self._edge_ns = np.stack([self._start_ns, self._end_ns], axis=1).ravel()
        # Before, in and behind each second; what lies in none is counted as one more.
        nowhere = len(self._start_ns)
        places = [place for second in range(nowhere) for place in (nowhere, second)]
        self._cell = np.array([*places, nowhere], np.int64) * len(Mode)
        self._mode = np.ascontiguousarray(tree.mode, np.uint8)
        self._counts: dict[int, U32] = {}
        """By core: samples by second and mode."""

    def add(self, piece: Samples) -> None:
        if not len(self._start_ns) or not len(piece):
            return
        held = sums.Piece(piece)
        shape = len(self._start_ns) + 1, len(Mode)
        borders = np.flatnonzero(np.diff(piece.core)) + 1
        for rows in pairwise([0, *borders.tolist(), len(piece)]):
            core = int(piece.core[rows[0]])
            if core != NO_CORE:
                counts = self._counts.setdefault(core, np.zeros(shape, np.uint32))
                sums.add_places(held, rows, self._edge_ns, self._cell, self._mode, counts)

    def result(self) -> CoreSeconds | None:
        """None where no core was sampled often enough."""
        watched = {core for _, own in self._watched for core in own}
        cores = sorted(watched | self._counts.keys())
        if not cores:
            return None
        length_ns = self._end_ns - self._start_ns
        permille = np.zeros((len(MAP_MODES), len(length_ns), len(cores)), np.int16)
        for column, core in enumerate(cores):
            if core not in self._counts:
                continue  # it idled
            share = self._counts[core][:-1].T * (self._period_ns * 1000 / length_ns)
            # Timers are not exact: a core can't do more than it has.
            share /= np.maximum(1, share.sum(axis=0) / 1000)
            permille[list(MODES), :, column] = np.rint(share)
        self._mark_unwatched(permille, cores)
        return CoreSeconds(
            tuple(cores),
            self._start_ns,
            self._end_ns,
            permille.transpose(0, 2, 1),
            np.zeros((len(cores), len(length_ns)), np.uint16),
        )

    def _mark_unwatched(self, permille: I16, cores: Sequence[int]) -> None:
        """Where other cores were watched, nothing is known of these: they need not have idled."""
        end = 0
        for length, own in self._watched:
            begin, end = end, end + length
            if own:
                others = [n for n, core in enumerate(cores) if core not in set(own)]
                cells = permille[:, begin:end, others]
                # A capture of a process beside it may have some samples there.
                permille[:, begin:end, others] = np.where(cells.any(axis=0), cells, np.int16(-1))


def _seconds(begin_ns: int, end_ns: int) -> I64:
    whole = max(1, round((end_ns - begin_ns) / SECOND_NS))
    edges = begin_ns + np.arange(whole + 1, dtype=np.int64) * SECOND_NS
    edges[-1] = end_ns
    return edges
