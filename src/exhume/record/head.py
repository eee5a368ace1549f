"""The head log that is being written: opened anew every ten minutes, and kept within the disk."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from msgspec import to_builtins

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.model.clock import ClockPair
from exhume.model.sample import Stretch
from exhume.model.segment import Origin
from exhume.store.columns import Columns
from exhume.store.headlog import SUFFIX, FrameKind, HeadWriter
from exhume.store.layout import segment_name

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
MakeRoom = Callable[[int], bool]


class Head:
    """Frames go to the current file. A full disk costs the oldest, then this second, never us."""

    def __init__(self, folder: Path, origin: Origin, make_room: MakeRoom) -> None:
        self._folder = folder
        self._origin = origin
        self._make_room = make_room
        self._writer: HeadWriter | None = None
        self.written_bytes = 0
        self.dropped_frames = 0

    @property
    def name(self) -> str:
        """Of the file being written, which nobody else may close; empty before the first."""
        return self._writer.path.name if self._writer is not None else ""

    def rotate(self, pair: ClockPair, stretch: Stretch) -> None:
        """Start a file that can be read by itself; where none can be made, keep the old one."""
        name = segment_name(pair.wall_ns, self._origin.boot_id, pair.monotonic_ns) + SUFFIX
        for tries_left in (2, 1, 0):
            try:
                writer = self._begin(self._folder / name, pair, stretch)
                break
            except OSError as error:
                if error.errno in _NO_ROOM:
                    if tries_left and self._make_room(1 << 20):
                        continue
                    if self._writer is not None:
                        return
                raise ExhumeError(
                    f"cannot write to {self._folder}: {error.strerror}",
                    todo="give --data a directory on a local disk that you may write to",
                    exit_code=EXIT_PERMISSION,
                ) from error
        self.close()
        self._writer = writer
        self.written_bytes += writer.size_bytes

    def _begin(self, path: Path, pair: ClockPair, stretch: Stretch) -> HeadWriter:
        """A log without the first frames could never be read, so with them or not at all."""
        try:
            writer = HeadWriter(path)
            try:
                for kind, time_ns, values in (
                    (FrameKind.ORIGIN, pair.monotonic_ns, to_builtins(self._origin)),
                    (FrameKind.CLOCK, pair.monotonic_ns, to_builtins(pair)),
                    (FrameKind.STRETCH, stretch.start_ns, to_builtins(stretch)),
                ):
                    writer.write(kind, time_ns, time_ns, Columns({}, values))
            except OSError:
                writer.close()
                raise
        except FileExistsError:
            raise
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return writer

    def write_pair(self, pair: ClockPair) -> None:
        """With whose clocks they are: a log must not be lost with its first frame."""
        self._write_value(FrameKind.ORIGIN, pair.monotonic_ns, to_builtins(self._origin))
        self._write_value(FrameKind.CLOCK, pair.monotonic_ns, to_builtins(pair))

    def write_stretch(self, stretch: Stretch) -> None:
        self._write_value(FrameKind.STRETCH, stretch.start_ns, to_builtins(stretch))

    def _write_value(self, kind: FrameKind, time_ns: int, values: dict[str, object]) -> None:
        self.write(kind, time_ns, time_ns, Columns({}, values))

    def write(self, kind: FrameKind, start_ns: int, end_ns: int, columns: Columns) -> None:
        writer = self._current()
        self._try(lambda: writer.write(kind, start_ns, end_ns, columns))

    def write_packed(self, kind: FrameKind, start_ns: int, end_ns: int, payload: bytes) -> None:
        writer = self._current()
        self._try(lambda: writer.write_packed(kind, start_ns, end_ns, payload))

    def _current(self) -> HeadWriter:
        assert self._writer is not None, "rotate() comes first"
        return self._writer

    def _try(self, append: Callable[[], int]) -> None:
        for _ in range(3):
            try:
                self.written_bytes += append()
                return
            except OSError as error:
                if error.errno not in _NO_ROOM or not self._make_room(1 << 20):
                    break
        self.dropped_frames += 1

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
