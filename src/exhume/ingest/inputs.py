"""Files, folders and patterns → the list of files to import."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path

from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.perf.datadir import MAIN, parts_of
from exhume.perf.datafile import MAGICS
from exhume.store import layout

_HASHED_BYTES = 1 << 16
_MOST_DEPTH = 8
"""Of folders in folders."""
_NO_PERMISSION = "no permission to read it: call this as root, or import a copy"
_KERNEL_NAMES = Path("kcore_dir") / "kallsyms"
"""Of `perf record --kcore`, which keeps the kernel's code and names with the capture."""


class Input(Struct, frozen=True):
    path: Path
    is_named: bool
    """By the user; otherwise it only lay in a folder, and may be anything."""
    size_bytes: int
    modified_ns: int
    id: str
    """Of its content: size, first and last bytes. A copy under another name has the same."""
    named_id: str = ""
    """Of its content, its name and its folder's. A counter that stands still reads the same at
    another time and on another node, and where the text has no time, only these tell them apart."""

    def has_id(self, id_: str) -> bool:
        return id_ in (self.id, self.named_id)


class Missing(Struct, frozen=True):
    path: Path
    why: str
    is_named: bool = True
    """By the user; otherwise it is only passed over."""


def expand(
    given: Sequence[str], besides: Path, piped: Path | None = None
) -> tuple[list[Input], list[Missing]]:
    """Each file once, in the order of their names.

    `besides`: where the import goes to, which may be where the files are; of what it wrote there
    itself only what lies in `piped` counts.
    """
    found: dict[Path, Input] = {}
    missing: list[Missing] = []
    own = besides.resolve()
    for path, is_named in _paths(given):
        try:
            real = Path(os.path.realpath(path, strict=True))
            is_piped = piped is not None and real.is_relative_to(piped.resolve())
            if real in found or (not is_piped and _is_written_by_import(real, own)):
                continue
            if path.is_file():
                found[real] = _input(path, is_named)
            elif path.is_dir() and _listed(path) is None:
                missing.append(Missing(path, _NO_PERMISSION))
            elif is_named or not path.is_dir():
                missing.append(Missing(path, "not a file", is_named))
        except FileNotFoundError:
            if is_named or path.is_symlink():  # else it went since it was listed
                missing.append(Missing(path, "no such file", is_named))
        except PermissionError:
            missing.append(Missing(path, _NO_PERMISSION))
        except OSError as error:
            missing.append(Missing(path, error.strerror or str(error)))
    return sorted(found.values(), key=lambda one: str(one.path)), missing


def folders_inside(given: Sequence[str], besides: Path) -> tuple[str, ...]:
    """Folders beside the files in those that were named: `_paths` does not look into them."""
    own = besides.resolve()
    named = (path for path in map(Path, given) if path.is_dir() and not _is_perf_folder(path))
    return tuple(
        sorted(
            str(entry)
            for path in named
            for folder in _opened(path)
            for entry in _listed(folder) or ()
            if entry.is_dir()
            and not _is_perf_folder(entry)
            and not _holds_only_recordings(entry.resolve(), own)
        )
    )


def _is_written_by_import(path: Path, into: Path) -> bool:
    """Is it part of a recording in that directory, or of one of a node below it?"""
    within = (path, *path.parents)
    return path.is_relative_to(into) and any(
        _is_part(folder) for folder in within[: within.index(into)]
    )


def _holds_only_recordings(folder: Path, into: Path) -> bool:
    if folder == into or _is_part(folder):
        return True
    return folder.is_relative_to(into) and all(map(_is_part, _listed(folder) or (folder,)))


def _is_part(folder: Path) -> bool:
    return folder.name in layout.PARTS and _is_recording(folder.parent)


def _paths(given: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    for text in given:
        path = Path(text)
        if _is_perf_folder(path):
            yield from ((file, True) for file in _perf_folder_files(path))
        elif path.is_dir():
            for folder in _opened(path):
                inside = _listed(folder)
                yield from [(folder, False)] if inside is None else _found(inside)
        elif has_magic(text) and not path.exists():
            names = glob(text, recursive=True)
            if not names:
                raise ExhumeError(f"no file is like {text}", todo="look at the pattern")
            yield from _found(map(Path, names))
        else:
            yield path, True


def _opened(folder: Path, depth: int = _MOST_DEPTH) -> list[Path]:
    """The folder, or, where it holds nothing but folders, those: by it nothing else can be meant.

    Folders beside files are other things: the truth about a test, another node.
    """
    inside = _listed(folder) or []
    is_sorted = all(one.is_dir() and not one.is_symlink() for one in inside)
    if not (depth and inside and is_sorted) or any(map(_is_perf_folder, inside)):
        return [folder]
    return [one for path in inside if not _is_part(path) for one in _opened(path, depth - 1)]


def _listed(folder: Path) -> list[Path] | None:
    """What is visible in it; None where one may not look."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        if entries:
            entries[0].lstat()  # who may list it may still not look at what is in it
    except PermissionError:
        return None
    return sorted(entries)


def _is_recording(folder: Path) -> bool:
    try:
        return layout.segments_path(folder).is_dir() or layout.import_path(folder).is_dir()
    except PermissionError:
        return False  # it is told of when it is listed


def _found(entries: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Of what lies there or is like a pattern: files, and captures that are folders."""
    for entry in entries:
        if _is_perf_folder(entry):
            yield from ((file, False) for file in _perf_folder_files(entry))
        else:  # another folder is passed over by who asks
            yield entry, False


def _is_perf_folder(path: Path) -> bool:
    """perf.data as `perf record --threads` or `--kcore` writes it: one capture in several files."""
    try:
        if not (path / MAIN).is_file():
            return False
        if not parts_of(path / MAIN) and not (path / _KERNEL_NAMES).is_file():
            return False
        with open(path / MAIN, "rb") as file:
            return file.read(8) in MAGICS
    except OSError:
        return False


def _perf_folder_files(path: Path) -> Iterator[Path]:
    """The capture (its other parts are read with it), and the names of the kernel it is of."""
    yield path / MAIN
    if (path / _KERNEL_NAMES).is_file():
        yield path / _KERNEL_NAMES


def _input(path: Path, is_named: bool) -> Input:
    with open(path, "rb") as file:
        stat = path.stat()
        digest = hashlib.blake2b(file.read(_HASHED_BYTES), digest_size=8)
        if stat.st_size > _HASHED_BYTES:
            file.seek(max(_HASHED_BYTES, stat.st_size - _HASHED_BYTES))
            digest.update(file.read(_HASHED_BYTES))
    digest.update(str(stat.st_size).encode())
    id_ = digest.hexdigest()
    digest.update(os.fsencode(Path(*path.absolute().parts[-2:])))
    return Input(path, is_named, stat.st_size, stat.st_mtime_ns, id_, digest.hexdigest())
