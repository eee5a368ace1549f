"""Decoded columns, kept by bytes: what was asked for last stays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, TypeVar

DEFAULT_BYTES = 256 << 20

Value = TypeVar("Value")


class Cache:
    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable, load: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """The value of the key, loaded if it isn't here. What `load` raises is not kept."""
        with self._lock:
            if (entry := self._entries.get(key)) is not None:
                self._entries.move_to_end(key)
                value: Value = entry[0]
                return value
        value = load()
        nbytes = size(value)
        with self._lock:
            if key not in self._entries:
                self._entries[key] = value, nbytes
                self.held_bytes += nbytes
            # The newest stays even if it alone is too large: its reader needs it anyway.
            while self.held_bytes > self.max_bytes and len(self._entries) > 1:
                _, (_, freed) = self._entries.popitem(last=False)
                self.held_bytes -= freed
        return value

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)
