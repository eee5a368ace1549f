from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from exhume.perf.symbols.build import build, of_rows
from exhume.perf.symbols.cache import cached, path_of, prune_cache


def put(cache: Path, key: str, used: float) -> int:
    path = path_of(cache, key)
    size = build([of_rows([(0x1000, 16, f"f_{key}")])]).save(path)
    os.utime(path, (used, used))
    return size


def keys(cache: Path) -> set[str]:
    return {path.stem for path in cache.glob("*.sym")}


def test_what_was_stored_is_found_by_its_key(tmp_path: Path) -> None:
    put(tmp_path, "abc", 1.0)
    found = cached(tmp_path, "abc")
    assert found is not None
    assert found.name(int(found.lookup(np.array([0x1008], np.uint64))[0])) == "f_abc"


def test_what_is_absent_or_damaged_is_none_and_the_damaged_file_goes(tmp_path: Path) -> None:
    assert cached(tmp_path, "nothing") is None
    put(tmp_path, "abc", 1.0)
    path = path_of(tmp_path, "abc")
    path.write_bytes(path.read_bytes()[:-1])
    assert cached(tmp_path, "abc") is None
    assert not path.exists()


@pytest.mark.parametrize("key", ["", "../x", "a/b", ".hidden", "a b", "a\0b", "x" * 300, "-rf"])
def test_a_key_that_is_no_file_name_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        path_of(tmp_path, key)


def test_the_longest_unused_tables_go_first(tmp_path: Path) -> None:
    sizes = [put(tmp_path, key, used) for key, used in (("a", 10), ("b", 20), ("c", 30), ("d", 40))]
    assert cached(tmp_path, "a") is not None  # used just now
    freed = prune_cache(tmp_path, sum(sizes[:2]))
    assert freed == sum(sizes[1:3])
    assert keys(tmp_path) == {"a", "d"}


def test_a_cache_that_fits_or_does_not_exist_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "a", 10)
    assert prune_cache(tmp_path, 1 << 20) == 0
    assert prune_cache(tmp_path / "nowhere", 0) == 0
    assert keys(tmp_path) == {"a"}


def test_drafts_of_dead_writers_are_removed_and_other_files_are_not(tmp_path: Path) -> None:
    dead, alive = tmp_path / ".a.sym.999999999.tmp", tmp_path / f".b.sym.{os.getpid()}.tmp"
    note = tmp_path / "README"
    for path in (dead, alive, note):
        path.write_text("x")
    prune_cache(tmp_path, 1 << 20)
    assert not dead.exists()
    assert alive.exists()
    assert note.exists()
