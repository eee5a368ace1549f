"""What is kept, and for how long: a pure plan, and a thin hand that carries it out by unlinking."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exhume.model.window import Window
from exhume.store import layout, meta
from exhume.store.files import DamagedFileError, remove_directory, size_of
from exhume.store.meta import NewerFormatError
from exhume.store.minutes import compact, days
from exhume.store.pins import pin, pins, unpin
from exhume.store.rollups import SECOND_NS
from exhume.store.view import wall_window

__all__ = ["Dropped", "Kept", "apply", "make_room", "pin", "pins", "plan", "stored", "unpin"]

MINUTES_KEEP_NS = 90 * 86_400 * SECOND_NS
UNKNOWN_LENGTH_NS = 600 * SECOND_NS
_LEFTOVER_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A segment as retention sees it."""

    name: str
    window: Window
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Dropped:
    segments: tuple[str, ...] = ()
    minute_days: tuple[str, ...] = ()
    freed_bytes: int = 0


def plan(
    segments: Sequence[Kept],
    keep_windows: Sequence[Window],
    *,
    keep_ns: int,
    max_bytes: int,
    pinned_max_bytes: int,
    now_wall_ns: int,
) -> list[Kept]:
    """What to drop, in that order. Pure.

    The newest segment always stays. Pinned ones do not count against age and `max_bytes`, but are
    held under `pinned_max_bytes` by giving up the oldest pins first: what a pin loses there is
    treated like the rest.
    """
    ordered = sorted(segments, key=lambda segment: (segment.window, segment.name))
    if not ordered:
        return []
    pinned = _pinned(ordered, keep_windows, pinned_max_bytes)
    rest = [segment for segment in ordered if segment.name not in pinned]
    newest = ordered[-1]
    total = sum(segment.size_bytes for segment in rest)
    drop: list[Kept] = []
    for segment in rest:
        if segment is newest:
            continue
        too_old = segment.window.end_ns < now_wall_ns - keep_ns
        if too_old or total > max_bytes:
            drop.append(segment)
            total -= segment.size_bytes
    return drop


def _pinned(ordered: list[Kept], keep_windows: Sequence[Window], cap: int) -> set[str]:
    """The segments that pins hold, newest pins first, as far as their cap reaches."""
    held: dict[str, int] = {}
    for window in sorted(keep_windows, reverse=True):
        wanted = {s.name: s.size_bytes for s in ordered if s.window.overlaps(window)}
        more = {name: size for name, size in wanted.items() if name not in held}
        if sum(held.values()) + sum(more.values()) > cap:
            break
        held.update(more)
    return set(held)


def plan_room(segments: Sequence[Kept], keep_windows: Sequence[Window], need: int) -> list[Kept]:
    """What to drop to free so many bytes: the oldest first, pinned last, the newest never. Pure."""
    ordered = sorted(segments, key=lambda segment: (segment.window, segment.name))
    free = [s for s in ordered[:-1] if not any(s.window.overlaps(w) for w in keep_windows)]
    held = [s for s in ordered[:-1] if s not in free]
    drop: list[Kept] = []
    for segment in [*free, *held]:
        if sum(dropped.size_bytes for dropped in drop) >= need:
            break
        drop.append(segment)
    return drop


def apply(
    root: Path, keep_ns: int, max_bytes: int, pinned_max_bytes: int, now_wall_ns: int
) -> Dropped:
    """Drop what is too old or too much, put finished days of minutes together."""
    windows = [entry.keeps for entry in pins(root)]
    drop = plan(
        stored(root),
        windows,
        keep_ns=keep_ns,
        max_bytes=max_bytes,
        pinned_max_bytes=pinned_max_bytes,
        now_wall_ns=now_wall_ns,
    )
    _drop(root, drop)
    compact(root, now_wall_ns)
    old_days = _drop_old_minutes(root, now_wall_ns)
    _sweep(root)
    return Dropped(
        tuple(segment.name for segment in drop), old_days, sum(s.size_bytes for s in drop)
    )


def make_room(root: Path, need_bytes: int) -> Dropped:
    """For a full disk. Less may be freed than asked for: the newest segment stays."""
    drop = plan_room(stored(root), [entry.keeps for entry in pins(root)], need_bytes)
    _drop(root, drop)
    return Dropped(tuple(s.name for s in drop), (), sum(s.size_bytes for s in drop))


def stored(root: Path) -> list[Kept]:
    """Every segment directory, damaged ones too: their names say when they began."""
    found: list[Kept] = []
    try:
        paths = sorted(layout.segments_path(root).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    for path in paths:
        start = layout.wall_ns_of_name(path.name)
        if start is None:
            continue
        window = Window(start, start + UNKNOWN_LENGTH_NS)
        with suppress(DamagedFileError, NewerFormatError):
            facts = meta.read(path)
            window = wall_window(facts.clock, facts.start_ns, facts.end_ns)
        found.append(Kept(path.name, window, size_of(path)))
    return found


def _drop(root: Path, segments: Iterable[Kept]) -> None:
    for segment in segments:
        with suppress(FileNotFoundError):
            remove_directory(layout.segments_path(root) / segment.name)


def _drop_old_minutes(root: Path, now_wall_ns: int) -> tuple[str, ...]:
    oldest = layout.day_of(max(0, now_wall_ns - MINUTES_KEEP_NS))
    gone = tuple(day for day in days(root) if day < oldest)
    for day in gone:
        shutil.rmtree(layout.minutes_path(root) / day, ignore_errors=True)
    return gone


def _sweep(root: Path) -> None:
    """What a crash left half written. Anything younger may be in the making."""
    for parent in (layout.segments_path(root), layout.pins_path(root)):
        if not parent.is_dir():
            continue
        for path in parent.glob(f"{layout.TEMPORARY}*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _LEFTOVER_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
