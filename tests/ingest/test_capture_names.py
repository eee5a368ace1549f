from __future__ import annotations

import os
import time
from pathlib import Path

from tests.ingest import made
from tests.ingest.test_assemble_perf import named, piece_of
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import USER, Mapped, Sample
from tests.perf.symbols.made_elf import TEXT_AT, TEXT_VADDR, MadeElf, Symbol

START = 0x40_0000
IP = START + TEXT_AT + 4


def mapped(path: str) -> bytes:
    identity = (8, 1, Path(path).stat().st_ino, 0)
    place = Mapped(70, START, 2 * TEXT_AT, path=path.encode(), device_inode=identity)
    return enc.mmap2(SHAPE, place)


def unclosed(folder: Path, *others: str) -> bytes:
    """A capture of `worker` in its function `here`, which was mapped after the `others`."""
    elf = MadeElf([Symbol("here", TEXT_VADDR, 0x100)]).data()
    path = made.write(folder / "worker", elf)
    records = [
        enc.comm(SHAPE, 70, 70, b"worker"),
        *map(mapped, [*others, path]),
        enc.sample(SHAPE, Sample(ip=IP, pid=70, tid=70, time=made.NS, chain=(USER, IP))),
    ]
    return Capture(records).file(is_closed=False)


def test_a_capture_that_was_not_closed_is_named_by_the_files_it_agrees_with(tmp_path: Path) -> None:
    library = made.write(tmp_path / "library", "x")
    piece = piece_of(tmp_path, unclosed(tmp_path, library))
    assert named(piece) == [("worker", "here")]
    assert "--symfs /" in piece.facts.problems[0]


def test_one_file_alone_does_not_say_that_it_was_recorded_here(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, unclosed(tmp_path))
    assert named(piece) == [("worker", f"worker+{TEXT_AT + 4:#x}")]


def test_a_program_that_was_written_over_since_gives_no_names(tmp_path: Path) -> None:
    library = made.write(tmp_path / "library", "x")
    data = unclosed(tmp_path, library)
    program, later_ns = tmp_path / "worker", time.time_ns() + 3600 * made.NS
    os.utime(program, ns=(later_ns, later_ns))
    piece = piece_of(tmp_path, data)
    assert named(piece) == [("worker", f"worker+{TEXT_AT + 4:#x}")]
    assert f"{program} was written after the capture" in "".join(piece.facts.notes)
    piece = piece_of(tmp_path, data, symfs=Path("/"))
    assert named(piece) == [("worker", "here")]
