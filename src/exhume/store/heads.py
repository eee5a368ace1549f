"""Head logs as views: what was recorded and is not yet closed into a segment."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.store.assemble import assemble
from exhume.store.headlog import SUFFIX, HeadFile
from exhume.store.layout import heads_path, symbols_path
from exhume.store.memory import MemorySegment
from exhume.store.symbols import SymbolStore
from exhume.store.view import SegmentView


def head_files(root: Path) -> list[Path]:
    """Oldest first."""
    try:
        return sorted(path for path in heads_path(root).iterdir() if path.suffix == SUFFIX)
    except (FileNotFoundError, NotADirectoryError):
        return []


def written(root: Path) -> tuple[tuple[str, int], ...]:
    """Each head log and its size: as long as this is the same, the recorder has written nothing."""
    found: list[tuple[str, int]] = []
    for path in head_files(root):
        with suppress(FileNotFoundError):  # closed since
            found.append((path.name, path.stat().st_size))
    return tuple(found)


def read_heads(root: Path) -> list[SegmentView]:
    """Every head log that can be read at all; a torn tail is simply not there yet."""
    views: list[SegmentView] = []
    for path in head_files(root):
        try:
            size = path.stat().st_size
            views.append(_view(root, path, size))
        except (FileNotFoundError, ExhumeError):
            continue  # closed meanwhile: the segment has it; or nothing in it yet
    return views


@lru_cache(maxsize=4)
def _view(root: Path, path: Path, size_bytes: int) -> MemorySegment:
    """Cached by size: a log that did not grow is not assembled twice."""
    data = assemble(HeadFile(path), SymbolStore(symbols_path(root), Host()))
    return MemorySegment(data, state="head", size_bytes=size_bytes)
