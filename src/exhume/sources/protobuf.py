"""Just enough of the protobuf wire format to read an answer whose field numbers are known."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.errors import ParseError

_MAX_VARINT_BYTES = 10


def fields(data: bytes, what: str) -> Iterator[tuple[int, int | bytes]]:
    """Field number and value: an int for numbers, bytes for strings and nested messages."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at, what)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at, what)
            yield number, value
        elif wire == 2:
            size, at = _varint(data, at, what)
            if at + size > len(data):
                raise ParseError(what, f"byte {at}", f"{size} more bytes")
            yield number, data[at : at + size]
            at += size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if at + size > len(data):
                raise ParseError(what, f"byte {at}", f"{size} more bytes")
            yield number, int.from_bytes(data[at : at + size], "little")
            at += size
        else:
            raise ParseError(what, f"byte {at}", "a protobuf field")


def text(value: int | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + index + 1
    raise ParseError(what, f"byte {at}", "a whole protobuf number")
