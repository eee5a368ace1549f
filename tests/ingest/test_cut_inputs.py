"""Compressed files that were cut off: what is there counts, and what is missing is told."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from tests.ingest import made
from tests.ingest.made import NS, by_name, do_import, write

PACKERS = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": partial(bz2.compress, compresslevel=1),
    "zstd": zstandard.compress,
}
STAT = "cpu  1 0 2 {0} 0 0 0 0 0 0\ncpu0 1 0 2 {0} 0 0 0 0 0 0\n"


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_what_is_there_of_a_cut_file_counts_and_the_rest_is_told(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    marks = "".join(f"### {1_794_773_717 + i}\n{STAT.format(i)}" for i in range(9000))
    texts = {
        "perf.txt": made.script(40.0).encode(),
        "file.data": made.capture(40.0, start_ns=900 * NS).file(),
        "pipe.data": made.capture(40.0, start_ns=5000 * NS).pipe(),
        "stat.log": marks.encode(),
        "kallsyms": made.KALLSYMS.encode() * 3000,
    }
    ends = {}
    for name, text in texts.items():
        packed = pack(text)
        ends[name] = len(packed) * 3 // 4
        write(tmp_path / "in" / name, packed[: ends[name]])
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in")))
    for name, end in ends.items():
        one = report[name]
        cut = [problem for problem in one.problems if "the compressed data is cut off" in problem]
        assert cut == [
            f"offset {end}: the compressed data is cut off, or damaged before; what came before is "
            "all that was read of it: copy the file again"
        ]
        assert one.state == ("names" if name == "kallsyms" else "imported")
        assert name == "kallsyms" or one.window is not None
        assert not name.endswith(".data") or 1000 < one.samples < 8000


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_one_that_is_damaged_from_its_start_says_why_it_is_passed_over(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    packed = bytearray(pack(made.script(0.5).encode()))
    packed[13:40] = bytes(range(0xC0, 0xC0 + 27))
    write(tmp_path / "in" / "perf.txt.z", bytes(packed))
    write(tmp_path / "in" / "perf.txt", made.script(0.5))
    one = by_name(do_import(tmp_path / "out", str(tmp_path / "in")))["perf.txt.z"]
    assert one.state == "skipped"
    assert ", near offset 0: the compressed data is damaged (" in one.problems[0]
    assert "copy the file again" in one.problems[0]
