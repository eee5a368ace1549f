"""Which of several files belongs to a capture: the one that lies nearest to it.

Who imports several nodes at once has a folder for each, with files of the same names in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def nearest_first(paths: Iterable[Path], to: Path) -> list[Path]:
    return sorted(paths, key=lambda path: _steps(path, to))


def nearest(paths: Iterable[Path], to: Path) -> list[Path]:
    """Several where they are equally near."""
    ordered = nearest_first(paths, to)
    return [path for path in ordered if _steps(path, to) == _steps(ordered[0], to)]


def _steps(path: Path, to: Path) -> tuple[int, int]:
    """Up from `to` until both are below, and then down: who shares a folder is nearer."""
    one, other = (each.absolute().parent for each in (path, to))
    shared = len(Path(os.path.commonpath((one, other))).parts)
    return len(other.parts) - shared, len(one.parts) - shared
