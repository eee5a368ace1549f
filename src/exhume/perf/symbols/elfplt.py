"""`foo@plt`: the stubs through which a program calls its libraries have no symbols of their own."""

from __future__ import annotations

import numpy as np

from exhume.perf.symbols.build import LOCAL, Symbols
from exhume.perf.symbols.elfsymbols import (
    EM_AARCH64,
    EM_X86_64,
    Section,
    symbol_dtype,
)
from exhume.perf.symbols.image import Image
from exhume.perf.symbols.names import name_ends

_MAX_ENTRIES = 20_000
_MAX_STRINGS_BYTES = 16 << 20
_RELA = [("offset", "u8"), ("info", "u8"), ("addend", "i8")]
_ENTRY_BYTES = 16
_SUFFIX = b"@plt"
_HEAD_BYTES = {EM_X86_64: 16, EM_AARCH64: 32}


def read_plt(
    image: Image, sections: tuple[Section, ...], shape: str, machine: int
) -> Symbols | None:
    """Entry i of the PLT serves relocation i of `.rela.plt`. None where that can't be relied on."""
    by_name = {section.name: section for section in sections}
    rela, second, plt = (by_name.get(name) for name in (".rela.plt", ".plt.sec", ".plt"))
    if shape[1:] != "64" or machine not in _HEAD_BYTES or rela is None or plt is None:
        return None
    relocation = np.dtype([(name, shape[0] + code) for name, code in _RELA])
    count = min(rela.size_bytes // relocation.itemsize, _MAX_ENTRIES)
    # With IBT the stubs that are called stand in .plt.sec, without a head.
    stubs, head_bytes = (second, 0) if second is not None else (plt, _HEAD_BYTES[machine])
    if not 0 < count <= (stubs.size_bytes - head_bytes) // _ENTRY_BYTES:
        return None
    if not 0 < rela.link < len(sections) or not 0 < sections[rela.link].link < len(sections):
        return None
    data = image.read(rela.offset, count * relocation.itemsize)
    rows = np.frombuffer(data, relocation, len(data) // relocation.itemsize)
    symbol = (rows["info"] >> 32).astype(np.int64)
    names = _names(image, sections[rela.link], sections, shape, symbol)
    base = min(stubs.address, 1 << 63) + head_bytes
    named = np.array([index for index, name in enumerate(names) if name], np.uint64)
    if not len(named):
        return None
    ends = np.cumsum([len(name) + len(_SUFFIX) for name in names if name], dtype=np.int64)
    start = np.uint64(base) + named * np.uint64(_ENTRY_BYTES)
    size = np.full(len(named), _ENTRY_BYTES, np.uint64)
    return Symbols(
        start=start,
        size=size,
        limit=start + size,
        rank=np.full(len(named), LOCAL, np.uint8),
        name_start=np.concatenate([[0], ends[:-1]]),
        name_end=ends,
        blob=b"".join([name + _SUFFIX for name in names if name]),
    )


def _names(
    image: Image,
    table: Section,
    sections: tuple[Section, ...],
    shape: str,
    symbol: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> list[bytes]:
    """Names of these rows of the dynamic symbol table; empty where there is none (IRELATIVE)."""
    dtype = symbol_dtype(shape)
    highest = min(int(symbol.max(initial=0)) + 1, table.size_bytes // dtype.itemsize, 1 << 20)
    data = image.read(table.offset, highest * dtype.itemsize)
    rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
    strings = sections[table.link]
    blob = image.read(strings.offset, min(strings.size_bytes, _MAX_STRINGS_BYTES))
    known = (symbol > 0) & (symbol < len(rows))
    start = np.full(len(symbol), len(blob), np.int64)
    start[known] = np.minimum(rows["name"][symbol[known]].astype(np.int64), len(blob))
    ends = np.minimum(name_ends(blob, start), start + 1024)
    return [blob[begin:end] for begin, end in zip(start.tolist(), ends.tolist(), strict=True)]
