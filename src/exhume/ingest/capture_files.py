"""The programs that one perf.data maps, and where their names come from.

Apart from `CaptureNames`, so that who asks for names does not hold what holds it: such a circle,
with all that is known of a large capture in it, would outlive the reading.
"""

from __future__ import annotations

from collections.abc import Mapping

from exhume.ingest.recorded_here import is_recorded_here
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
        for hash_, identity in self._waiting.items():
            self.by_hash[hash_] = programs.code(identity, self._features.build_ids)
        self._waiting.clear()

    def table(self, key: str) -> SymbolTable | None:
        if self._programs is None:
            return None
        found = self._programs.find(key)
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
        return tuple(doubt for doubt in self._doubts.values() if doubt)
