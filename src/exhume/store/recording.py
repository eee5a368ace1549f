"""A data directory as one recording: every segment, the live head, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.model.answers import Span
from exhume.model.window import Window
from exhume.store import layout
from exhume.store.absent import no_recording
from exhume.store.cache import DEFAULT_BYTES, Cache
from exhume.store.files import DamagedFileError, size_of
from exhume.store.meta import NewerFormatError
from exhume.store.minutes import MinuteFile, Rows, minute_files, read_file, read_minutes
from exhume.store.pins import pins
from exhume.store.rollups import MINUTE_NS
from exhume.store.segment import Segment
from exhume.store.view import SegmentView

HeadReader = Callable[[Path], "list[SegmentView]"]
Value = TypeVar("Value")
UNKNOWN_LENGTH_NS = 600 * 1_000_000_000
"""How long a segment is taken to be whose meta data is lost, unless the next one begins before."""


class Unreadable(Struct, frozen=True):
    """A segment whose meta data can't be used: only its name says when it was."""

    path: Path
    window: Window
    error: ExhumeError


class Recording:
    """Read only. Asked again and again it keeps what it decoded, up to `cache_bytes`."""

    def __init__(self, root: Path, heads: HeadReader | None, cache_bytes: int) -> None:
        self.root = root
        self._head_reader = heads
        self._cache = Cache(cache_bytes)
        self._segments: dict[str, Segment] = {}
        self._heads: list[SegmentView] = []
        self._unreadable: list[Unreadable] = []
        self._minute_problems: dict[str, Window] = {}
        self._minute_sources: dict[Path, list[tuple[str, Window]]] = {}
        self.refresh()

    @staticmethod
    def open(
        root: Path, *, heads: HeadReader | None = None, cache_bytes: int = DEFAULT_BYTES
    ) -> Recording:
        recording = Recording(root, heads, cache_bytes)
        if not recording.spans():
            raise no_recording(root)
        newer = [u.error for u in recording._unreadable if isinstance(u.error, NewerFormatError)]
        if newer and not recording._segments and not recording._heads:
            raise newer[0]
        return recording

    def kept(self, key: Hashable, make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """What is derived from closed segments, named in the key, and takes long to make."""
        return self._cache.get(key, make, size)

    def refresh(self) -> None:
        """See what was written and dropped since."""
        # Heads first: one that becomes a segment meanwhile is then seen twice, and told apart;
        # the other way round it would be missed.
        heads = self._head_reader(self.root) if self._head_reader else []
        names = _names(layout.segments_path(self.root))
        known = {
            name: self._segments[name]
            for name in names
            if name in self._segments and self._segments[name].is_current()
        }
        self._unreadable = []
        for index, name in enumerate(names):
            if name not in known:
                path = layout.segments_path(self.root) / name
                try:
                    known[name] = Segment(path, self._cache)
                except (DamagedFileError, NewerFormatError) as error:
                    if path.is_dir():  # else retention was quicker
                        window = _guess_window(name, names[index + 1 :])
                        self._unreadable.append(Unreadable(path, window, error))
        self._segments = known
        self._heads = [head for head in heads if not self._closed(head)]

    def _closed(self, head: SegmentView) -> bool:
        return any(
            segment.origin.boot_id == head.origin.boot_id
            and segment.start_ns <= head.start_ns
            and head.end_ns <= segment.end_ns
            for segment in self._segments.values()
        )

    def views(self, window: Window | None = None) -> list[SegmentView]:
        """What can be asked about this window, oldest first."""
        everything: list[SegmentView] = [*self._segments.values(), *self._heads]
        found = [view for view in everything if window is None or view.window.overlaps(window)]
        return sorted(found, key=lambda view: view.window)

    def window(self) -> Window:
        """From the first instant recorded to the last."""
        spans = self.spans()
        return Window(
            min(span.window.start_ns for span in spans), max(span.window.end_ns for span in spans)
        )

    def spans(self, *, verify: bool = False) -> list[Span]:
        """Every stretch. Damage shows when a file is first read; `verify` reads them all."""
        spans: list[Span] = []
        for segment in self._segments.values():
            problems = segment.verify() if verify else segment.problems
            state = "damaged" if problems else "segment"
            problem = "; ".join(problems.values())
            size, count = segment.size_bytes, segment.sample_count
            spans.append(Span(segment.window, state, size, count, False, problem))
        spans.extend(
            Span(head.window, "head", head.size_bytes, head.sample_count, False, "")
            for head in self._heads
        )
        for lost in self._unreadable:
            size = size_of(lost.path)
            spans.append(Span(lost.window, "damaged", size, 0, False, str(lost.error)))
        spans.extend(self._minute_spans())
        held = [entry.keeps for entry in pins(self.root)]
        pinned = (
            replace(span, pinned=span.state != "minutes" and any(map(span.window.overlaps, held)))
            for span in spans
        )
        return sorted(pinned, key=lambda span: span.window)

    def _minute_spans(self) -> Iterator[Span]:
        """Stretches of which only roll-ups are left; those that follow each other as one."""
        known = {*self._segments, *(head.name for head in self._heads)}
        found: list[Window] = []
        for file in minute_files(self.root):
            if file.table == "cores" and file.source not in known:
                with suppress(DamagedFileError):
                    found.extend(w for source, w in self._sources(file) if source not in known)
        merged: list[Window] = []
        for window in sorted(found):
            if merged and window.start_ns - merged[-1].end_ns <= MINUTE_NS:
                merged[-1] = Window(merged[-1].start_ns, max(merged[-1].end_ns, window.end_ns))
            else:
                merged.append(window)
        return (Span(window, "minutes", 0, 0, False, "") for window in merged)

    def _sources(self, file: MinuteFile) -> list[tuple[str, Window]]:
        """The segments a file sums up, and when they were. Its name holds its checksum, so what
        was read once stays true."""
        if file.path not in self._minute_sources:
            rows = read_file(file)
            names, group = np.unique(rows["source"].astype(str), return_inverse=True)
            minute = rows["minute"].astype(np.int64) * MINUTE_NS
            self._minute_sources[file.path] = [
                (
                    str(name),
                    Window(
                        int(minute[group == index].min()),
                        int(minute[group == index].max()) + MINUTE_NS,
                    ),
                )
                for index, name in enumerate(names)
            ]
        return self._minute_sources[file.path]

    def problems(self, window: Window) -> tuple[str, ...]:
        """What could not be read in this window, as far as anyone tried."""
        return tuple(
            dict.fromkeys(
                span.problem
                for span in self.spans()
                if span.problem and span.window.overlaps(window)
            )
        ) + tuple(text for text, where in self._minute_problems.items() if where.overlaps(window))

    def minutes(self, table: str, window: Window, besides: Collection[str] = ()) -> Rows:
        """Minute roll-ups of stretches other than the segments named."""
        # A segment beside the window may share a minute with it; that minute's sum is not of it.
        apart = {view.name for view in self.views() if not view.window.overlaps(window)}
        rows, problems = read_minutes(self.root, table, window, apart.union(besides))
        self._minute_problems.update(dict.fromkeys(problems, window))
        return rows

    @contextmanager
    def sparing(self, view: SegmentView) -> Iterator[None]:
        """A damaged file costs the answer this view's part; `spans` and `problems` tell."""
        try:
            yield
        except DamagedFileError:
            if isinstance(view, Segment) and not view.path.is_dir():
                # Dropped by retention while we read: gone, not damaged.
                view.problems.clear()
                self._segments.pop(view.name, None)


def _names(path: Path) -> list[str]:
    try:
        names = [entry.name for entry in path.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError as error:
        raise ExhumeError(
            f"{path} can't be read: {error.strerror}",
            todo="ask as the user who records, or as root",
            exit_code=EXIT_PERMISSION,
        ) from error
    return sorted(name for name in names if layout.wall_ns_of_name(name) is not None)


def _guess_window(name: str, later: list[str]) -> Window:
    start = layout.wall_ns_of_name(name) or 0
    end = start + UNKNOWN_LENGTH_NS
    following = [layout.wall_ns_of_name(other) or end for other in later[:1]]
    return Window(start, max(start + 1, min([end, *following])))
