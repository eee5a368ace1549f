"""Which mapped files still need their symbol table read, while the process that maps them lives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive.kernel_frames import IDLE_LOOP, plain_name
from exhume.host import Host
from exhume.perf.records import Mappings
from exhume.perf.symbols import kallsyms
from exhume.perf.symbols.cache import path_of, prune_cache
from exhume.perf.symbols.capture import capture
from exhume.perf.symbols.mapped import MappedFile
from exhume.perf.symbols.table import SymbolTable
from exhume.store.symbols import kernel_key

MAX_TRIES = 20
"""A crash-looper that is gone before we look gets as many chances; then it stays module+offset."""
BATCH = 64
MAX_KNOWN = 50_000
CACHE_BYTES = 256 << 20


class Captures(Struct):
    folder: Path
    _done: set[str] = field(default_factory=set)
    _waiting: dict[str, MappedFile] = field(default_factory=dict)
    """Mapped while we watched: who maps them may be gone in a second."""
    _found: dict[str, MappedFile] = field(default_factory=dict)
    """By the scan: who maps them has lived for a while, and will wait."""
    _tries: dict[str, int] = field(default_factory=dict)
    _missing_hashes: dict[int, MappedFile] = field(default_factory=dict)
    """Files that could not be read yet: mapped again, they are tried again."""

    def want(self, file: MappedFile, hash_: int | None = None) -> None:
        if not file.key or file.key in self._done:
            return
        if path_of(self.folder, file.key).exists():
            self._done.add(file.key)
            return
        if len(self._done) + len(self._tries) + len(self._missing_hashes) > MAX_KNOWN:
            self._forget()
        if hash_ is None:
            if file.key not in self._waiting:
                self._found.setdefault(file.key, file)
            return
        self._found.pop(file.key, None)
        self._waiting[file.key] = file
        self._missing_hashes[hash_] = file

    def _forget(self) -> None:
        """Programs that unpack a new library at each start would make these grow for ever."""
        self._done.clear()
        self._tries.clear()
        self._missing_hashes.clear()

    def seen_again(self, mappings: Mappings) -> None:
        """Another process maps a file that we failed to read: a new chance, of several the last."""
        if not self._missing_hashes or not len(mappings.file_hash):
            return
        wanted = np.fromiter(self._missing_hashes, np.uint64, len(self._missing_hashes))
        for row in np.flatnonzero(np.isin(mappings.file_hash, wanted)).tolist():
            file = self._missing_hashes[int(mappings.file_hash[row])]
            start = int(mappings.start[row])
            if file.key not in self._done and self._tries.get(file.key, 0) < MAX_TRIES:
                end, pid = start + int(mappings.length[row]), int(mappings.pid[row])
                self._waiting[file.key] = replace(file, pid=pid, start=start, end=end)

    @property
    def has_urgent(self) -> bool:
        return bool(self._waiting)

    def next_batch(self, *, urgent: bool = True) -> list[MappedFile]:
        """Urgent: those mapped while we watched, the newest first. Else those the scan found."""
        some = self._waiting if urgent else self._found
        keys = list(reversed(some) if urgent else some)[:BATCH]
        batch = [file for key in keys if (file := some.pop(key)).key not in self._done]
        for file in batch:
            self._tries[file.key] = self._tries.get(file.key, 0) + 1
        return batch

    def finished(self, result: bytes) -> None:
        """Takes what `run_batch` returned."""
        found: list[str] = json.loads(result) if result else []
        self._done.update(found)
        self._missing_hashes = {
            h: v for h, v in self._missing_hashes.items() if v.key not in self._done
        }

    @property
    def failed_count(self) -> int:
        return sum(1 for key, tries in self._tries.items() if tries and key not in self._done)


def run_batch(host: Host, files: Iterable[MappedFile], folder: Path) -> bytes:
    """In a child: read the tables of these files. The keys of those that were read."""
    settled = [file.key for file in files if capture(host, file, folder).stored]
    prune_cache(folder, CACHE_BYTES)
    return json.dumps(settled).encode()


def run_kernel(host: Host, folder: Path) -> bytes:
    """In a child: save the kernel's symbols; where its idle loop lies, or why nobody knows."""
    answer = kallsyms.read(host)
    table = answer.table
    if table is None:
        return json.dumps({"problem": answer.reason}).encode()
    table.save(path_of(folder, kernel_key(host.boot_id())))
    rows = [row for name in sorted(IDLE_LOOP) for row in _rows_named(table, name)]
    ranges = [(int(table.start[row]), int(table.end[row])) for row in rows]
    return json.dumps({"idle": ranges}).encode()


def _rows_named(table: SymbolTable, name: str) -> Iterator[int]:
    """The function and its clones, `name.constprop.0`.

    Found in the bytes of all names: 200,000 strings would take longer than the rest.
    """
    text = name.encode()
    at = table.names.find(text)
    while at >= 0:
        row = int(np.searchsorted(table.name_offset, at))
        if table.name_offset[row] == at and plain_name(table.name(row)) == name:
            yield row
        at = table.names.find(text, at + 1)
