"""The journal's export format: `NAME=text`, or `NAME`, a length of 8 bytes and as many bytes.

https://systemd.io/JOURNAL_EXPORT_FORMATS/: an empty line ends an entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import BinaryIO

MAX_VALUE = 1 << 14
_MAX_FIELDS = 1000
_BLOCK_BYTES = 1 << 18


class _Bytes:
    """A stream by lines and by counts, of which no more is kept than was asked for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._data = b""
        self._at = 0

    def _more(self) -> bool:
        more = self._stream.read(_BLOCK_BYTES)
        self._data, self._at = self._data[self._at :] + more, 0
        return bool(more)

    def line(self) -> bytes | None:
        """Without its end, and cut where it is long. None at the end of the stream."""
        while True:
            end = self._data.find(b"\n", self._at)
            if end >= 0:
                found = self._data[self._at : min(end, self._at + MAX_VALUE)]
                self._at = end + 1
                return found
            if len(self._data) - self._at > MAX_VALUE:
                found = self._data[self._at : self._at + MAX_VALUE]
                self._skip_to_end_of_line()
                return found
            if not self._more():
                rest, self._at = self._data[self._at :], len(self._data)
                return rest[:MAX_VALUE] or None

    def _skip_to_end_of_line(self) -> None:
        while (end := self._data.find(b"\n", self._at)) < 0:
            self._at = len(self._data)
            if not self._more():
                return
        self._at = end + 1

    def take(self, count: int) -> bytes:
        """The first bytes of that many; fewer at the end of the stream."""
        kept = b""
        while count > 0:
            part = self._data[self._at : self._at + count]
            if not part:
                if not self._more():
                    break
                continue
            kept += part[: MAX_VALUE - len(kept)]
            self._at += len(part)
            count -= len(part)
        return kept


def export_entries(stream: BinaryIO, wanted: Set[str]) -> Iterator[Mapping[str, str]]:
    data = _Bytes(stream)
    fields: dict[str, str] = {}
    while (line := data.line()) is not None:
        if not line:
            if fields:
                yield fields
            fields = {}
            continue
        name, equals, value = line.partition(b"=")
        key = name.decode("ascii", "replace")
        if not equals:
            size = int.from_bytes(data.take(8), "little")
            value = data.take(size)
            data.line()
        if key in wanted and len(fields) < _MAX_FIELDS:
            fields.setdefault(key, value.decode("utf-8", "replace"))
    if fields:
        yield fields
