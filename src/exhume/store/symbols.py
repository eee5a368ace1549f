"""The symbol tables of a data directory, as the assembler asks for them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from exhume.host import Host
from exhume.perf.symbols import perfmap
from exhume.perf.symbols.cache import cached
from exhume.perf.symbols.table import SymbolTable


class SymbolStore:
    def __init__(self, folder: Path, host: Host | None = None) -> None:
        """`host` where its processes may still run: maps of JIT code are read from them."""
        self._folder = folder
        self._host = host
        # A few at a time: a segment's addresses are looked up file by file.
        self.find = lru_cache(maxsize=8)(self._find)

    def kernel(self, boot_id: str) -> SymbolTable | None:
        return cached(self._folder, kernel_key(boot_id))

    def _find(self, key: str) -> SymbolTable | None:
        """The table of a mapped file; None where nobody could read it in time."""
        if key.startswith("jit-"):
            pid = int(key.removeprefix("jit-"))
            found = perfmap.read(self._host, pid) if self._host is not None and pid > 0 else None
            return None if found is None else found.table
        return cached(self._folder, key)


def kernel_key(boot_id: str) -> str:
    return f"kernel-{boot_id}"
