"""The C side of symbol tables (names.c): names gathered, their ends found, kallsyms split."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from msgspec import Struct

from exhume.clibrary import C_U32, C_U64, POINTER, Functions, load
from exhume.model.arrays import I64, U8, U32, U64

ABI = 1
MAX_NAME_BYTES = 4096


class _Lines(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ("address", "kind", "name", "name_end", "line_end", "run")
    )


class Lines(Struct, frozen=True):
    """The lines of kallsyms."""

    address: U64
    kind: U8
    name: I64
    name_end: I64
    """Where the module begins, of lines of code; where the line ends, of others."""
    line_end: I64
    run: U32
    """Rises by one where a line of code has another module than the one before."""


@cache
def _library() -> ctypes.CDLL:
    text = ctypes.c_char_p
    functions: Functions = {
        "xh_gather": (C_U64, [text, C_U64, *[POINTER] * 3, C_U64, POINTER, C_U64]),
        "xh_name_ends": (None, [text, C_U64, C_U64, POINTER, C_U64, POINTER]),
        "xh_kallsyms": (ctypes.c_int64, [text, C_U64, C_U32, POINTER, C_U64]),
    }
    return load("perf/_names", ("xh_names_abi", ABI), functions)


def gather(blob: bytes, begin: I64, size: I64, to: I64, out: U8) -> None:
    """`out[to[i] :]` becomes `blob[begin[i] : begin[i] + size[i]]`."""
    held = [np.ascontiguousarray(column, np.int64) for column in (begin, size, to)]
    if len({len(column) for column in held}) > 1:
        raise ValueError("the columns are of different lengths")
    if _library().xh_gather(
        blob, len(blob), *(column.ctypes.data for column in held), len(begin), out.ctypes.data,
        len(out),
    ):  # fmt: skip
        raise ValueError("names that are not in the blob, or have no room")


def name_ends(blob: bytes, name_start: I64) -> I64:
    """Where the NUL behind each name is; else the end of the blob, or MAX_NAME_BYTES on."""
    start = np.ascontiguousarray(name_start, np.int64)
    ends = np.empty(len(start), np.int64)
    _library().xh_name_ends(
        blob, len(blob), MAX_NAME_BYTES, start.ctypes.data, len(start), ends.ctypes.data
    )
    return ends


def kallsyms_lines(data: bytes, digits: int) -> Lines | int:
    """Its columns, or the number of the line, from 1 on, that isn't `address type name`."""
    count = data.count(b"\n")
    lines = Lines(
        address=np.empty(count, np.uint64),
        kind=np.empty(count, np.uint8),
        name=np.empty(count, np.int64),
        name_end=np.empty(count, np.int64),
        line_end=np.empty(count, np.int64),
        run=np.empty(count, np.uint32),
    )
    places = _Lines(*(getattr(lines, name).ctypes.data for name, *_ in _Lines._fields_))
    found = _library().xh_kallsyms(data, len(data), digits, ctypes.addressof(places), count)
    return lines if found >= 0 else -int(found)
