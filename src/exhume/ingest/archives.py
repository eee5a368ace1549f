"""Archives among the inputs: unpacked for as long as an import takes, and looked at as folders.

Evidence is sent as one file, by anybody: nothing is written outside of the folder, only plain files
are, and no more than there is room for.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Literal, Self

from exhume.ingest.inputs import Input, Missing
from exhume.ingest.piped import Tell
from exhume.ingest.report import InputReport
from exhume.ingest.streams import Source, problem_of

MOST_ENTRIES = 100_000
"""Of one archive."""
MOST_DEPTH = 3
"""Of archives in archives: a cluster's has one of each node."""
LEFT_FREE_BYTES = 1 << 30
_COPY_BYTES = 1 << 20
_LONG_BYTES = 64 << 20
"""From here on unpacking takes seconds, and somebody may wonder."""
_HEAD_BYTES = 512
_TAR_AT, _TAR, _ZIP = 257, b"ustar", b"PK\x03\x04"
_ZIP_FIELD, _ZIP_UNIX_TIMES = struct.Struct("<HH"), 0x5455
_SUFFIXES = re.compile(r"(?:\.(?:tar|t[gx]z|tbz2?|tzst|zip|gz|xz|zst|bz2))+$", re.IGNORECASE)
_MOST_NAME_BYTES = 255
_MOST_HEADER_BYTES, _MOST_DIRECTORY_BYTES = 1 << 20, 16 << 20
_ZIP_END_BYTES = 22 + (1 << 16)
"""With the longest comment that may stand behind it."""
_LAST_SECONDS = 1 << 35
_TOO_MANY = f"it has more than {MOST_ENTRIES:,} entries"

Kind = Literal["tar archive", "zip archive"]
Expand = Callable[[str], tuple[list[Input], list[Missing]]]
Write = Callable[[str, float, IO[bytes] | None], None]
"""A name, when that was written, and what it holds."""


class _NoRoomError(Exception):
    """It holds more than there is room for."""


class _BrokenError(Exception):
    """It ends too early, or is none."""


class Archives:
    """Those of one import, and what was in them."""

    def __init__(self, folder: Path, expand: Expand, tell: Tell) -> None:
        """`folder`: for what they hold; who made it removes it."""
        self._folder = folder
        self._expand = expand
        self._tell = tell
        self._earlier = re.compile(re.escape(str(folder)) + r"/\d+/")
        """What an earlier import noted down of one."""
        self._names: dict[str, str] = {}
        """Of each folder that one was unpacked into, what to call it."""
        self.missing: list[Missing] = []
        self.reports: list[InputReport] = []

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(self._names)

    def opened(self, inputs: Sequence[Input], depth: int = 0) -> list[Input]:
        """With what is in the archives among them, instead of these."""
        found: list[Input] = []
        for one in inputs:
            kind = kind_of(one.path) if depth < MOST_DEPTH else None
            if kind is None:
                found.append(one)
                continue
            inside, missing = self._expand(str(self._unpacked(one, kind)))
            self.missing += missing
            found += self.opened(inside, depth + 1)
        return sorted(found, key=lambda one: str(one.path))

    def told(self, path: str) -> str:
        """A path, or a text with paths, as if archives were folders: theirs will be gone."""
        for folder, name in self._names.items():
            path = path.replace(folder, name)
        return self._earlier.sub("", path)

    def _unpacked(self, one: Input, kind: Kind) -> Path:
        if one.size_bytes >= _LONG_BYTES:
            self._tell(f"unpacking {one.path.name}, {one.size_bytes >> 20} MiB")
        # Another place each time: it is not what was unpacked before, changed.
        into = self._folder / str(time.time_ns()) / (_SUFFIXES.sub("", one.path.name) or "archive")
        into.mkdir(parents=True)
        name = self.told(str(one.path))
        written, problem = _Writing(into), ""
        try:
            _UNPACK[kind](Source.of(one.path), written.write)
        except _NoRoomError:
            written.forget()
            problem = (
                f"{name} holds more than there is room for where it is imported to: name another "
                "place with --into, or unpack it elsewhere and import the folder"
            )
        except _BrokenError as error:
            problem = f"{name} is damaged: {error}; what came before was unpacked: copy it again"
        except OSError as error:
            problem = f"{name} can't be unpacked: {error.strerror or error}"
        said = (problem,) if problem else ()
        self.reports.append(
            InputReport(name, kind, "failed", problems=said)
            if problem and not written.files
            else InputReport(name, kind, "imported", notes=(written.note(),), problems=said)
        )
        self._names[str(into)] = name
        return into


