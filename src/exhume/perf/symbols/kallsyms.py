"""/proc/kallsyms: where the kernel's functions are, those of its modules and BPF programs too.

    ffffffff81000000 T _stext
    ffffffffc0201000 t nf_hook_slow\t[netfilter]

200,000 lines; C splits them into columns. The `modules` of the table hold the names in
brackets. Nothing here says how long a function is: it extends to the next symbol of any kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.model.arrays import I64, U8, U16, U64, Bool
from exhume.perf.symbols.build import GLOBAL, LOCAL, WEAK, Symbols, build, of_rows, raw
from exhume.perf.symbols.names import Lines, kallsyms_lines
from exhume.perf.symbols.table import SymbolTable

Ksymbol: TypeAlias = tuple[int, int, str, str]
"""Address, length in bytes, name, module: what a KSYMBOL record says."""

BPF = "bpf"
HIDDEN = "addresses are hidden (kernel.kptr_restrict): the kernel's names need CAP_SYSLOG"
_EXPECTED = "`address type name`"
_MAX_MODULES = 1 << 16
# Where no symbol follows: the rest of the page, as perf has it.
_LAST_BYTES = 4096
_NO_CODE = 255
_RANKS: U8 = np.full(256, _NO_CODE, np.uint8)
"""By the letter of a symbol's type, which rank its name has."""
_RANKS[list(b"TWwt")] = GLOBAL, WEAK, WEAK, LOCAL
# `__lock_text_start`, `_stext`, `__irqentry_text_end`, `_sinittext`
_BOUNDARY = re.compile(rb"_*\w*text_(?:start|end|begin)|_[se]?(?:init)?text|_(?:start|end)")


class Kallsyms(Struct, frozen=True):
    table: SymbolTable | None
    reason: str
    """Why there is no table; empty where there is one."""


def read(host: Host) -> Kallsyms:
    try:
        data = read_bytes(host.proc / "kallsyms")
    except PermissionError:
        return Kallsyms(None, HIDDEN)
    if data is None:
        return Kallsyms(None, "this kernel has no kallsyms (CONFIG_KALLSYMS)")
    return parse(data, str(host.proc / "kallsyms"))


def parse(data: bytes, path: str = "kallsyms") -> Kallsyms:
    """Pure. ParseError with the line where one isn't `address type name [module]`."""
    if data.isspace() or not data:
        return Kallsyms(None, "kallsyms is empty")
    if not data.endswith(b"\n"):
        data += b"\n"
    digits = data.find(b" ")
    if digits not in (8, 16):  # all lines have as many: 8 on a 32-bit kernel
        raise ParseError(path, 1, _EXPECTED)
    lines = kallsyms_lines(data, digits)
    if isinstance(lines, int):
        raise ParseError(path, lines, _EXPECTED)
    address, kind = lines.address, lines.kind
    name, name_end = lines.name, lines.name_end
    if not address.any():
        return Kallsyms(None, HIDDEN)
    rank = _RANKS.take(kind)
    module, modules = _modules(data, lines, path)
    limit = _next_address(address)
    keep = (rank != _NO_CODE) & (name_end > name) & (address > 0)
    keep = _best_of_each(address, keep, data, name, name_end)
    functions = Symbols(
        start=address[keep],
        size=np.zeros(int(keep.sum()), np.uint64),
        limit=limit[keep],
        rank=rank[keep],
        name_start=name[keep],
        name_end=name_end[keep],
        blob=data,
        module=module[keep],
    )
    return Kallsyms(build([functions], modules=modules), "")


def _best_of_each(address: U64, keep: Bool, data: bytes, name: I64, name_end: I64) -> Bool:
    """Of several names for one address the last, as perf has it, but no name of a boundary.

    perf makes each symbol end where the next one begins and then prefers one that is not empty
    (symbols__fixup_end, choose_best_symbol): what is left is the last one of the file, whether weak
    or local. So it calls __do_softirq __softirqentry_text_start, which says where a section begins.
    """
    order, best = np.flatnonzero(keep), keep.copy()
    ordered = address[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = order[np.argsort(ordered, kind="stable")]
        ordered = address[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    for run in np.split(again, 1 + np.flatnonzero(np.diff(again) > 1)) if len(again) else ():
        same = order[run[0] : run[-1] + 2].tolist()
        named = [r for r in same if not _BOUNDARY.fullmatch(data[name[r] : name_end[r]])]
        best[same] = False
        best[(named or same)[-1]] = True
    return best


def with_extra(table: SymbolTable, extra: Sequence[Ksymbol]) -> SymbolTable:
    """The table with symbols that came later; they win over what they overlap of [bpf].

    BPF programs come and go, and the place of one is given to the next.
    """
    if not extra:
        return table
    modules = list(table.modules)
    for name in dict.fromkeys(module for *_, module in extra):
        if name not in modules and len(modules) < _MAX_MODULES:
            modules.append(name)
    index = {name: at for at, name in enumerate(modules)}
    rows = [(address, length, name) for address, length, name, _ in extra]
    module = np.array([index.get(module, 0) for *_, module in extra], np.uint16)
    # The last of several at one address is the one that is there now; `build` takes the first.
    late = of_rows(rows[::-1], module=module[::-1])
    early = raw(table)
    if BPF in table.modules:
        is_bpf = table.module == table.modules.index(BPF)
        early = early.where(~(is_bpf & _overlapped(table, rows)))
    return build([late, early], table.load_segments, modules)


def _overlapped(table: SymbolTable, rows: Sequence[tuple[int, int, str]]) -> Bool:
    hit = np.zeros(len(table), np.bool_)
    for address, length, _ in rows:
        low = np.searchsorted(table.end, np.uint64(address), "right")
        high = np.searchsorted(table.start, np.uint64(address + max(length, 1)), "left")
        hit[low:high] = True
    return hit


def _next_address(address: U64) -> U64:
    """The next higher address of any symbol: data behind the last function ends it too."""
    is_later = address[1:] > address[:-1]
    if (is_later | (address[1:] == address[:-1])).all():  # as the kernel writes them
        starts = 1 + np.flatnonzero(is_later)
        ends = np.append(address[starts], address[-1] + np.uint64(_LAST_BYTES))
        return np.repeat(ends, np.diff(starts, prepend=0, append=len(address)))
    ordered = np.sort(address)
    at = np.searchsorted(ordered, address, "right")
    ends = np.append(ordered, ordered[-1] + np.uint64(_LAST_BYTES))
    return np.asarray(ends[at], np.uint64)


def _modules(data: bytes, lines: Lines, path: str) -> tuple[U16, list[str]]:
    """Which module each line of code belongs to. The lines of one come together."""
    begin = np.flatnonzero(np.diff(lines.run, prepend=np.uint32(0)))
    # Behind the tab: `[module]`.
    places = zip(lines.name_end[begin].tolist(), lines.line_end[begin].tolist(), strict=True)
    index: dict[bytes, int] = {b"": 0}
    numbers = [0, *(index.setdefault(data[tab + 2 : end - 1], len(index)) for tab, end in places)]
    if len(index) > _MAX_MODULES:
        raise ParseError(path, "the names in brackets", f"at most {_MAX_MODULES} modules")
    # A newline would tear the list of modules apart when it is stored; the text has none in a line.
    names = [name.decode("utf-8", "replace") for name in index]
    return np.array(numbers, np.uint16)[lines.run], names
