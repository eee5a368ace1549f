"""Where an import finds the names of programs: perf's cache of build ids, --symfs, this machine."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host
from exhume.ingest.nearness import nearest, nearest_first
from exhume.ingest.same_path import Here
from exhume.perf.records import FileIdentity
from exhume.perf.stack_names import MappedCode
from exhume.perf.symbols import elf, perfmap, vdso
from exhume.perf.symbols.capture import read_table
from exhume.perf.symbols.cfi import Cfi
from exhume.perf.symbols.cfi import read as read_cfi
from exhume.perf.symbols.files import OpenFile, open_in_root, open_regular
from exhume.perf.symbols.image import BytesImage, Image
from exhume.perf.symbols.mapped import DELETED, OWN_ROOT, VDSO, no_file_reason, same_build_id
from exhume.perf.symbols.table import SymbolTable

_MAX_PERF_MAP_BYTES = 32 << 20
CACHE_BYTES = 64 << 20
_JIT = "jit-"
"""What the key of a JIT's code begins with; its process id follows."""

Result = TypeVar("Result")


class Places(Struct, frozen=True):
    """Where names may lie, for all inputs of one import."""

    host: Host
    symfs: Path | None = None
    """The root of the machine that was recorded, or a copy of parts of it."""
    build_id_cache: Path | None = None
    """perf's own, ~/.debug."""
    kallsyms: tuple[Path, ...] = ()
    perf_maps: tuple[Path, ...] = ()
    """perf-PID.map files among the inputs."""

    def near(self, capture: Path) -> Places:
        """As that capture is to be named: by the files among the inputs that are nearest to it.

        Process ids are the same on all nodes, so a map says nothing of captures elsewhere.
        """
        by_name: dict[str, list[Path]] = {}
        for path in self.perf_maps:
            by_name.setdefault(path.name, []).append(path)
        return replace(
            self,
            kallsyms=tuple(nearest_first(self.kallsyms, capture)),
            perf_maps=tuple(chain(*(nearest(same, capture) for same in by_name.values()))),
        )


@lru_cache(maxsize=2)
def program_symbols(places: Places, is_local: bool) -> ProgramSymbols:
    """One for all inputs that a process reads: the pieces of a night run the same programs."""
    return ProgramSymbols(places, is_local)


