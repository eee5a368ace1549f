"""What an import did: behind its summary and its --json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exhume.model.window import Window


@dataclass(frozen=True, slots=True)
class InputReport:
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


@dataclass(frozen=True, slots=True)
class RecordingReport:
    node: str
    path: str
    segments: int
    """Written by this import."""
    window: Window | None
    fields: tuple[str, ...]
    """Of the counters that were among the inputs."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    recordings: tuple[RecordingReport, ...]
    inputs: tuple[InputReport, ...]
    seconds: float
    """How long it took."""
