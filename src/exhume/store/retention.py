"""What is kept, and for how long: a pure plan, and a thin hand that carries it out by unlinking."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from exhume.model.window import Window
from exhume.store import fingerprints, layout, meta
from exhume.store.files import DamagedFileError, remove_directory, size_of
from exhume.store.meta import NewerFormatError
from exhume.store.pins import pin, pins, unpin
from exhume.store.rollups import SECOND_NS
from exhume.store.view import wall_window

__all__ = ["Dropped", "Kept", "apply", "make_room", "pin", "pins", "plan", "stored", "unpin"]

MINUTES_KEEP_NS = 90 * 86_400 * SECOND_NS
UNKNOWN_LENGTH_NS = 600 * SECOND_NS
_LEFTOVER_NS = 3600 * SECOND_NS


class Kept(Struct, frozen=True):
    """A segment as retention sees it."""

    name: str
    window: Window
    size_bytes: int


class Dropped(Struct, frozen=True):
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
    now_ns: int,
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
        too_old = segment.window.end_ns < now_ns - keep_ns
        if too_old or total > max_bytes:
            drop.append(segment)
            total -= segment.size_bytes
    return drop


def _pinned(ordered: list[Kept], keep_windows: Sequence[Window], cap: int) -> set[str]:
    """The segments that pins hold as far as their cap reaches: newest pins first, and of each pin
    what lies nearest to its middle."""
    held: set[str] = set()
    total = 0
    for window in sorted(keep_windows, reverse=True):
        wanted = [s for s in ordered if s.window.overlaps(window) and s.name not in held]
        for segment in sorted(wanted, key=lambda s: abs(_middle(s.window) - _middle(window))):
            if total + segment.size_bytes > cap:
                return held
            held.add(segment.name)
            total += segment.size_bytes
    return held


def _middle(window: Window) -> int:
    return (window.start_ns + window.end_ns) // 2


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


def apply(root: Path, keep_ns: int, max_bytes: int, pinned_max_bytes: int, now_ns: int) -> Dropped:
    """Drop what is too old or too much, put finished days of minutes together. `now` is wall time.

    Whatever else lies in the directory, heads and minutes, counts against `max_bytes` too.
    """
    segments = stored(root)
    others = max(0, size_of(root) - sum(segment.size_bytes for segment in segments))
    drop = plan(
        segments,
        [entry.keeps for entry in pins(root)],
        keep_ns=keep_ns,
        max_bytes=max(0, max_bytes - others),
        pinned_max_bytes=pinned_max_bytes,
        now_ns=now_ns,
    )
    _drop(root, drop)
    # The recorder makes room by this module and must not carry Arrow: imported where it is needed.
    from exhume.store.minutes import compact

    compact(root, now_ns)
    old_days = _drop_old_roll_ups(root, now_ns)
    _sweep(root, now_ns)
    return Dropped(
        tuple(segment.name for segment in drop), old_days, sum(s.size_bytes for s in drop)
    )


def make_room(root: Path, need_bytes: int) -> int:
    """For a full disk: the bytes freed, maybe fewer than asked for, as the newest stays."""
    drop = plan_room(stored(root), [entry.keeps for entry in pins(root)], need_bytes)
    _drop(root, drop)
    return sum(segment.size_bytes for segment in drop)


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


def _drop_old_roll_ups(root: Path, now_ns: int) -> tuple[str, ...]:
    oldest = layout.day_of(max(0, now_ns - MINUTES_KEEP_NS))
    gone = tuple(day for day in layout.days(root) if day < oldest)
    for day in gone:
        shutil.rmtree(layout.minutes_path(root) / day, ignore_errors=True)
    for entry in pins(root):
        if entry.window.end_ns < now_ns - MINUTES_KEEP_NS:
            unpin(root, entry.id)
    fingerprints.drop_before(root, now_ns - MINUTES_KEEP_NS)
    return gone


def _sweep(root: Path, now_ns: int) -> None:
    """What a crash left half written. Anything younger may be in the making."""
    folders = (layout.segments_path(root), layout.pins_path(root), layout.fingerprints_path(root))
    for parent in folders:
        if not parent.is_dir():
            continue
        for path in parent.glob(f"{layout.TEMPORARY}*"):
            with suppress(OSError):
                if path.stat().st_mtime_ns < now_ns - _LEFTOVER_NS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
