"""Thrift's compact protocol, as far as the headers and the footer of a Parquet file need it.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12


class Long(Struct, frozen=True):
    """A 64-bit number; plain ones are 32 bits wide."""

    value: int


class Tiny(Struct, frozen=True):
    """A number of 8 bits."""

    value: int


Value: TypeAlias = "bool | int | Long | Tiny | str | Sequence[Value] | Fields"
Fields: TypeAlias = Mapping[int, Value]
"""Fields by their id, in rising order."""


def encode(struct: Fields) -> bytes:
    out = bytearray()
    _struct(out, struct)
    return bytes(out)


def _struct(out: bytearray, struct: Fields) -> None:
    before = 0
    for number, value in struct.items():
        if not 0 < number - before < 16:
            raise ValueError("fields must come in rising order of their ids, and not far apart")
        step = (number - before) << 4
        before = number
        kind = type(value)  # most are numbers, and a file has thousands
        if kind is int:
            out.append(step | _I32)
            _number(out, value)  # type: ignore[arg-type]
        elif kind is Long:
            out.append(step | _I64)
            _number(out, value.value)  # type: ignore[union-attr]
        elif kind is bool:
            out.append(step | (_TRUE if value else _FALSE))
        else:
            out.append(step | _KINDS[kind])
            _value(out, value)
    out.append(0)


_KINDS: dict[type, int] = {
    int: _I32, Long: _I64, Tiny: _BYTE, str: _BINARY, dict: _STRUCT, list: _LIST, tuple: _LIST,
}  # fmt: skip


def _value(out: bytearray, value: Value) -> None:
    if isinstance(value, dict):
        _struct(out, value)
    elif isinstance(value, int):
        _number(out, value)
    elif isinstance(value, Long):
        _number(out, value.value)
    elif isinstance(value, Tiny):
        out.append(value.value & 0xFF)
    elif isinstance(value, str):
        data = value.encode()
        _varint(out, len(data))
        out += data
    elif isinstance(value, Mapping):
        _struct(out, value)
    else:
        kind = _KINDS[type(value[0])] if value else _STRUCT
        if len(value) < 15:
            out.append(len(value) << 4 | kind)
        else:
            out.append(0xF0 | kind)
            _varint(out, len(value))
        for one in value:
            _value(out, one)


def _number(out: bytearray, value: int) -> None:
    value = value << 1 if value >= 0 else (-value << 1) - 1
    if value < 0x80:
        out.append(value)
    else:
        _varint(out, value)


def _varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
