"""Read the symbol table of a mapped file while its process still lives, then let go of the file.

A crash-looping program lives for seconds, and a container's files are gone with it. A descriptor
kept open would pin what others are accused of pinning, so none outlives the call.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.perf.symbols import ehframe, elf, gopclntab, vdso
from exhume.perf.symbols.build import Symbols, build
from exhume.perf.symbols.cache import path_of
from exhume.perf.symbols.debugfile import read_minidebug, read_separate
from exhume.perf.symbols.image import BytesImage, Image
from exhume.perf.symbols.mapped import (
    OWN_ROOT,
    VDSO,
    MappedFile,
    is_mapped,
    no_file_reason,
    same_build_id,
    ways,
)
from exhume.perf.symbols.table import SymbolTable

# Where a stripped program has its functions still; the last one knows no names.
_EXTRAS = (("minidebug", read_minidebug), ("pclntab", gopclntab.read), ("eh_frame", ehframe.read))


class CaptureResult(Struct, frozen=True):
    key: str
    stored: bool
    """There is a table in the cache now. It may be empty: still the file's segments are known."""
    symbol_count: int
    sources: tuple[str, ...]
    """Of `symtab`, `dynsym`, `plt`, `debug`, `minidebug`, `pclntab`, `eh_frame`."""
    via: str
    """How the file was reached: `map_files`, `exe`, `root`, `host` or `self`; empty where not."""
    reason: str
    """Why there are no symbols, or no table; empty where there are."""


class _Read(Struct, frozen=True):
    table: SymbolTable
    sources: tuple[str, ...]


def capture(host: Host, mapping: MappedFile, cache: Path) -> CaptureResult:
    """Writes `<cache>/<key>.sym`. Never raises for what the process or its files do."""
    target = path_of(cache, mapping.key)
    try:
        read, via, reason = _read_vdso(host, mapping)
        if read is None and not reason:
            read, via, reason = _read_file(host, mapping)
    except ParseError as error:
        read, via, reason = None, "", error.what
    if read is None:
        return CaptureResult(mapping.key, False, 0, (), via, reason)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        read.table.save(target)
    except OSError as error:
        reason = f"the symbol cache {cache} can't be written: {error.strerror}"
        return CaptureResult(mapping.key, False, 0, read.sources, via, reason)
    count = read.table.named
    reason = "" if count else "stripped: it has no symbols, and no debug file was found"
    return CaptureResult(mapping.key, True, count, read.sources, via, reason)


def read_table(image: Image, path: str, roots: tuple[Path, ...] = ()) -> SymbolTable:
    """The table of one ELF file; its debug files are sought below `roots`."""
    return _read_elf(image, path, roots).table


def _read_file(host: Host, mapping: MappedFile) -> tuple[_Read | None, str, str]:
    reason = no_file_reason(mapping.path)
    if reason:
        return None, "", reason
    roots = (host.proc / str(mapping.pid) / "root", OWN_ROOT)
    reason = f"process {mapping.pid} is gone, and so is {mapping.path}"
    for way in ways(host, mapping.pid, mapping.path, mapping.start, mapping.end):
        try:
            with way.file as file:
                if file.size_bytes > elf.MAX_FILE_BYTES:
                    return None, way.name, f"{mapping.path} is larger than 4 GiB"
                if is_mapped(way, file, mapping):
                    return _read_elf(file.image, mapping.path, roots), way.name, ""
                reason = f"{mapping.path} was replaced after it was mapped"
        except PermissionError:
            if way.name == "root":
                reason = f"no permission for {mapping.path}: CAP_SYS_PTRACE gives it"
        except OSError:
            continue
    return None, "", reason


def _read_vdso(host: Host, mapping: MappedFile) -> tuple[_Read | None, str, str]:
    if mapping.path != VDSO:
        return None, "", ""
    data = vdso.read_own(host)
    if data is None:
        return None, "", "the recorder has no [vdso] of its own to read"
    image = BytesImage(data)
    found = elf.read_build_id(image, VDSO)
    if mapping.build_id is not None and not same_build_id(found, mapping.build_id):
        return None, "", "another [vdso] than the recorder's own (a 32-bit process?)"
    return _read_elf(image, VDSO, ()), "self", ""


def _read_elf(image: Image, path: str, roots: tuple[Path, ...]) -> _Read:
    program = elf.parse(image, path)
    pieces: dict[str, Symbols | None] = {"symtab": program.symtab, "dynsym": program.dynsym}
    if not program.symtab:
        pieces["debug"] = read_separate(program, path, roots)
        if not pieces["debug"]:
            for name, reader in _EXTRAS:
                with suppress(ParseError):  # a broken extra must not cost the rest
                    pieces[name] = reader(image, program, path)
                if pieces.get(name):
                    break
    pieces["plt"] = program.plt
    found = {name: piece for name, piece in pieces.items() if piece}
    table = build(list(found.values()), program.load_segments)
    return _Read(table, tuple(found))