class _Writing:
    """What is in an archive, one by one, into a folder."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self._left_bytes = shutil.disk_usage(into).free - LEFT_FREE_BYTES
        self.files = 0
        self._passed_over = 0

    def write(self, name: str, written: float, content: IO[bytes] | None) -> None:
        """`content`: None where it is no plain file."""
        path = self._path_of(name)
        if path is None or content is None:
            self._passed_over += 1
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open(path, "wb")  # noqa: SIM115 - of several of one name the last counts
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self._passed_over += 1  # a file and a folder of one name
            return
        with file:
            while data := content.read(_COPY_BYTES):
                self._left_bytes -= len(data)
                if self._left_bytes < 0:
                    raise _NoRoomError
                file.write(data)
        self.files += 1
        if 0 < written < _LAST_SECONDS:
            os.utime(path, (written, written))

    def forget(self) -> None:
        shutil.rmtree(self._into)
        self._into.mkdir()
        self.files = 0

    def _path_of(self, name: str) -> Path | None:
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        is_odd = "\0" in name or any(len(os.fsencode(part)) > _MOST_NAME_BYTES for part in parts)
        return self._into.joinpath(*parts) if parts and not is_odd else None

    def note(self) -> str:
        said = f"{self.files} files were unpacked from it"
        if self._passed_over:
            said += f", and {self._passed_over} entries passed over: links, devices or odd names"
        return said


def kind_of(path: Path) -> Kind | None:
    """None where it is no archive, or can't be read: others say why."""
    try:
        source = Source.of(path)
        head = source.head(_HEAD_BYTES)
    except OSError:
        return None
    if head.startswith(_ZIP) and not source.compression:
        return "zip archive"
    return "tar archive" if head[_TAR_AT:].startswith(_TAR) else None


def _tar(source: Source, write: Write) -> None:
    import tarfile  # takes 10 ms to load, and is seldom needed

    class Bounded(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            """Headers that stand before an entry are read as a whole."""
            found = super().frombuf(buf, encoding, errors)
            is_header = not (found.isfile() or found.isdir() or found.issym() or found.islnk())
            if is_header and found.size > _MOST_HEADER_BYTES:
                raise tarfile.ReadError(f"a header of {found.size} bytes")
            return found

    stream = source.open()
    try:
        with stream, tarfile.open(fileobj=stream, mode="r|", tarinfo=Bounded) as archive:
            for number, member in enumerate(archive):
                if number >= MOST_ENTRIES:
                    raise _BrokenError(_TOO_MANY)
                if not member.isdir():
                    content = archive.extractfile(member) if member.isfile() else None
                    write(member.name, float(member.mtime), content)
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise _BrokenError(problem_of(stream) or str(error)) from error
    if problem := problem_of(stream):
        raise _BrokenError(problem)


def _zip(source: Source, write: Write) -> None:
    import zipfile
    import zlib

    if _directory_bytes(source.path) > _MOST_DIRECTORY_BYTES:
        raise _BrokenError(_TOO_MANY)
    try:
        with zipfile.ZipFile(source.path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with archive.open(member) as content:
                        time_of = _zip_time(member.extra, member.date_time)
                        write(member.filename, time_of, content)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, struct.error,
        NotImplementedError, RuntimeError,  # of another method, with a password
    ) as error:  # fmt: skip
        raise _BrokenError(str(error)) from error


def _directory_bytes(path: Path) -> int:
    """Of the list of all its entries, which is read as a whole; its size stands at the end."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _ZIP_END_BYTES))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    return int.from_bytes(end[at + 12 : at + 16], "little") if at >= 0 else 0


def _zip_time(extra: bytes, local: tuple[int, ...]) -> float:
    """To the second in UTC where it was noted (by Info-ZIP); else local, taken as of this zone."""
    while len(extra) >= _ZIP_FIELD.size:
        kind, size = _ZIP_FIELD.unpack_from(extra)
        field, extra = extra[_ZIP_FIELD.size :][:size], extra[_ZIP_FIELD.size + size :]
        if kind == _ZIP_UNIX_TIMES and len(field) >= 5 and field[0] & 1:
            return float(int.from_bytes(field[1:5], "little"))
    try:
        return time.mktime((*local, 0, 0, -1))  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return 0.0


_UNPACK: dict[Kind, Callable[[Source, Write], None]] = {"tar archive": _tar, "zip archive": _zip}
