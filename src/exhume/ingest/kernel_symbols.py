"""The kernel's names for one perf.data: perf's own by build id, this machine's, or a copy's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.ingest.kernel_copies import (
    KallsymsCopy,
    Layout,
    fit,
    layout_of,
    read_copy,
    read_own,
)
from exhume.ingest.symbols import Places
from exhume.model.arrays import U64
from exhume.perf.datachunk import KernelMap
from exhume.perf.datafeatures import Features
from exhume.perf.symbols import elf
from exhume.perf.symbols.build import build, raw
from exhume.perf.symbols.capture import read_table
from exhume.perf.symbols.files import open_in_root
from exhume.perf.symbols.mapped import OWN_ROOT, same_build_id
from exhume.perf.symbols.table import SymbolTable

KERNEL = "[kernel.kallsyms]"
_VMLINUX = (
    "/boot/vmlinux-{}", "/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux",
    "/lib/modules/{}/build/vmlinux",
)  # fmt: skip
_NO_ADDRESSES: U64 = np.empty(0, np.uint64)
_NO_NAMES = "no kernel names: import a copy of its /proc/kallsyms along with it, or give --symfs"


class KernelNames(Struct, frozen=True):
    table: SymbolTable | None
    how: str
    """Where they come from, or why there are none."""


def kernel_names(
    places: Places,
    features: Features,
    maps: Iterable[KernelMap],
    addresses: U64 = _NO_ADDRESSES,
    *,
    is_local: bool = False,
) -> KernelNames:
    """`addresses`: of some samples; `is_local`: recorded on this machine.

    A copy of that very boot is best: it has the modules too.
    """
    layout = layout_of(maps, addresses)
    copies = _copies(places, features, is_local)
    names, refused = _best(copies, layout)
    names = names or _vmlinux(places, features, layout) or KernelNames(None, _NO_NAMES)
    return replace(names, how="; ".join((names.how, *refused)))


def _best(
    copies: Iterable[tuple[str, KallsymsCopy]], layout: Layout
) -> tuple[KernelNames | None, list[str]]:
    """The best, and what was looked at before it and is of another kernel."""
    moved: KernelNames | None = None
    refused: list[str] = []
    for name, copy in copies:
        found = fit(copy, layout)
        if found.against:
            refused.append(f"{name} is not used, it is of another kernel: {found.against}")
        elif found.is_same_boot:
            return KernelNames(copy.table, f"kernel names from {name}"), refused
        elif moved is None:
            how = f"kernel names from {name}, without its modules, which lay elsewhere"
            if found.shift:
                how = f"kernel names from {name}, moved by {found.shift:#x} to where the kernel lay"
            moved = KernelNames(_moved(copy.table, found.shift), how)
    return moved, refused


def _copies(
    places: Places, features: Features, is_local: bool
) -> Iterator[tuple[str, KallsymsCopy]]:
    """The surest first: by build id, of this machine, and then what lies nearest to the capture."""
    build_id = features.build_ids.get(KERNEL, b"")
    if build_id and places.build_id_cache is not None:
        path = places.build_id_cache / KERNEL / build_id.hex() / "kallsyms"
        if (found := read_copy(path)) is not None:
            yield str(path), found
    is_own = is_local and _is_own_kernel(places.host, build_id)
    if is_own and (own := read_own(places.host.proc)) is not None:
        yield "this machine", own
    for path in places.kallsyms:
        if (found := read_copy(path)) is not None:
            yield str(path), found


def _is_own_kernel(host: Host, build_id: bytes) -> bool:
    """Does nothing say that this machine runs another kernel by now?"""
    try:
        notes = read_bytes(host.sys / "kernel" / "notes") or b""
    except OSError:
        notes = b""
    own = elf.build_id_in_notes(notes)
    return not build_id or own is None or same_build_id(own, build_id)


def _moved(table: SymbolTable, shift: int) -> SymbolTable:
    """Modules are loaded anywhere: of another boot only the kernel itself can be moved."""
    core = build([raw(table).where(table.module == 0)])
    step = np.uint64(shift % (1 << 64))
    with np.errstate(over="ignore"):
        return replace(core, start=core.start + step, end=core.end + step)


def _vmlinux(places: Places, features: Features, layout: Layout) -> KernelNames | None:
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
            if layout.reference is not None:
                symbol, address = layout.reference
                names = [i for i in range(len(table)) if table.name(i) == symbol]
                shift = address - int(table.start[names[0]]) if names else 0
            return KernelNames(_moved(table, shift), f"kernel names from {path}")
    return None
