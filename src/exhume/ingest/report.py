"""What an import did: behind its summary and its --json."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from exhume.model.window import Window

ZONE_IN_DOUBT = "no other file tells of that time"
"""So begins the note on a log whose local times may be of another zone than was taken."""


BY_FILE_TIME = "guessed: it ended when"
"""So begins how a capture was placed that nothing but its file's time, or its header's, places."""


class InputReport(Struct, frozen=True):
    path: str
    format: str
    """`perf.data`, `perf script`, …; empty where nobody knows."""
    state: Literal["imported", "known", "same", "names", "skipped", "failed"]
    """`known`: imported before; `same`: its samples are those of another input; `names`: used for
    symbols; `skipped`: it lay in a folder and is nothing that can be imported."""
    samples: int = 0
    """In the file."""
    kept: int = 0
    """Without those of the idle loop and of other events."""
    cores: int = 0
    window: Window | None = None
    clock: str = ""
    """How its wall time was found."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class RecordingReport(Struct, frozen=True):
    """All of it, what was imported before too."""

    node: str
    path: str
    segments: int
    window: Window
    fields: tuple[str, ...]
    """Of the counters in it, if they were read often enough to tell anything."""
    samples: int
    sampled_cores: int
    """Cores that some of the samples are known to be of, where these tell times of cores."""


class ImportReport(Struct, frozen=True):
    recordings: tuple[RecordingReport, ...]
    """That the inputs are in; none where there was nothing in them to be kept."""
    inputs: tuple[InputReport, ...]
    seconds: float
    """How long it took."""
    folders: tuple[str, ...] = ()
    """Inside those that were named, and not looked into."""
