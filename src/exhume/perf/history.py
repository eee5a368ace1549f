"""Who was who when: names, address spaces and cgroups of threads over a stretch of time.

Grown from the side band one chunk at a time, and cut back to what is still alive after each, so
that its size follows the machine and not the length of the recording.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from exhume.derive.sets import distinct, is_in
from exhume.model.arrays import I32, I64, U8, U64
from exhume.perf.asof import NOTHING_SAID, UNKNOWN, Statement, last_before, with_inheritance
from exhume.perf.bounds import MORE_NAMES, MOST_ALIVE, MOST_MAPPINGS, MOST_NAMES
from exhume.perf.maps import Maps
from exhume.perf.records import Comms, Forks, Mappings, concat

Mapping = Callable[[I64, U64], tuple[U64, U64]]
"""Address space and address → the mapped file (its hash, 0 for none) and the offset in it."""
EXEC_NS = 1_000_000_000
"""So long exec may go on after it gave the process its new name and address space."""
BEFORE_ALL = np.iinfo(np.int64).min
"""The time of what holds since before anything was seen."""


class SideBand(Struct, frozen=True):
    """What became known about processes in one chunk of time."""

    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings
    parent_pid: Statement
    """Of process ids."""
    cgroup: Statement
    """Of process ids; the values are numbers of the caller's own table."""
    scanned: Statement
    """Of process ids that a scan of /proc found: their mappings hold from then on (value unused).

    Said of BEFORE_ALL too, they also hold before it, as far as nothing else is known.
    """


