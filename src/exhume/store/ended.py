"""Whether more can come into a recording: an imported one is all there is."""

from __future__ import annotations

from pathlib import Path

from exhume.model.window import Ended, Window
from exhume.store import layout
from exhume.store.cache import DEFAULT_BYTES
from exhume.store.recording import Recording


def ended(recording: Recording) -> Ended | None:
    """What an imported recording covers; None where a recorder wrote it, or nobody."""
    if not is_imported(recording):
        return None
    windows = [view.window for view in recording.views() if view.sample_count or view.fields()]
    whole = recording.window()
    start_ns = min((window.start_ns for window in windows), default=whole.start_ns)
    end_ns = max((window.end_ns for window in windows), default=whole.end_ns)
    return Ended(whole, Window(start_ns, end_ns))


def is_imported(recording: Recording) -> bool:
    """Were all of its segments made of files?"""
    views = recording.views()
    return bool(views) and all(view.origin.imported is not None for view in views)


def ended_in(root: Path) -> Ended | None:
    """The same of a directory that is to be asked later."""
    if layout.heads_path(root).is_dir():
        return None  # a recorder's; not worth reading its segments twice
    return ended(Recording(root, None, DEFAULT_BYTES))
