"""What a file is that can't be imported, where it is something that people have beside captures."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from exhume.perf.datafile import MAGICS

_TAR_AT = 257
_FOLDED = re.compile(rb"(?:[^\n;]+;)+[^\n;]* \d+(?:\r?\n|\Z)")
_LINES = 20


class _Kind(Struct, frozen=True):
    matches: Callable[[bytes], bool]
    """Told the first bytes, decompressed."""
    is_: str
    todo: str


def _starts(*magics: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magics)


def _is_folded(head: bytes) -> bool:
    lines = head.splitlines(keepends=True)[:_LINES]
    return bool(lines) and all(_FOLDED.fullmatch(line) for line in lines[:-1] or lines)


_UNPACK = "unpack it, and import the folder"
_KINDS = (
    _Kind(_starts(b"\x04\x22\x4d\x18"), "a file that lz4 made", "unpack it first"),
    _Kind(_starts(b"PK\x03\x04"), "a zip archive", _UNPACK),
    _Kind(_starts(b"7z\xbc\xaf\x27\x1c"), "a 7z archive", _UNPACK),
    _Kind(lambda head: head[_TAR_AT : _TAR_AT + 5] == b"ustar", "a tar archive", _UNPACK),
    _Kind(_starts(b"\x7fELF"), "a program or a core dump", "give its folder with --symfs"),
    _Kind(
        _starts(b"# To display the perf.data header info"),
        "the text of perf report, which has no times",
        "import its perf.data, or the text of `perf script`",
    ),
    _Kind(
        _is_folded,
        "folded stacks, which have no times",
        "import the perf.data or the text of `perf script` that they were made of",
    ),
)


def known_as(head: bytes) -> str:
    """For the user; empty where nobody knows."""
    if (at := head.find(MAGICS[0])) > 0:  # `perf record -o - 2>&1`, or a greeting of ssh
        return f"at offset {at} a perf.data begins: cut off the rest with `tail -c +{at + 1}`"
    found = next((kind for kind in _KINDS if kind.matches(head)), None)
    return "" if found is None else f"it is {found.is_}: {found.todo}"
