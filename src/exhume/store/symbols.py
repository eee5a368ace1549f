"""The symbol tables of a data directory, as the assembler asks for them."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from exhume.host import Host
from exhume.perf.symbols import perfmap
from exhume.perf.symbols.cache import cached
from exhume.perf.symbols.table import SymbolTable

CACHE_BYTES = 4 << 20


class SymbolStore:
    def __init__(self, folder: Path, host: Host | None = None) -> None:
        """`host` where its processes may still run: maps of JIT code are read from them."""
        self._folder = folder
        self._host = host
        self._tables: OrderedDict[str, SymbolTable | None] = OrderedDict()
        self._held_bytes = 0

    def kernel(self, boot_id: str) -> SymbolTable | None:
        return cached(self._folder, kernel_key(boot_id))

    def find(self, key: str) -> SymbolTable | None:
        """Kept in memory up to CACHE_BYTES, last used first: they are asked for again and again."""
        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        table = self._tables[key] = self._find(key)
        self._held_bytes += _size_bytes(table)
        while self._held_bytes > CACHE_BYTES and len(self._tables) > 1:
            _, dropped = self._tables.popitem(last=False)
            self._held_bytes -= _size_bytes(dropped)
        return table

    def _find(self, key: str) -> SymbolTable | None:
        """The table of a mapped file; None where nobody could read it in time."""
        if key.startswith("jit-"):
            pid = int(key.removeprefix("jit-"))
            found = perfmap.read(self._host, pid) if self._host is not None and pid > 0 else None
            return None if found is None else found.table
        return cached(self._folder, key)


def kernel_key(boot_id: str) -> str:
    return f"kernel-{boot_id}"


def _size_bytes(table: SymbolTable | None) -> int:
    if table is None:
        return 0
    columns = (table.start, table.end, table.name_offset, table.module)
    return len(table.names) + sum(column.nbytes for column in columns)
