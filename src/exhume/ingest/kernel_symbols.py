"""The kernel's names for one perf.data: from a copy of its kallsyms, or from this machine's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.ingest.streams import Source
from exhume.ingest.symbols import Places
from exhume.perf.datachunk import KernelMap
from exhume.perf.datafeatures import Features
from exhume.perf.symbols import elf, kallsyms
from exhume.perf.symbols.build import build, raw
from exhume.perf.symbols.capture import read_table
from exhume.perf.symbols.files import open_in_root
from exhume.perf.symbols.mapped import OWN_ROOT, same_build_id
from exhume.perf.symbols.table import SymbolTable

MAX_KALLSYMS_BYTES = 128 << 20
_STEP_BYTES = 1 << 20
KERNEL = "[kernel.kallsyms]"
# `[kernel.kallsyms]_text`: the symbol whose address the file offset of that mapping is.
_REFERENCE = re.compile(r"\[kernel\.kallsyms\](\w+)")
_VMLINUX = (
    "/boot/vmlinux-{}", "/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux",
    "/lib/modules/{}/build/vmlinux",
)  # fmt: skip


class KernelNames(Struct, frozen=True):
    table: SymbolTable | None
    how: str
    """Where they come from, or why there are none."""


class _Kallsyms(Struct, frozen=True):
    table: SymbolTable
    text: bytes

    def address(self, symbol: str) -> int | None:
        found = re.search(rb"^([0-9a-f]+) \w %s$" % symbol.encode(), self.text, re.MULTILINE)
        return int(found[1], 16) if found else None


def is_recorded_here(host: Host, features: Features) -> bool:
    return (
        bool(features.hostname)
        and features.hostname == host.hostname()
        and features.release == host.kernel_release()
    )


def kernel_names(places: Places, features: Features, maps: Iterable[KernelMap]) -> KernelNames:
    reference = reference_of(maps)
    best: KernelNames | None = None
    for path, found in _copies(places, features):
        shift = _shift(found, reference)
        if shift == 0:
            return KernelNames(found.table, f"kernel names from {path}")
        if best is None:
            how = f"kernel names from {path}, moved by {shift:#x} to where the kernel lay"
            best = KernelNames(_moved(found.table, shift), how)
    if best is not None:
        return best
    vmlinux = _vmlinux(places, features, reference)
    return vmlinux or KernelNames(
        None, "no kernel names: import a copy of its /proc/kallsyms along with it, or give --symfs"
    )


def reference_of(maps: Iterable[KernelMap]) -> tuple[str, int] | None:
    """A symbol of the kernel, and where it lay when it was recorded."""
    for one in maps:
        if found := _REFERENCE.fullmatch(one.name):
            return found[1], one.file_offset
    return None


def _copies(places: Places, features: Features) -> Iterator[tuple[str, _Kallsyms]]:
    for path in places.kallsyms:
        if (found := _read_copy(path)) is not None:
            yield str(path), found
    build_id = features.build_ids.get(KERNEL, b"").hex()
    if build_id and places.build_id_cache is not None:
        path = places.build_id_cache / KERNEL / build_id / "kallsyms"
        if (found := _read_copy(path)) is not None:
            yield str(path), found
    if is_recorded_here(places.host, features) and (own := _read_own(places.host.proc)) is not None:
        yield "this machine", own


@lru_cache(maxsize=2)
def _read_copy(path: Path) -> _Kallsyms | None:
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
def _read_own(proc: Path) -> _Kallsyms | None:
    try:
        text = read_bytes(proc / "kallsyms")
        return None if text is None else _parsed(text, "kallsyms")
    except (OSError, ParseError):
        return None


def _parsed(text: bytes, path: str) -> _Kallsyms | None:
    table = kallsyms.parse(text, path).table
    return None if table is None else _Kallsyms(table, text)


def _shift(found: _Kallsyms, reference: tuple[str, int] | None) -> int:
    """How much further up the kernel lay than in this copy: it moves at each boot (KASLR)."""
    if reference is None:
        return 0
    own = found.address(reference[0])
    return 0 if own is None else reference[1] - own


def _moved(table: SymbolTable, shift: int) -> SymbolTable:
    """Modules are loaded anywhere: of another boot only the kernel itself can be moved."""
    core = build([raw(table).where(table.module == 0)])
    step = np.uint64(shift % (1 << 64))
    with np.errstate(over="ignore"):
        return replace(core, start=core.start + step, end=core.end + step)


def _vmlinux(
    places: Places, features: Features, reference: tuple[str, int] | None
) -> KernelNames | None:
    build_id = features.build_ids.get(KERNEL, b"")
    for root in (places.symfs, OWN_ROOT):
        for template in _VMLINUX if root is not None and features.release and build_id else ():
            path = template.format(features.release)
            try:
                with open_in_root(root or OWN_ROOT, path) as file:
                    if not same_build_id(elf.read_build_id(file.image, path), build_id):
                        continue
                    table = read_table(file.image, path)
            except (OSError, ParseError):
                continue
            shift = 0
            if reference is not None:
                names = [i for i in range(len(table)) if table.name(i) == reference[0]]
                shift = reference[1] - int(table.start[names[0]]) if names else 0
            return KernelNames(_moved(table, shift), f"kernel names from {path}")
    return None
