"""Samples as the kernel gives them → threads and nodes of the tree of named stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exhume.derive.kernel_frames import kernel_mode
from exhume.model.arrays import I32, I64, U8, U16, U64, Bool
from exhume.model.sample import Threads
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.attr import CONTEXT_MAX, CONTEXT_USER
from exhume.perf.history import History
from exhume.perf.symbolize import Symbolizer
from exhume.perf.tree import TreeBuilder

GUEST_USER = (1 << 64) - 2560
_IDLE_NAME = "swapper"


@dataclass(frozen=True, slots=True)
class RawSamples:
    """A chunk of samples with one dictionary of stacks."""

    time: I64
    core: U16
    pid: I32
    tid: I32
    stack: I64
    """Index of a stack; those without an entry (its frame was damaged) are UNKNOWN."""
    cgroup: I64
    """Number in the caller's table of cgroups, or UNKNOWN."""
    words: U64
    """All stacks' words, leaf first, with perf's context markers."""
    word_start: I64
    word_count: I64


@dataclass(frozen=True, slots=True)
class MappedCode:
    """Where to look for the names of a mapped file's code."""

    key: str
    path: str


class Namer:
    """Holds what grows over a segment: frames, tree and threads."""

    def __init__(
        self, history: History, symbolizer: Symbolizer, files: Mapping[int, MappedCode]
    ) -> None:
        self._history = history
        self._symbols = symbolizer
        self._files = files
        self._tree = TreeBuilder()
        self._threads: dict[tuple[int, int, int, int], int] = {}
        self._parents: list[int] = []
        self._ends: list[I64] = []
        self._modes: list[U8] = []

    def name(self, raw: RawSamples) -> tuple[I64, I64]:
        """For each sample its thread and the node its stack ends at (numbers until `finish`)."""
        comm = self._history.name(raw.tid, raw.time)
        comm = np.where(
            comm == UNKNOWN, -2 - raw.pid.astype(np.int64), comm
        )  # nameless: by its pid
        cgroup = np.where(
            raw.cgroup == UNKNOWN, self._history.cgroup(raw.pid, raw.time), raw.cgroup
        )
        threads = self._thread_numbers(raw, comm, cgroup)
        return threads, self._stack_nodes(raw, comm)

    def _thread_numbers(self, raw: RawSamples, comm: I64, cgroup: I64) -> I64:
        first, inverse = unique_rows(
            raw.pid.astype(np.int64), raw.tid.astype(np.int64), comm, cgroup
        )
        parents = self._history.parent_pid(raw.pid[first], raw.time[first])
        keys = zip(
            *(column[first].tolist() for column in (raw.pid, raw.tid, comm, cgroup)), strict=True
        )
        numbers = np.empty(len(first), np.int64)
        for index, (key, parent) in enumerate(zip(keys, parents.tolist(), strict=True)):
            number = self._threads.setdefault(key, len(self._threads))
            if number == len(self._parents):
                self._parents.append(parent)
            numbers[index] = number
        return numbers[inverse]

    def comm_text(self, comm: int) -> str:
        if comm >= 0:
            return self._history.names[comm]
        pid = -2 - comm
        return _IDLE_NAME if pid == 0 else f":{pid}"

    def _stack_nodes(self, raw: RawSamples, comm: I64) -> I64:
        """Each distinct (process name, address space, stack) is named once."""
        has_user = _has_user_words(raw) if len(raw.word_start) else np.zeros(1, np.bool_)
        space = self._history.space(raw.pid, raw.time)
        known = raw.stack != UNKNOWN
        space[~known | ~has_user[np.maximum(raw.stack, 0)]] = UNKNOWN
        first, inverse = unique_rows(comm, space, raw.stack)
        frames, starts, lengths, modes = self._paths(
            raw, comm[first], space[first], raw.stack[first]
        )
        ends = self._tree.add(frames, starts, lengths)
        self._ends.append(ends)
        self._modes.append(modes)
        return ends[inverse]

    def _paths(
        self, raw: RawSamples, comm: I64, space: I64, stack: I64
    ) -> tuple[I64, I64, I64, U8]:
        """The frames of each stack, root first: flat, with starts, lengths and modes."""
        count, start = np.zeros(len(stack), np.int64), np.zeros(len(stack), np.int64)
        known = stack != UNKNOWN
        count[known], start[known] = raw.word_count[stack[known]], raw.word_start[stack[known]]
        owner = np.repeat(np.arange(len(stack)), count)
        # Backwards through each stack: from its outermost word to its leaf.
        word = raw.words[np.repeat(start + np.cumsum(count) - 1, count) - np.arange(len(owner))]
        is_marker, is_user, is_exact = _contexts(word, owner)
        address = word - np.where(is_exact, np.uint64(0), np.uint64(1))
        keep = ~is_marker
        owner, address, is_user = owner[keep], address[keep], is_user[keep]
        frame = np.full(len(address), self._symbols.unknown, np.int64)
        frame[~is_user] = self._symbols.kernel(address[~is_user])
        frame[is_user] = self._user_frames(space[owner[is_user]], address[is_user])
        # A run of addresses that lie in no mapping (no frame pointers there) says nothing: fold it.
        is_garbage = (frame == self._symbols.unknown) | (frame == self._symbols.unknown_kernel)
        repeated = np.zeros(len(frame), np.bool_)
        repeated[1:] = is_garbage[1:] & (frame[1:] == frame[:-1]) & (owner[1:] == owner[:-1])
        owner, frame, is_user = owner[~repeated], frame[~repeated], is_user[~repeated]
        lengths = np.bincount(owner, minlength=len(stack))
        modes = self._stack_modes(owner, frame, is_user, lengths)
        # The process name goes on top of each; a stack of which nothing is left is said to be so.
        total = np.maximum(lengths, 1) + 1
        starts = np.cumsum(total) - total
        flat = np.full(int(total.sum()), self._symbols.lost_stack, np.int64)
        flat[starts] = self._process_frames(comm)
        inner = np.ones(len(flat), np.bool_)
        inner[starts] = False
        inner[starts[lengths == 0] + 1] = False
        flat[inner] = frame
        return flat, starts, total, modes

    def _process_frames(self, comm: I64) -> I64:
        unique, inverse = np.unique(comm, return_inverse=True)
        numbers = self._symbols.frames.numbers(
            Frame(self.comm_text(c), "", FrameKind.PROCESS) for c in unique.tolist()
        )
        return numbers[inverse]

    def _user_frames(self, space: I64, address: U64) -> I64:
        frame = np.full(len(address), self._symbols.unknown, np.int64)
        file, offset = self._history.mapping(space, address)
        for hash_ in np.unique(file).tolist():
            code = self._files.get(hash_)
            if code is None:
                continue
            rows = np.flatnonzero(file == hash_)
            if code.key:
                frame[rows] = self._symbols.user(code.key, code.path, offset[rows])
                continue
            # Code without a file (a JIT's): its map is the process's own, by absolute address.
            for one in np.unique(space[rows]).tolist():
                some = rows[space[rows] == one]
                pid = self._history.space_pid.get(one, UNKNOWN)
                frame[some] = self._symbols.user(f"jit-{pid}", code.path or "[anon]", address[some])
        return frame

    def _stack_modes(self, owner: I64, frame: I64, is_user: Bool, lengths: I64) -> U8:
        """User where the leaf is user code; else what the innermost telling kernel frame says."""
        frames = self._symbols.frames.frames
        unique, inverse = np.unique(frame, return_inverse=True)
        said = np.array(
            [-1 if (m := kernel_mode(frames[f])) is None else int(m) for f in unique.tolist()],
            np.int64,
        )
        telling = said[inverse] if len(unique) else np.empty(0, np.int64)
        place = np.where(telling >= 0, np.arange(len(frame)), -1)
        innermost = np.full(len(lengths), -1, np.int64)
        np.maximum.at(innermost, owner, place)
        modes = np.where(
            innermost >= 0, telling[np.maximum(innermost, 0)] if len(telling) else 0, Mode.SYSTEM
        )
        last = np.cumsum(lengths) - 1
        ends_in_user = np.zeros(len(lengths), np.bool_)
        some = lengths > 0
        ends_in_user[some] = is_user[last[some]]
        return np.where(ends_in_user, Mode.USER, modes).astype(np.uint8)

    def finish(self) -> tuple[StackTree, I64, Threads, I64]:
        """The tree, each node's new number, the threads, and each thread's cgroup number."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._modes])
        tree, renumbered = self._tree.finish(self._symbols.frames.frames, ends, modes)
        keys = list(self._threads)
        threads = Threads(
            pid=np.array([key[0] for key in keys], np.int32),
            tid=np.array([key[1] for key in keys], np.int32),
            parent_pid=np.array(self._parents, np.int32),
            comm=tuple(self.comm_text(key[2]) for key in keys),
            cgroup=(),
        )
        return tree, renumbered, threads, np.array([key[3] for key in keys], np.int64)


def _has_user_words(raw: RawSamples) -> Bool:
    """Which stacks may hold user code, whose names depend on the process."""
    user = np.flatnonzero(raw.words < np.uint64(1 << 63))
    has = np.zeros(len(raw.word_start), np.bool_)
    # Stacks without words (their frame was damaged) begin nowhere.
    there = np.flatnonzero(raw.word_count)
    if len(user) and len(there):
        order = there[np.argsort(raw.word_start[there])]
        has[order[np.searchsorted(raw.word_start[order], user, "right") - 1]] = True
    return has


def _contexts(word: U64, owner: I64) -> tuple[Bool, Bool, Bool]:
    """Which words are markers, which addresses are user code, and which are exact.

    The words run from the outermost to the leaf, so an address's marker is the next one after it.
    An address right before its marker (or the leaf, without any) is where the code was; the others
    are return addresses, which may lie behind the end of the function that called.
    """
    is_marker = word >= np.uint64(CONTEXT_MAX)
    index = np.arange(len(word))
    following = np.minimum.accumulate(np.where(is_marker, index, len(word))[::-1])[::-1]
    at = np.minimum(following, max(len(word) - 1, 0))
    same = (following < len(word)) & (owner[at] == owner) if len(word) else np.empty(0, np.bool_)
    marker = np.where(same, word[at], np.uint64(0))
    is_user = (marker == np.uint64(CONTEXT_USER)) | (marker == np.uint64(GUEST_USER))
    # No marker at all (some imported chains): the upper half of addresses is the kernel's.
    is_user |= (marker == 0) & (word < np.uint64(1 << 63))
    is_leaf = np.ones(len(word), np.bool_)
    is_leaf[:-1] = owner[1:] != owner[:-1]
    is_exact = np.where(same, following == index + 1, is_leaf)
    return is_marker, is_user, is_exact


def unique_rows(*columns: I64) -> tuple[I64, I64]:
    """Of each distinct row its first index, and for each row which distinct one it is."""
    key = np.zeros(len(columns[0]), np.int64)
    room = 1
    for column in columns:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        room *= width
        if room >= 1 << 62:  # does not fit one number: number the rows so far anew
            _, key = np.unique(key, return_inverse=True)
            room = (int(key.max(initial=0)) + 1) * width
        key = key * width + (column - low)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
