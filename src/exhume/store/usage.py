"""What a data directory holds and takes, without reading what is in it."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from exhume.errors import ExhumeError
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.status import Damage, Disk, Imported, Pin
from exhume.model.window import Window
from exhume.store.cache import DEFAULT_BYTES
from exhume.store.files import size_of
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from exhume.store.recording import Recording
from exhume.store.retention import pins
from exhume.store.segment import Segment

_INPUT = re.compile(r"(?:^|, )(.+?) \([0-9a-f]{16}\)", re.DOTALL)


def look(root: Path, limits: Disk) -> Disk:
    recording = Recording(root, None, DEFAULT_BYTES)
    spans = recording.spans()
    windows = [span.window for span in spans if span.state != "damaged"]
    for path in head_files(root):
        with suppress(ExhumeError, FileNotFoundError):  # nothing in it yet, or a segment meanwhile
            windows.append(_head_window(HeadFile(path)))
    return replace(
        limits,
        used_bytes=size_of(root),
        free_bytes=shutil.disk_usage(root).free,
        oldest_wall_ns=min((window.start_ns for window in windows), default=None),
        segments=sum(span.state == "segment" for span in spans),
        recorded_ns=sum(window.end_ns - window.start_ns for window in windows),
        damaged=tuple(Damage(span.window, span.problem) for span in spans if span.problem),
        pins=tuple(Pin(pin.window, pin.reason) for pin in pins(root)),
    )


def is_recording(root: Path) -> bool:
    """Whether anything was recorded there: another directory may be large, and is not ours."""
    return bool(head_files(root) or Recording(root, None, DEFAULT_BYTES).spans())


def imported(root: Path) -> tuple[Imported, str] | None:
    """What files the recording was made of, and of which node; None where a recorder made it."""
    names: dict[str, None] = {}
    newest, node = 0, ""
    for view in Recording(root, None, DEFAULT_BYTES).views():
        found = view.origin.imported
        if found is None or not isinstance(view, Segment):
            return None
        names.update(dict.fromkeys(_INPUT.findall(found[2])))
        node = view.origin.node
        with suppress(OSError):
            newest = max(newest, view.path.stat().st_mtime_ns)
    return (Imported(tuple(sorted(names)), newest), node) if names else None


def _head_window(head: HeadFile) -> Window:
    ticks = [frame for frame in head.frames if frame.kind == FrameKind.TICK]
    pairs = [ClockPair(**value) for value in head.values(FrameKind.CLOCK)]
    if not ticks or not pairs:
        raise ExhumeError(f"{head.path} holds nothing yet")
    clock = ClockMap.of(pairs)
    return Window(clock.wall(ticks[0].start_ns), clock.wall(ticks[-1].end_ns))
