"""Just enough of the protobuf wire format to write one: https://protobuf.dev/programming-guides/encoding

Zero and empty are proto3's defaults, so `number` and `text` leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable

_VARINT, _LENGTH = 0, 2


def varint(value: int) -> bytes:
    """A negative int64 is written as its two's complement, in ten bytes."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def data(field: int, value: bytes) -> bytes:
    """A nested message, or bytes; written also when empty, as an element of a repeated field."""
    return varint(field << 3 | _LENGTH) + varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    return data(field, value.encode()) if value else b""


def packed(field: int, values: Iterable[int]) -> bytes:
    body = b"".join(map(varint, values))
    return data(field, body) if body else b""
