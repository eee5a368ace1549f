"""Copies of programs' stacks → call chains: what `perf record --call-graph dwarf` has of them.

A sample has the registers, and the memory above the stack pointer. Each step finds by the code's
own tables (symbols/cfi.py) where the caller's registers were saved there. All samples go a step at
a time, together: what is looked up for one place of code holds for all that are there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64, U8, U64, Bool
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import Mapping
from exhume.perf.joins import Rows
from exhume.perf.symbols.cfi import Cfi
from exhume.perf.symbols.cfi_rules import NO_RULE, Base, Rule
from exhume.perf.symbols.table import NOWHERE, vaddrs_of

MAX_FRAMES = 127
"""As perf: kernel.perf_event_max_stack."""
_WORD = 8
_COLUMNS = 6
BY_FRAME_POINTER = Rule(Base.FRAME_POINTER, 16, -8, -16)
"""Where there is no table, as of code that a JIT made: a guess, which holds if it leads to code."""


class Dumps(Struct, frozen=True):
    """Of each sample: registers, and where in `memory` its stack is, from the stack pointer up."""

    space: I64
    """Address space."""
    ip: U64
    stack_pointer: U64
    frame_pointer: U64
    start: I64
    size: I64
    memory: U8

    def __len__(self) -> int:
        return len(self.ip)


class Chains(Struct, frozen=True):
    """Chain i is addresses[start[i] : start[i] + count[i]], innermost first."""

    addresses: U64
    start: I64
    count: I64
    is_whole: Bool
    """Its outermost function has no caller, by its own table."""


class Unwinder:
    """Holds what was looked up, for as long as a capture is read."""

    def __init__(self, cfi: Callable[[int], Cfi | None]) -> None:
        """`cfi`: of a mapped file, by its hash."""
        self._cfi = cfi
        self._places = Rows(2)
        """(file, offset in it) looked up so far, and their rules."""
        self._rules: I64 = np.empty((1 << 10, _COLUMNS), np.int64)
        """Some room ahead: there are new ones at every step."""

    def chains(self, dumps: Dumps, mapping: Mapping) -> Chains:
        count = np.zeros(len(dumps), np.int64)
        is_whole = np.zeros(len(dumps), np.bool_)
        active, is_guess = np.arange(len(dumps)), np.zeros(len(dumps), np.bool_)
        pc, sp, fp = dumps.ip, dumps.stack_pointer, dumps.frame_pointer
        steps: list[tuple[I64, U64]] = []
        while len(active) and len(steps) < MAX_FRAMES:
            # A call may be the last of its function: its return address is the next one's then.
            code = pc - np.uint64(1 if steps else 0)
            file, offset = mapping(dumps.space[active], code)
            good = np.flatnonzero(~is_guess | (file != 0))
            active, pc, sp, fp = active[good], pc[good], sp[good], fp[good]
            steps.append((active, pc))
            count[active] += 1
            columns = self._looked_up(file[good], offset[good])
            base, cfa, returns, frame, is_guess, is_last = columns.T
            is_whole[active[is_last == 1]] = True
            with np.errstate(over="ignore"):
                caller = np.where(base == Base.FRAME_POINTER, fp, sp) + cfa.view(np.uint64)
                back, was_read = _loaded(dumps, active, caller + returns.view(np.uint64))
                saved, was_saved = _loaded(dumps, active, caller + frame.view(np.uint64))
            known = (base != Base.NOTHING) & was_read & (caller > sp) & (back != 0)
            fp = np.where((frame != 0) & was_saved, saved, fp)[known]
            pc, sp, active = back[known], caller[known], active[known]
            is_guess = is_guess[known] == 1
        return _by_sample(steps, count, is_whole)

    def _looked_up(self, file: U64, offset: U64) -> I64:
        """Of each place the columns of its rule."""
        found = np.tile(np.array(_columns(NO_RULE), np.int64), (len(file), 1))
        mapped = np.flatnonzero(file)
        before = len(self._places)
        numbers = self._places.add(file[mapped].view(np.int64), offset[mapped].view(np.int64))
        self._look_up(before)
        found[mapped] = self._rules[numbers]
        return found

    def _look_up(self, before: int) -> None:
        """The rules of places from that number on."""
        files = self._places.column(0, before)
        offsets = self._places.column(1, before).view(np.uint64)
        if len(self._places) > len(self._rules):
            room = np.empty((2 * len(self._places), _COLUMNS), np.int64)
            room[:before] = self._rules[:before]
            self._rules = room
        first, which = distinct_rows(files)
        for number, hash_ in enumerate(files[first].view(np.uint64).tolist()):
            rows = np.flatnonzero(which == number)
            rules = _rules(self._cfi(hash_), offsets[rows])
            self._rules[before + rows] = np.array([_columns(rule) for rule in rules], np.int64)


def _rules(cfi: Cfi | None, offsets: U64) -> list[Rule]:
    """Of one file's offsets; one for all of them where it has no tables."""
    if cfi is None:
        return [BY_FRAME_POINTER]
    vaddrs = vaddrs_of(cfi.load_segments, offsets).tolist()
    found = [NO_RULE if vaddr == int(NOWHERE) else cfi.rule(vaddr) for vaddr in vaddrs]
    return [BY_FRAME_POINTER if rule is NO_RULE else rule for rule in found]


def _columns(rule: Rule) -> tuple[int, ...]:
    is_guess = rule is BY_FRAME_POINTER
    return (
        rule.base, rule.cfa, rule.return_address, rule.frame_pointer, is_guess, rule.is_outermost,
    )  # fmt: skip


def _loaded(dumps: Dumps, rows: I64, address: U64) -> tuple[U64, Bool]:
    """The words at addresses of samples' stacks, and which of them are there."""
    at = (address - dumps.stack_pointer[rows]).view(np.int64)
    inside = (at >= 0) & (at <= dumps.size[rows] - _WORD)
    where = np.where(inside, dumps.start[rows] + at, 0)
    if len(dumps.memory) < _WORD:
        return np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)
    found = dumps.memory[where[:, None] + np.arange(_WORD)]
    return np.ascontiguousarray(found).view("<u8").reshape(-1).astype(np.uint64), inside


def _by_sample(steps: list[tuple[I64, U64]], count: I64, is_whole: Bool) -> Chains:
    start = np.cumsum(count) - count
    addresses = np.empty(int(count.sum()), np.uint64)
    for depth, (rows, pc) in enumerate(steps):
        addresses[start[rows] + depth] = pc
    return Chains(addresses, start, count, is_whole)
