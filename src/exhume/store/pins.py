"""Pins: stretches around a symptom that are kept longer than the rest. One small file each."""

from __future__ import annotations

import json
import re
from pathlib import Path

from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.model.window import Window
from exhume.store import layout
from exhume.store.files import checksum, sync_directory, write_atomic

MARGIN_NS = 600 * 1_000_000_000
"""What is kept before and after the pinned window."""
MAX_REASON = 500
_NAME = re.compile(r"\d{1,20}-\d{1,20}-[0-9a-f]{8}\.json")


class Pin(Struct, frozen=True):
    id: str
    window: Window
    reason: str

    @property
    def keeps(self) -> Window:
        return Window(self.window.start_ns - MARGIN_NS, self.window.end_ns + MARGIN_NS)


def pin(root: Path, window: Window, reason: str) -> Pin:
    """Pinning the same window for the same reason again changes nothing."""
    if window.start_ns >= window.end_ns or window.start_ns < 0:
        raise ExhumeError("a pin needs a window that ends after it begins")
    reason = reason[:MAX_REASON]
    name = f"{window.start_ns}-{window.end_ns}-{checksum(reason.encode()):08x}"
    body = {"start_ns": window.start_ns, "end_ns": window.end_ns, "reason": reason}
    write_atomic(layout.pins_path(root) / f"{name}.json", json.dumps(body).encode() + b"\n")
    return Pin(name, window, reason)


def pins(root: Path) -> list[Pin]:
    """Oldest first. A pin whose file is damaged still pins: its name says what."""
    try:
        names = [entry.name for entry in layout.pins_path(root).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [_read(layout.pins_path(root) / n) for n in names if _NAME.fullmatch(n)]
    return sorted(found, key=lambda entry: entry.window)


def unpin(root: Path, pin_id: str) -> bool:
    """Whether there was such a pin."""
    name = f"{pin_id}.json"
    if not _NAME.fullmatch(name):
        return False
    try:
        (layout.pins_path(root) / name).unlink()
    except FileNotFoundError:
        return False
    sync_directory(layout.pins_path(root))
    return True


def _read(path: Path) -> Pin:
    start, end, _ = path.stem.split("-")
    window = Window(int(start), int(end))
    try:
        reason = str(json.loads(path.read_bytes())["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        reason = "(the reason can't be read)"
    return Pin(path.stem, window, reason[:MAX_REASON])
