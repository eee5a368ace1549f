"""Copies of kallsyms, and whether one is of the kernel that a capture was made on.

A copy does not say which kernel it is of. Without KASLR `_text` lies where it always lies, and any
copy would give names: wrong ones. What tells them apart is what the capture says of its kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.derive.sets import distinct
from exhume.errors import ParseError
from exhume.host import read_bytes
from exhume.ingest.streams import Source
from exhume.model.arrays import U64
from exhume.perf.datachunk import KernelMap
from exhume.perf.script_frames import kernel_module
from exhume.perf.symbolize import KERNEL_MODULE
from exhume.perf.symbols import kallsyms
from exhume.perf.symbols.table import SymbolTable

MAX_KALLSYMS_BYTES = 128 << 20
_STEP_BYTES = 1 << 20
# `[kernel.kallsyms]_text`: the symbol whose address the file offset of that mapping is.
_REFERENCE = re.compile(r"\[kernel\.kallsyms\](\w+)")
_DATA_KINDS = (b" D ", b" d ", b" B ", b" b ", b" R ", b" r ")
_ENDS = ("_etext", "_edata")
"""Where the kernel's own map ends: since perf 5.3 at the first, since 6.9 at the second."""
_TOP = (1 << 64) - (1 << 16)
"""A map that goes up to here ends where nothing else was known to follow."""
_ENOUGH_ADDRESSES = 10
_MOST_OUTSIDE_RATIO = 0.1


class KallsymsCopy(Struct, frozen=True):
    table: SymbolTable
    text: bytes

    def address(self, symbol: str) -> int | None:
        at = self.text.find(b" %s\n" % symbol.encode())
        line = self.text[self.text.rfind(b"\n", 0, max(at, 0)) + 1 : max(at, 0)]
        return int(line.split()[0], 16) if line else None

    @property
    def has_data(self) -> bool:
        """Not only code: nobody took out what is none."""
        return any(kind in self.text for kind in _DATA_KINDS)


class Layout(Struct, frozen=True):
    """What a capture says of its kernel."""

    reference: tuple[str, int] | None
    """A symbol of the kernel, and where it lay."""
    end: int | None
    """Where the kernel's own map ends."""
    modules: Mapping[str, tuple[int, int]]
    """From where to where each lay."""
    addresses: U64
    """Of samples in the kernel itself, each once."""


class Fit(Struct, frozen=True):
    shift: int
    """How much further up the kernel lay than in the copy: it moves at each boot (KASLR)."""
    is_same_boot: bool
    """As far as anything says: then the copy's modules lie where they lay, too."""
    against: str
    """What shows that the copy is of another kernel; empty where nothing does."""


def layout_of(maps: Iterable[KernelMap], addresses: U64) -> Layout:
    """`addresses`: of any samples."""
    core: KernelMap | None = None
    modules: dict[str, tuple[int, int]] = {}
    for one in maps:
        name = kernel_module(one.name, one.start)
        if core is None and _REFERENCE.fullmatch(one.name):
            core = one
        elif name is not None and name != KERNEL_MODULE:
            modules.setdefault(name, (one.start, min(one.start + one.length, _TOP)))
    if core is None or (found := _REFERENCE.fullmatch(core.name)) is None:
        return Layout(None, None, modules, addresses[:0])
    end = core.start + core.length
    is_within = (addresses >= np.uint64(core.start)) & (addresses < np.uint64(min(end, _TOP)))
    return Layout(
        reference=(found[1], core.file_offset),
        end=end,
        modules=modules,
        addresses=distinct(addresses[is_within]) if end < _TOP else addresses[:0],
    )


def fit(copy: KallsymsCopy, layout: Layout) -> Fit:
    shift = _shift(copy, layout)
    against = _other_end(copy, layout, shift) or _outside(copy, layout, shift)
    return Fit(shift, shift == 0 and _modules_agree(copy, layout), against)


def _shift(copy: KallsymsCopy, layout: Layout) -> int:
    if layout.reference is None:
        return 0
    symbol, address = layout.reference
    own = copy.address(symbol)
    return 0 if own is None else address - own


def _other_end(copy: KallsymsCopy, layout: Layout, shift: int) -> str:
    """No two builds are of the same length. Older perfs let the map go up to the next module."""
    follows = {start for start, _ in layout.modules.values()}
    if layout.end is None or layout.end >= _TOP or layout.end in follows:
        return ""
    ends = [own + shift for name in _ENDS if (own := copy.address(name)) is not None]
    if not ends or layout.end in ends or not copy.has_data:
        return ""
    return "its kernel ends elsewhere"


def _outside(copy: KallsymsCopy, layout: Layout, shift: int) -> str:
    count = len(layout.addresses)
    if count < _ENOUGH_ADDRESSES:
        return ""
    with np.errstate(over="ignore"):
        rows = copy.table.lookup(layout.addresses - np.uint64(shift % (1 << 64)))
    outside = int((rows < 0).sum())
    if outside <= _MOST_OUTSIDE_RATIO * count:
        return ""
    return f"{outside} of {count} addresses in the kernel are in none of its functions"


def _modules_agree(copy: KallsymsCopy, layout: Layout) -> bool:
    """Some may have been loaded anew; of another boot most lie elsewhere."""
    table = copy.table
    found = []
    for number, name in enumerate(table.modules):
        if name in layout.modules:
            low, high = np.searchsorted(table.start, np.array(layout.modules[name], np.uint64))
            found.append(bool((table.module[low:high] == number).any()))
    return 2 * sum(found) >= len(found)


@lru_cache(maxsize=2)
def read_copy(path: Path) -> KallsymsCopy | None:
    """Kept: the pieces of a night are all of one kernel."""
    try:
        source = Source.of(path)
        if not source.compression and path.stat().st_size <= MAX_KALLSYMS_BYTES:
            return _parsed(path.read_bytes(), str(path))
        with source.open() as stream:
            parts, left = [], MAX_KALLSYMS_BYTES
            while part := stream.read(min(left, _STEP_BYTES)):
                parts.append(part)
                left -= len(part)
        return _parsed(b"".join(parts), str(path))
    except (OSError, ParseError):
        return None


@lru_cache(maxsize=1)
def read_own(proc: Path) -> KallsymsCopy | None:
    """This machine's."""
    try:
        text = read_bytes(proc / "kallsyms")
        return None if text is None else _parsed(text, "kallsyms")
    except (OSError, ParseError):
        return None


def _parsed(text: bytes, path: str) -> KallsymsCopy | None:
    table = kallsyms.parse(text, path).table
    return None if table is None else KallsymsCopy(table, text)
