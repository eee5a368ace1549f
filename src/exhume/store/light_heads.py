"""Head logs without their samples: for questions about counters and events.

To name the samples of ten minutes of a busy node takes seconds; what else there is, far less.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.store.assemble import assemble
from exhume.store.headlog import HeadFile
from exhume.store.heads import head_files
from exhume.store.layout import symbols_path
from exhume.store.memory import MemorySegment
from exhume.store.symbols import SymbolStore
from exhume.store.view import SegmentView

_NO_SAMPLES = (0, 0)


def read_light_heads(root: Path) -> list[SegmentView]:
    """As `store.heads.read_heads`, but every view is without samples."""
    views: list[SegmentView] = []
    for path in head_files(root):
        try:
            views.append(_view(root, path, path.stat().st_size))
        except (FileNotFoundError, ExhumeError):
            continue  # closed meanwhile: the segment has it; or nothing in it yet
    return views


@lru_cache(maxsize=4)
def _view(root: Path, path: Path, size_bytes: int) -> MemorySegment:
    data = assemble(HeadFile(path), SymbolStore(symbols_path(root), Host()), _NO_SAMPLES)
    return MemorySegment(data, state="head", size_bytes=size_bytes)
