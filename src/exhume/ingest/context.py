"""What every reader of inputs is given."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from exhume.ingest.clocks import ClockHints
from exhume.ingest.room import Room
from exhume.ingest.streams import Progress, no_progress
from exhume.ingest.symbols import Places


class Context(Struct, frozen=True):
    folder: Path
    """The reader's own, for what does not fit into memory."""
    places: Places
    clock: ClockHints
    event: str = ""
    """The event whose samples are wanted; empty: the one that measures time best."""
    progress: Progress = no_progress
    nodes: tuple[str, ...] = ()
    """The machines that are wanted of a log of many, as far as anything says so."""
    jobs: int = 1
    """Processes that may read it at once."""
    beside: int = 0
    """Processes that read other inputs at the same time."""
    room: Room | None = None
    """For all processes of the import; None: it has begun with this input."""