class History:
    def __init__(self) -> None:
        self.names: list[str] = []
        """Thread names by number."""
        self._name_numbers: dict[bytes, int] = {}
        self._comm = NOTHING_SAID
        self._space = NOTHING_SAID
        self._cgroup = NOTHING_SAID
        self._parent = NOTHING_SAID
        self._maps = Maps()
        self._spaces = 0
        self._scanned: I64 = np.empty(0, np.int64)
        """Times of scans: what holds from then on may have begun long before."""
        self.spaces: I64 = np.empty(0, np.int64)
        """Address spaces, in order, and the processes that made them."""
        self._makers: I64 = np.empty(0, np.int64)
        self.has_too_many = False
        """Not all of what it was told is known."""

    def learn(self, side: SideBand) -> None:
        forks = side.forks
        tid, ptid = forks.tid.astype(np.int64), forks.parent_tid.astype(np.int64)
        is_process = forks.pid != forks.parent_pid
        born, pid, ppid = (
            forks.time[is_process],
            forks.pid[is_process].astype(np.int64),
            forks.parent_pid[is_process].astype(np.int64),
        )
        comms = side.comms
        named = Statement(comms.time, comms.tid.astype(np.int64), self._numbers(comms.comm))
        self._comm = with_inheritance(
            concat([self._comm, named], NOTHING_SAID), forks.time, tid, ptid
        )
        self._parent = concat(
            [self._parent, side.parent_pid, Statement(born, pid, ppid)], NOTHING_SAID
        )
        self._cgroup = with_inheritance(
            concat([self._cgroup, side.cgroup], NOTHING_SAID), born, pid, ppid
        )
        scanned_pids, of_scan = np.unique(side.scanned.key, return_inverse=True)
        started = Statement(
            np.concatenate([side.scanned.time, comms.time[comms.is_exec]]),
            np.concatenate([side.scanned.key, comms.pid[comms.is_exec].astype(np.int64)]),
            np.concatenate(
                [
                    self._new_spaces(len(scanned_pids))[of_scan],
                    self._new_spaces(int(comms.is_exec.sum())),
                ]
            ),
        )
        self._remember(started)
        self._scanned = distinct(np.concatenate([self._scanned, side.scanned.time]))
        self._space = with_inheritance(
            concat([self._space, started], NOTHING_SAID), born, pid, ppid
        )
        self._learn_mappings(side.mappings)

    def _learn_mappings(self, mappings: Mappings) -> None:
        pid = mappings.pid.astype(np.int64)
        space = self._space.at(pid, mappings.time)
        is_lost = space == UNKNOWN
        if is_lost.any():
            # Neither scan nor exec was seen, nor a fork of a known parent (records were lost): one
            # space for all that the process had since it began.
            began = self._began(pid[is_lost], mappings.time[is_lost])
            keys, times = np.unique(np.stack([pid[is_lost], began]), axis=1)
            orphans = Statement(times, keys, self._new_spaces(len(keys)))
            self._remember(orphans)
            self._space = concat([self._space, orphans], NOTHING_SAID)
            space = self._space.at(pid, mappings.time)
        self._maps.extend(space, mappings)
        if len(self._maps.space) > MOST_MAPPINGS:
            self._maps = self._maps.newest(MOST_MAPPINGS)
            self.has_too_many = True

    def _new_spaces(self, count: int) -> I64:
        self._spaces += count
        return np.arange(self._spaces - count, self._spaces)

    def _remember(self, started: Statement) -> None:
        order = np.argsort(started.value, kind="stable")  # of those before all are lower
        self.spaces = np.concatenate([self.spaces, started.value[order]])
        self._makers = np.concatenate([self._makers, started.key[order]])

    def _numbers(self, comm: U8) -> I64:
        unique, inverse = np.unique(
            np.ascontiguousarray(comm).view("V16").reshape(-1), return_inverse=True
        )
        numbers = np.empty(len(unique), np.int64)
        for index, name in enumerate(unique):
            text = name.tobytes().rstrip(b"\0")
            number = self._name_numbers.get(text)
            if number is None and len(self.names) >= MOST_NAMES:
                self.has_too_many = True
                text = MORE_NAMES.encode()
                number = self._name_numbers.get(text)
            if number is None:
                number = self._name_numbers[text] = len(self.names)
                self.names.append(text.decode("utf-8", "replace"))
            numbers[index] = number
        return numbers[inverse]

    def name(self, tid: I32, time: I64) -> I64:
        return self._comm.at(tid.astype(np.int64), time)

    def space(self, pid: I32, time: I64) -> I64:
        return self._space.at(pid.astype(np.int64), time)

    def spaces_before(self, pid: I32, time: I64) -> tuple[I64, I64]:
        """The address space of each, and which one its process left for it shortly before; UNKNOWN
        where there is none."""
        said = self._space
        if not len(said.time):
            unknown = np.full(len(pid), UNKNOWN, np.int64)
            return unknown, unknown
        row = last_before(said.key, said.time, pid.astype(np.int64), time)
        at = np.maximum(row, 0)
        left = said.at(said.key, np.maximum(said.time, BEFORE_ALL + 1) - 1)
        is_fresh = (row >= 0) & (said.time[at] > time - EXEC_NS)
        return np.where(row >= 0, said.value[at], UNKNOWN), np.where(is_fresh, left[at], UNKNOWN)

    def since(self, pid: I32, time: I64) -> I64:
        """When the process forked off or started a program; UNKNOWN where before us."""
        began = self._began(pid.astype(np.int64), time)
        was_seen = (began != BEFORE_ALL) & ~is_in(began, self._scanned)
        return np.where(was_seen, began, UNKNOWN)

    def _began(self, pid: I64, time: I64) -> I64:
        """When the process got the address space it had at that time; BEFORE_ALL if before us."""
        row = last_before(self._space.key, self._space.time, pid, time)
        if not len(self._space.time):
            return np.full(len(row), BEFORE_ALL, np.int64)
        return np.where(row >= 0, self._space.time[np.maximum(row, 0)], BEFORE_ALL)

    def maker(self, space: int) -> int:
        """The process that made an address space."""
        row = int(np.searchsorted(self.spaces, space))
        is_known = row < len(self.spaces) and self.spaces[row] == space
        return int(self._makers[row]) if is_known else UNKNOWN

    def cgroup(self, pid: I32, time: I64) -> I64:
        return self._cgroup.at(pid.astype(np.int64), time)

    def parent_pid(self, pid: I32, time: I64) -> I64:
        return self._parent.at(pid.astype(np.int64), time)

    @property
    def maps(self) -> Maps:
        """As they are now."""
        return self._maps

    def mapping_in(self, spaces: I64) -> Mapping:
        """`mapping` as it is now, of these alone: for who asks again and again."""
        return self._maps.of(distinct(spaces)).with_remains().at

    def forget_dead(self, exits: Forks) -> None:
        """Keep the last word on each thread and process that is still there."""
        dead_tids = exits.tid.astype(np.int64)
        dead_pids = exits.pid[exits.pid == exits.tid].astype(np.int64)
        last_exit = exits.time[exits.pid == exits.tid]
        self._comm = _latest(self._comm, dead_tids, exits.time)
        spaces, self._space = self._space, _latest(self._space, dead_pids, last_exit)
        self._cgroup = _latest(self._cgroup, dead_pids, last_exit)
        self._parent = _latest(self._parent, dead_pids, last_exit)
        self.has_too_many |= max(len(self._comm.key), len(self._space.key)) >= MOST_ALIVE
        self._space = concat([_left_lately(spaces, self._space), self._space], NOTHING_SAID)
        alive = distinct(self._space.value)
        self._maps = self._maps.of(alive)
        living = is_in(self.spaces, alive)
        self.spaces, self._makers = self.spaces[living], self._makers[living]


def _latest(said: Statement, dead: I64, died: I64) -> Statement:
    """The newest statement of each key, unless the key's death came after it."""
    order = np.lexsort((said.time, said.key))
    key = said.key[order]
    is_last = np.ones(len(key), np.bool_)
    is_last[:-1] = key[1:] != key[:-1]
    rows = order[is_last]
    death = Statement(died, dead, died).at(
        said.key[rows], np.full(len(rows), np.iinfo(np.int64).max)
    )
    rows = rows[(death == UNKNOWN) | (death < said.time[rows])]
    if len(rows) > MOST_ALIVE:
        newest = np.argpartition(said.time[rows], -MOST_ALIVE)[-MOST_ALIVE:]
        rows = rows[np.sort(newest)]
    return Statement(said.time[rows], said.key[rows], said.value[rows])


def _left_lately(said: Statement, latest: Statement) -> Statement:
    """What was said before the latest word on a key: an exec that goes on needs it."""
    now = int(latest.time.max(initial=BEFORE_ALL + EXEC_NS))
    fresh = np.flatnonzero(latest.time > now - EXEC_NS)
    row = last_before(said.key, said.time, latest.key[fresh], latest.time[fresh] - 1)
    rows = row[row >= 0]
    return Statement(said.time[rows], said.key[rows], said.value[rows])
