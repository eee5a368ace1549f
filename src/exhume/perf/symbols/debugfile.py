"""What was stripped from a program and may lie elsewhere: debug files, MiniDebugInfo."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from exhume.errors import ParseError
from exhume.perf.symbols import elf
from exhume.perf.symbols.build import Symbols
from exhume.perf.symbols.files import open_in_root
from exhume.perf.symbols.image import Image

_DEBUG_ROOT = PurePosixPath("/usr/lib/debug")
_MAX_CRC_BYTES = 256 << 20
_CRC_CHUNK_BYTES = 1 << 20
_MAX_MINIDEBUG_BYTES = 64 << 20
_XZ_MEMORY_BYTES = 96 << 20


def read_separate(program: elf.Elf, path: str, roots: Sequence[Path]) -> Symbols | None:
    """The `.symtab` of the program's debug file, below the first root that has the right one."""
    for root in _distinct(roots):
        for name in places(program.build_id, program.debuglink, path):
            try:
                with open_in_root(root, name) as file:
                    if file.size_bytes > elf.MAX_FILE_BYTES:
                        continue
                    found = elf.parse(file.image, name)
                    if found.symtab is not None and _belongs(found, file.image, program):
                        return found.symtab
            except (OSError, ParseError):
                continue
    return None


def places(build_id: bytes | None, link: elf.DebugLink | None, path: str) -> Iterator[str]:
    """Where gdb looks, in its order."""
    if build_id is not None and len(build_id) > 1:
        digits = build_id.hex()
        yield str(_DEBUG_ROOT / ".build-id" / digits[:2] / f"{digits[2:]}.debug")
    if link is not None and path.startswith("/"):
        folder = PurePosixPath(path).parent
        yield str(folder / link.name)
        yield str(folder / ".debug" / link.name)
        yield str(_DEBUG_ROOT / folder.relative_to("/") / link.name)


def read_minidebug(image: Image, program: elf.Elf, path: str) -> Symbols | None:
    """`.gnu_debugdata` (Fedora): an xz-compressed ELF with the symbols `.dynsym` lacks."""
    section = program.section(".gnu_debugdata")
    if section is None or section.size_bytes > _MAX_MINIDEBUG_BYTES:
        return None
    import lzma  # a library of its own, and only here

    data = image.read(section.offset, section.size_bytes)
    try:
        inflate = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
        return elf.parse(inflate.decompress(data, _MAX_MINIDEBUG_BYTES), path).symtab
    except (lzma.LZMAError, EOFError) as error:
        raise ParseError(path, f"offset {section.offset}", f"xz data ({error})") from error


def _belongs(found: elf.Elf, image: Image, program: elf.Elf) -> bool:
    if program.build_id is not None:
        return found.build_id == program.build_id
    return program.debuglink is not None and _crc32(image) == program.debuglink.crc32


def _crc32(image: Image) -> int:
    if image.size_bytes > _MAX_CRC_BYTES:
        return -1
    crc = 0
    for at in range(0, image.size_bytes, _CRC_CHUNK_BYTES):
        crc = zlib.crc32(image.read(at, _CRC_CHUNK_BYTES), crc)
    return crc


def _distinct(roots: Sequence[Path]) -> Iterator[Path]:
    """A process outside any container has our own root: look there once."""
    seen: set[tuple[int, int]] = set()
    for root in roots:
        try:
            stat = root.stat()
        except OSError:
            continue
        if (stat.st_dev, stat.st_ino) not in seen:
            seen.add((stat.st_dev, stat.st_ino))
            yield root
