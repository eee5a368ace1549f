"""/tmp/perf-PID.map: where a JIT compiler (V8, the JVM, .NET, CPython) put its functions.

    3ef414c0 398 LazyCompile:~fib /srv/app.js:12
    7f2e1c000000 1a0 Interpreter

Anybody may write to /tmp, so only a file of root's or of the process's own user counts.
"""

from __future__ import annotations

import heapq
import os
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.host import Host
from exhume.model.arrays import I64, U64, Bool
from exhume.perf.symbols.build import UNKNOWN_SIZE_BYTES, Symbols, build
from exhume.perf.symbols.files import OpenFile, open_in_root
from exhume.perf.symbols.table import SymbolTable

_LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16}) +(?:0x)?([0-9a-fA-F]{1,16}) +([^\n]*[^\s])", re.M)
_MAX_FILE_BYTES = 32 << 20
_MAX_ENTRIES = 500_000


class PerfMap(Struct, frozen=True):
    table: SymbolTable | None
    skipped_count: int
    """Lines that were no entries."""
    reason: str
    """Why there is no table; empty where there is one."""


def read(host: Host, pid: int) -> PerfMap | None:
    """The map of a process that runs now; None where it has none."""
    status = host.read_proc(f"{pid}/status")
    if status is None:
        return None
    inner_pid, uids = parse_status(status, pid)
    try:
        root = host.proc / str(pid) / "root"
        with open_in_root(root, f"/tmp/perf-{inner_pid}.map", follow=False) as file:
            if file.uid not in (0, *uids):
                reason = f"the perf map belongs to uid {file.uid}, the process doesn't"
                return PerfMap(None, 0, reason)
            return parse(_tail(file))
    except FileNotFoundError:
        return None
    except OSError as error:
        return PerfMap(None, 0, f"the perf map can't be read: {error.strerror}")


def read_left(root: Path, pid: int) -> PerfMap | None:
    """The map that a process left behind, below `root`; None where there is none.

    Whose process it was nobody can tell any more. As for perf, root's and our own maps count.
    """
    try:
        with open_in_root(root, f"/tmp/perf-{pid}.map", follow=False) as file:
            return parse(_tail(file)) if file.uid in (0, os.geteuid()) else None
    except OSError:
        return None


def parse(data: bytes) -> PerfMap:
    """Pure. Later entries override the earlier ones they overlap: the code was moved or freed."""
    columns = array("Q")
    for match in islice(_LINE.finditer(data), _MAX_ENTRIES):
        address, length = int(match[1], 16), int(match[2], 16)
        if address + length < 1 << 64:
            columns.extend((address, length, *match.span(3)))
    # Latest first: of several entries at one address `build` takes the first.
    rows: U64 = np.frombuffer(columns, np.uint64).reshape(-1, 4)[::-1]
    start, size, name_start, name_end = rows.T
    entries = Symbols(
        start=start,
        size=size,
        limit=start + np.maximum(size, np.uint64(UNKNOWN_SIZE_BYTES)),
        rank=np.zeros(len(rows), np.uint8),
        name_start=name_start.astype(np.int64),
        name_end=name_end.astype(np.int64),
        blob=data,
    )
    written = sum(1 for line in data.split(b"\n") if line and not line.isspace())
    table = build([entries.where(_current(start, start + size))])
    return PerfMap(table, written - len(rows), "")


def parse_status(status: str, pid: int) -> tuple[int, tuple[int, ...]]:
    """The pid the process knows itself by, in its own namespace, and its user ids."""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    inner = [int(word) for word in fields.get("NSpid", "").split() if word.isdecimal()]
    uids = [int(word) for word in fields.get("Uid", "").split() if word.isdecimal()]
    return (inner[-1] if inner else pid), tuple(uids[:2])


def _tail(file: OpenFile) -> bytes:
    """The whole file, or the end of a very large one: what was compiled last counts."""
    skip = max(file.size_bytes - _MAX_FILE_BYTES, 0)
    data = file.image.read(skip, _MAX_FILE_BYTES)
    return data.partition(b"\n")[2] if skip else data


def _current(start: U64, end: U64) -> Bool:
    """Which rows, latest first, no later one overlaps."""
    order = np.argsort(start, kind="stable")
    begins, ends = start[order], end[order]
    follows = np.zeros(len(order), np.bool_)
    follows[1:] = begins[1:] < np.maximum.accumulate(ends)[:-1]
    clashes = follows.copy()
    clashes[:-1] |= ends[:-1] > begins[1:]
    keep = np.ones(len(start), np.bool_)
    # Few rows of a real map clash with any other; only those are walked one by one.
    keep[list(_overlapped(order[clashes], begins[clashes], ends[clashes]))] = False
    return keep


def _overlapped(order: I64, begins: U64, ends: U64) -> Iterator[int]:
    """A sweep in the order of addresses. Lower rows are later entries."""
    open_rows: list[tuple[int, int]] = []  # a heap of (row, end): the latest is on top
    current, current_end = -1, 0  # the one open row that nothing has overlapped so far
    for row, begin, end in zip(order.tolist(), begins.tolist(), ends.tolist(), strict=True):
        while open_rows and open_rows[0][1] <= begin:
            heapq.heappop(open_rows)
        if open_rows and open_rows[0][0] < row:
            yield row
        else:
            if current_end > begin:
                yield current
            current, current_end = row, end
        heapq.heappush(open_rows, (row, end))
