"""Our C libraries: each lies beside the package whose modules call it, compiled by `make setup`."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from exhume.errors import EXIT_INTERNAL, ExhumeError

POINTER, C_INT = ctypes.c_void_p, ctypes.c_int
C_U64, C_U32 = ctypes.c_uint64, ctypes.c_uint32
C_I64 = ctypes.c_int64

Functions = Mapping[str, tuple[object, Sequence[object]]]
"""By name: what it returns, and what it takes."""


def load(name: str, abi: tuple[str, int], functions: Functions) -> ctypes.CDLL:
    """`name` as in `perf/_native`; `abi`: a function, and what one of this version returns."""
    base = Path(__file__).parent / name
    for suffix in EXTENSION_SUFFIXES:
        path = base.with_name(base.name + suffix)
        if path.exists():
            library = ctypes.CDLL(str(path))
            if getattr(library, abi[0])() == abi[1]:
                break
    else:
        raise ExhumeError(
            f"the compiled library {name} is missing or of another version",
            todo="run `make setup`, which compiles it",
            exit_code=EXIT_INTERNAL,
        )
    for function, (result, arguments) in functions.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, list(arguments)
    return library
