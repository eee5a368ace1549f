"""`.eh_frame_hdr`: where functions begin, which stripping does not take away.

Without it each address of a stripped program would be a frame of its own, and a function that has
a core for itself thousands of them. The table is there for exceptions to be unwound: pairs of
(begin of the function, its unwinding), ordered. Layout as in the Linux Standard Base, 10.6.2.
"""

from __future__ import annotations

import numpy as np

from exhume.errors import ParseError
from exhume.model.arrays import U64
from exhume.perf.symbols.build import LOCAL, MAX_SYMBOLS, NOTYPE, Symbols
from exhume.perf.symbols.elf import Elf
from exhume.perf.symbols.elfsymbols import code_end
from exhume.perf.symbols.image import Image

_HEAD_BYTES = 12
# Version; how the address of .eh_frame, the count and the pairs are written. All linkers do it so:
# relative to where it stands, four bytes; four bytes; relative to the section, four bytes each.
_VERSION, _ADDRESS, _COUNT, _PAIRS = 1, 0x1B, 0x03, 0x3B
_PAIR_BYTES = 8


def read(image: Image, program: Elf, path: str) -> Symbols | None:
    """Functions without names, as far as the table tells; each reaches to the next."""
    section = program.section(".eh_frame_hdr")
    if section is None or section.size_bytes < _HEAD_BYTES:
        return None
    data = image.read(section.offset, min(section.size_bytes, MAX_SYMBOLS * _PAIR_BYTES))
    if len(data) < _HEAD_BYTES or tuple(data[:4]) != (_VERSION, _ADDRESS, _COUNT, _PAIRS):
        return None
    count = int(np.frombuffer(data, f"{program.byte_order}u4", 1, 8)[0])
    if _HEAD_BYTES + count * _PAIR_BYTES > section.size_bytes:
        raise ParseError(path, f"offset {section.offset}", f"a table of {count} functions")
    count = min(count, (len(data) - _HEAD_BYTES) // _PAIR_BYTES)
    pairs = np.frombuffer(data, f"{program.byte_order}i4", 2 * count, _HEAD_BYTES)
    begin = pairs[::2].astype(np.int64).view(np.uint64) + np.uint64(section.address)
    limit = code_end(program.sections, begin)
    inside = limit > 0
    start: U64 = begin[inside]
    none = np.zeros(len(start), np.int64)
    return Symbols(
        start=start,
        size=np.zeros(len(start), np.uint64),
        limit=limit[inside],
        rank=np.full(len(start), LOCAL + NOTYPE, np.uint8),
        name_start=none,
        name_end=none,
        blob=b"",
    )
