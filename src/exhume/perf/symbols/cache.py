"""The directory of symbol tables already read: `<key>.sym`, one file a program or library."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from exhume.errors import ParseError
from exhume.perf.symbols.table import SymbolTable

_SUFFIX = ".sym"
# Build ids in hex, or device-inode-size-mtime. A key becomes a file name, so no other character.
_KEY = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,199}")
_DRAFT = re.compile(r"\..*\.(\d+)\.tmp")


def path_of(cache: Path, key: str) -> Path:
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a key of the symbol cache: {key!r}")
    return cache / f"{key}{_SUFFIX}"


def cached(cache: Path, key: str) -> SymbolTable | None:
    """None where it was never read, was pruned, or is damaged: the caller may capture it again."""
    path = path_of(cache, key)
    try:
        table = SymbolTable.load(path)
        os.utime(path)  # used now: `prune_cache` takes the others first
    except ParseError:
        with suppress(OSError):
            path.unlink()
        return None
    except OSError:
        return None
    return table


def prune_cache(cache: Path, max_bytes: int) -> int:
    """Delete the longest unused tables until the rest fits; returns the bytes freed."""
    found: list[tuple[int, int, Path]] = []
    freed = 0
    try:
        entries = list(os.scandir(cache))
    except FileNotFoundError:
        return 0
    for entry in entries:
        with suppress(FileNotFoundError):
            stat = entry.stat(follow_symlinks=False)
            if entry.name.endswith(_SUFFIX):
                found.append((stat.st_mtime_ns, stat.st_size, Path(entry.path)))
            elif (draft := _DRAFT.fullmatch(entry.name)) and not _is_alive(int(draft[1])):
                Path(entry.path).unlink()
                freed += stat.st_size
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= max_bytes:
            break
        path.unlink(missing_ok=True)
        left -= size
        freed += size
    return freed


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
