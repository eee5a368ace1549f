"""Places of code (a file or the kernel, and an offset in it) and their frames, in C."""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64, U32, U64
from exhume.perf.joins import library


class Places:
    """Numbered as they are met, by `TreeBuilder.name`, which leaves them nameless."""

    def __init__(self) -> None:
        self._library = library()
        self.handle = self._library.xh_places_new()
        if not self.handle:
            raise MemoryError("no memory for places of code")
        self._named = 0
        self.last_frame = 0
        """The greatest number of a frame that any has."""

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._library.xh_places_free(self.handle)

    def __len__(self) -> int:
        return int(self._library.xh_places_count(self.handle))

    def forget(self) -> None:
        """As if none had been met."""
        self._library.xh_places_forget(self.handle)
        self._named = 0

    def nameless(self) -> tuple[I64, U64]:
        """Code and offset of those that have no frame yet."""
        count = len(self) - self._named
        code, offset = np.empty(count, np.int64), np.empty(count, np.uint64)
        self._library.xh_places_cells(
            self.handle, self._named, code.ctypes.data, offset.ctypes.data
        )
        return code, offset

    def name(self, frame: U32) -> None:
        """Those that `nameless` gave."""
        if len(frame) != len(self) - self._named:
            raise ValueError("not as many frames as nameless places")
        held = np.ascontiguousarray(frame, np.uint32)
        self._library.xh_places_name(self.handle, self._named, held.ctypes.data)
        self._named += len(held)
        self.last_frame = max(self.last_frame, int(held.max(initial=0)))