class ProgramSymbols:
    """The tables of the programs that captures mention."""

    def __init__(self, places: Places, is_local: bool) -> None:
        """`is_local`: recorded on this machine, so that its files may be taken by path."""
        self._places = places
        self._is_local = is_local
        self._identities: dict[str, FileIdentity] = {}
        self._written_ns: dict[str, int] = {}
        """When those were last written that were taken for the file by path and inode alone."""
        self._tables: OrderedDict[str, SymbolTable | None] = OrderedDict()
        self._held_bytes = 0
        self._cfi: OrderedDict[str, Cfi | None] = OrderedDict()
        self._cfi_bytes = 0

    def code(self, identity: FileIdentity, build_id: bytes = b"") -> MappedCode:
        """Where to look for the names of a mapped file. `build_id`: where its record has none."""
        path = identity.path
        if path == VDSO:
            return MappedCode(VDSO, path)
        if no_file_reason(path):
            return MappedCode("", path)
        known = replace(identity, build_id=identity.build_id or build_id)
        key = _key(known)
        self._identities.setdefault(key, known)
        return MappedCode(key, path)

    @property
    def are_by_inode(self) -> bool:
        """Does the inode of a mapping tell whether a file is the one that was mapped?"""
        return self._is_local and self._places.symfs is None

    def here(self, path: str) -> Here | None:
        with suppress(OSError, ParseError), open_in_root(OWN_ROOT, path) as file:
            return Here(file.inode, elf.read_build_id(file.image, path) or b"")
        return None

    def find(self, key: str) -> SymbolTable | None:
        """Kept up to CACHE_BYTES, last used first: all captures of a node ask for the same."""
        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        table = self._tables[key] = self._find(key)
        self._held_bytes += _size_bytes(table)
        while self._held_bytes > CACHE_BYTES and len(self._tables) > 1:
            self._held_bytes -= _size_bytes(self._tables.popitem(last=False)[1])
        return table

    def is_newer(self, key: str, recorded_ns: int) -> bool:
        """Is what `find` and `cfi` read another file by now: one that was written over it?"""
        return self._written_ns.get(key, 0) > recorded_ns

    def doubt(self, key: str, recorded_ns: int) -> str:
        """What is wrong with what `find` gave; empty where nothing is known of it."""
        if self.is_newer(key, recorded_ns):
            path = self._identities[key].path
            return f"{path} was written after the capture and gives no names; --symfs may"
        given = self._given_maps(key)
        if len({text for path in given if (text := _read_map(path)) is not None}) < 2:
            return ""
        return (
            f"{given[0]} is taken for the names of a JIT; {given[1]} says otherwise and lies as "
            "near: put each beside its capture"
        )

    def _given_maps(self, key: str) -> list[Path]:
        name = f"perf-{key.removeprefix(_JIT)}.map"
        return [path for path in self._places.perf_maps if path.name == name]

    def _find(self, key: str) -> SymbolTable | None:
        if key.startswith(_JIT):
            return self._jit(key, int(key.removeprefix(_JIT)))
        if key == VDSO:
            image = self._vdso()
            return None if image is None else read_table(image, VDSO)
        identity = self._identities.get(key)
        return None if identity is None else self._program(identity)

    def cfi(self, key: str) -> Cfi | None:
        """How the callers of a program's functions are found; None where its file is not here."""
        if key not in self._cfi:
            found = self._cfi[key] = self._read_cfi(key)
            self._cfi_bytes += _cfi_bytes(found)
            while self._cfi_bytes > CACHE_BYTES and len(self._cfi) > 1:
                self._cfi_bytes -= _cfi_bytes(self._cfi.popitem(last=False)[1])
        return self._cfi[key]

    def _read_cfi(self, key: str) -> Cfi | None:
        if key == VDSO:
            image = self._vdso()
            return None if image is None else read_cfi(image, VDSO)
        identity = self._identities.get(key)
        if identity is None:
            return None
        return self._read(identity, lambda image, _: read_cfi(image, identity.path))

    def _vdso(self) -> Image | None:
        """The kernel's code for programs: the same in all of them, as long as it is up."""
        data = vdso.read_own(self._places.host) if self._is_local else None
        return None if data is None else BytesImage(data)

    def _program(self, identity: FileIdentity) -> SymbolTable | None:
        path = identity.path.removesuffix(DELETED)
        return self._read(identity, lambda image, roots: read_table(image, path, roots))

    def _read(
        self, identity: FileIdentity, read: Callable[[Image, tuple[Path, ...]], Result]
    ) -> Result | None:
        """What `read` makes of the program's file, and of the roots that others of it lie below."""
        path = identity.path.removesuffix(DELETED)
        build_id = identity.build_id
        roots = tuple(root for root in (self._places.symfs, OWN_ROOT) if root is not None)
        for cached in self._cached(build_id):
            with suppress(OSError, ParseError), open_regular(cached) as file:
                if same_build_id(elf.read_build_id(file.image, path), build_id):
                    return read(file.image, roots)
        for root in roots:
            with suppress(OSError, ParseError), open_in_root(root, path) as file:
                is_given = root is self._places.symfs
                if file.size_bytes <= elf.MAX_FILE_BYTES and self._is_same(
                    file, identity, build_id, given=is_given
                ):
                    if not build_id and not is_given:
                        self._written_ns[_key(identity)] = file.modified_ns
                    return read(file.image, roots)
        return None

    def _cached(self, build_id: bytes) -> Iterator[Path]:
        """`.build-id/ab/cdef…` is a folder with the file `elf` in it; in old versions the file."""
        if len(build_id) < 2 or self._places.build_id_cache is None:
            return
        entry = self._places.build_id_cache / ".build-id" / build_id.hex()[:2] / build_id.hex()[2:]
        yield entry / "elf"
        yield entry

    def _is_same(
        self, file: OpenFile, identity: FileIdentity, build_id: bytes, *, given: bool
    ) -> bool:
        if build_id:
            return same_build_id(elf.read_build_id(file.image, identity.path), build_id)
        if given:
            return True
        # A path alone says little: another machine has other files under the same names.
        inode = identity.device_inode[2]
        return self._is_local and inode in (0, file.inode)

    def _jit(self, key: str, pid: int) -> SymbolTable | None:
        name = f"perf-{pid}.map"
        for given in self._given_maps(key):
            if (text := _read_map(given)) is not None:
                return perfmap.parse(text).table
        if self._places.symfs is not None:
            with suppress(OSError), open_in_root(self._places.symfs, f"/tmp/{name}") as file:
                return perfmap.parse(file.image.read(0, _MAX_PERF_MAP_BYTES)).table
        if self._is_local and pid > 0:
            # Most that were recorded are gone, and their maps are not.
            found = perfmap.read(self._places.host, pid) or perfmap.read_left(OWN_ROOT, pid)
            return None if found is None else found.table
        return None


def _key(identity: FileIdentity) -> str:
    return f"{identity.path} {identity.build_id.hex() or identity.device_inode}"


def _read_map(path: Path) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_PERF_MAP_BYTES)
    except OSError:
        return None


def _cfi_bytes(found: Cfi | None) -> int:
    return found.size_bytes if found else 0


def _size_bytes(table: SymbolTable | None) -> int:
    if table is None:
        return 0
    columns = (table.start, table.end, table.name_offset, table.module)
    return len(table.names) + sum(column.nbytes for column in columns)
