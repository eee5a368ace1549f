"""The files of a segment, each checked against meta.json the first time it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from exhume.store import layout
from exhume.store.cache import Cache
from exhume.store.column_types import ColumnType
from exhume.store.files import DamagedFileError, read_checked
from exhume.store.meta import Meta
from exhume.store.parquet import read_table

UNDECODABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError)
# Read column by column: their bytes stay at hand, and are checked once instead of each time.
_KEPT = (layout.SAMPLES, layout.COUNTERS)


class CheckedFiles:
    """Whatever is wrong with a file raises DamagedFileError, and is noted in `problems`."""

    def __init__(self, path: Path, meta: Meta, cache: Cache) -> None:
        self.path = path
        self.key = f"{path}:{path.stat().st_ino}"
        """For the cache: a segment closed again after a crash has the same path, but is another."""
        self.meta = meta
        self.cache = cache
        self.problems: dict[str, str] = {}
        """What is wrong with which file, as far as anyone looked."""

    def table(
        self, name: str, columns: tuple[ColumnType, ...], row_groups: list[int] | None = None
    ) -> dict[str, Any]:
        data = self.data(name)
        try:
            return read_table(data, columns, row_groups)
        except UNDECODABLE as error:
            raise self.damaged(name, f"a table of {layout.META}'s kind ({error})") from error

    def data(self, name: str) -> bytes:
        if name not in _KEPT:
            return self._read(name)
        return self.cache.get((self.key, name), lambda: self._read(name), len)

    def verify(self) -> dict[str, str]:
        """Read every file once, from the disk."""
        for name in self.meta.files:
            try:
                self._read(name)
            except DamagedFileError:
                continue
        return self.problems

    def need(self, name: str, true: bool, expected: str) -> None:
        if not true:
            raise self.damaged(name, expected)

    def damaged(self, name: str, expected: str) -> DamagedFileError:
        error = DamagedFileError(str(self.path / name), "whole file", expected)
        self.problems.setdefault(name, error.what)
        return error

    def _read(self, name: str) -> bytes:
        facts = self.meta.files.get(name)
        if facts is None:
            raise self.damaged(name, f"to be named in {layout.META}")
        try:
            return read_checked(self.path / name, facts.bytes, facts.crc32)
        except DamagedFileError as error:
            self.problems.setdefault(name, error.what)
            raise


def within(values: Any, limit: int) -> bool:
    """Are all of them whole numbers from 0 to below the limit?"""
    # Read as unsigned, what is negative is too large.
    unsigned = values.view(values.dtype.str.replace("i", "u"))
    return not len(values) or int(unsigned.max()) < limit
