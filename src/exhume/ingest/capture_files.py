"""The programs that one perf.data maps, and where their names come from.

Apart from `CaptureNames`, so that who asks for names does not hold what holds it: such a circle,
with all that is known of a large capture in it, would outlive the reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized

from exhume.ingest.recorded_here import is_recorded_here
from exhume.ingest.same_path import Here, Inode, build_id_of, inode_of
from exhume.ingest.symbols import Places, ProgramSymbols, program_symbols
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity
from exhume.perf.stack_names import MappedCode
from exhume.perf.symbols.cfi import Cfi
from exhume.perf.symbols.mapped import VDSO, no_file_reason
from exhume.perf.symbols.table import SymbolTable

_MAX_FILES = 1 << 15
_MAX_OTHERS = 1 << 17


class CaptureFiles:
    def __init__(self, places: Places, features: Features, recorded_ns: int) -> None:
        """`features` may still grow; `recorded_ns`: when the capture was written, in wall time."""
        self._places = places
        self._features = features
        self._recorded_ns = recorded_ns
        self._programs: ProgramSymbols | None = None
        self.is_local = False
        """It was recorded on this machine."""
        self.by_hash: dict[int, MappedCode] = {}
        self._others: dict[str, MappedCode] = {}
        """What is no file, by path: shared memory has another inode for each mapping."""
        self._of_others = 0
        """How many of `by_hash` are among these."""
        self._waiting: dict[int, FileIdentity] = {}
        """Until it is asked for names: by then more have shown whether it was recorded here."""
        self._doubts: dict[str, str] = {}
        self._mapped: dict[str, set[Inode]] = {}
        """The files that were mapped by one path, where perf's table tells of it."""
        self._here: dict[str, Here | None] = {}
        """What lies there on this machine, of the paths with several."""
        self._unclear: dict[str, str] = {}
        """Paths of files of which nobody knows the build id, by key."""
        self._unnamed: set[str] = set()
        """Those of them that have samples."""

    @property
    def is_full(self) -> bool:
        return len(self.by_hash) - self._of_others + len(self._waiting) >= _MAX_FILES

    def is_known(self, hash_: int) -> bool:
        """Need nobody say what file it is?"""
        return hash_ in self.by_hash or hash_ in self._waiting or self.is_full

    def note(self, files: Mapping[int, FileIdentity]) -> None:
        for hash_, identity in files.items():
            if self.is_known(hash_):
                continue
            if identity.path != VDSO and no_file_reason(identity.path):
                self._note_other(hash_, identity.path)
            else:
                self._waiting[hash_] = identity
        if self._programs is not None:
            self._take(self._programs)

    def _note_other(self, hash_: int, path: str) -> None:
        """It has no symbols, so of more than these nothing is missed but what it was called."""
        if self._of_others < _MAX_OTHERS:
            shared = self._others.setdefault(path, MappedCode("", path))
            self.by_hash[hash_] = shared
            self._of_others += 1

    def settle(self) -> None:
        """Whether it was recorded here shows by the files that were mapped so far, or never."""
        if self._programs is None:
            files = self._waiting.values()
            self.is_local = is_recorded_here(self._places.host, self._features, files)
            self._programs = program_symbols(self._places, self.is_local)
            self._take(self._programs)

    def _take(self, programs: ProgramSymbols) -> None:
        told = self._features.same_path
        for one in self._waiting.values():
            if one.path in told:  # else nobody asks, and there may be a million
                self._mapped.setdefault(one.path, set()).add(inode_of(one))
        for hash_, identity in self._waiting.items():
            build_id = self._build_id(identity, programs)
            code = self.by_hash[hash_] = programs.code(identity, build_id or b"")
            if build_id is None:
                self._unclear[code.key] = identity.path
        self._waiting.clear()

    def _build_id(self, identity: FileIdentity, programs: ProgramSymbols) -> bytes | None:
        """As `build_id_of`."""
        path, mapped = identity.path, self._mapped.get(identity.path, set())
        told = self._features.same_path.get(path, [])
        if len(mapped) < 2 or identity.build_id or not programs.are_by_inode:
            return told[0] if told else b""
        if path not in self._here:
            self._here[path] = programs.here(path)
        return build_id_of(inode_of(identity), mapped, told, self._here[path])

    def table(self, key: str) -> SymbolTable | None:
        if self._programs is None:
            return None
        found = self._programs.find(key)
        if key in self._unclear:
            self._unnamed.add(self._unclear[key])
        if key not in self._doubts:
            self._doubts[key] = self._programs.doubt(key, self._recorded_ns)
        return None if self._programs.is_newer(key, self._recorded_ns) else found

    def cfi(self, file: int) -> Cfi | None:
        self.settle()
        code = self.by_hash.get(file)
        if code is None or self._programs is None:
            return None
        found = self._programs.cfi(code.key)
        return None if self._programs.is_newer(code.key, self._recorded_ns) else found

    @property
    def doubts(self) -> tuple[str, ...]:
        """What may be wrong with the names so far."""
        found = [doubt for doubt in self._doubts.values() if doubt]
        if self._unnamed:
            found.append(
                f"containers have other files at {min(self._unnamed)}{_more(self._unnamed)}: which "
                "of them is whose perf does not say, and their functions are [unknown]; `perf "
                "record --buildid-mmap` says it"
            )
        return tuple(found)


def _more(paths: Sized) -> str:
    return f" and at {len(paths) - 1} more paths" if len(paths) > 1 else ""
