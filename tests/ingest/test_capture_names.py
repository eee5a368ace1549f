from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from exhume.ingest import capture_files, capture_names, perf_share
from exhume.ingest.collect import TOO_MANY
from exhume.model.stack import Mode
from exhume.perf import history, naming, native
from tests.ingest import made
from tests.ingest.test_assemble_perf import named, piece_of, rows_of
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import FINISHED_ROUND, SHAPE, Capture
from tests.perf.records_encoder import KERNEL, USER, Mapped, Sample, Who
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


COUNT = 1000
FAR = 0x7F00_0000_0000


def hostile(*records: Iterable[bytes]) -> bytes:
    """A capture of a process with a large library, of these samples and what goes with them."""
    begin = [
        enc.comm(SHAPE, 70, 70, b"worker"),
        enc.mmap2(SHAPE, Mapped(70, FAR, 1 << 40, path=b"/opt/library.so")),
    ]
    # In several walks and epochs, as a large one is.
    rounds = [FINISHED_ROUND if i % 50 == 0 else b"" for i in range(COUNT)]
    some = (b"".join(one) for one in zip(*records, rounds, strict=True))
    return Capture([*begin, *some]).file()


def sample(number: int, chain: tuple[int, ...], pid: int = 70, tid: int = 70) -> bytes:
    at = made.NS + number * 1000
    return enc.sample(SHAPE, Sample(ip=chain[1], pid=pid, tid=tid, time=at, chain=chain))


def who(number: int) -> Who:
    return Who(70, 70, made.NS + number * 1000 - 500)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if memory were small."""
    monkeypatch.setattr(capture_names, "MOST_NODES", 200)
    monkeypatch.setattr(capture_names, "MOST_NAMES", 150)
    monkeypatch.setattr(capture_names, "MOST_THREADS", 90)
    monkeypatch.setattr(capture_files, "_MAX_FILES", 50)
    monkeypatch.setattr(capture_names, "MOST_PLACES", 64)
    monkeypatch.setattr(naming, "MOST_NAMES", 60)
    monkeypatch.setattr(history, "MOST_NAMES", 60)
    monkeypatch.setattr(history, "MOST_MAPPINGS", 70)
    monkeypatch.setattr(history, "MOST_ALIVE", 80)
    monkeypatch.setattr(perf_share, "MOST_BIRTHS", 3)
    monkeypatch.setattr(native, "_MOST_OTHERS", 128)


def test_stacks_that_all_differ_are_cut_short_and_keep_their_modes(
    tmp_path: Path, small: None
) -> None:
    stacks = [
        sample(i, (KERNEL, made.WALK, USER, *(FAR + 7 * (i * 8 + d) for d in range(8))))
        if i % 2
        else sample(i, (USER, *(FAR + 64 * ((i * d) % 97) for d in range(1, 9))))
        for i in range(COUNT)
    ]
    piece = piece_of(tmp_path, hostile(stacks))
    found = named(piece)
    assert len(found) == COUNT
    assert piece.sampled is not None
    assert len(piece.sampled.tree.parent) < 2 * 200 + 20
    assert len(piece.sampled.tree.frames) < 160
    assert TOO_MANY in piece.facts.notes
    modes = piece.sampled.tree.mode[rows_of(piece).node]
    assert modes.tolist() == [Mode.SYSTEM if i % 2 else Mode.USER for i in range(COUNT)]
    cut = {"[more system stacks than are kept]", "[more user stacks than are kept]"}
    assert {names[1] for names in found[COUNT // 2 :] if names[1].startswith("[more")} == cut
    assert "memcg_numa_stat_show" in {names[2] for names in found[500:] if names[1] in cut}


def test_places_that_were_forgotten_get_the_same_names_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = hostile([sample(i, (USER, FAR + (i * 37) % 401, FAR + i % 13)) for i in range(COUNT)])
    expected = named(piece_of(tmp_path, data))
    monkeypatch.setattr(capture_names, "MOST_PLACES", 16)
    piece = piece_of(tmp_path, data)
    assert named(piece) == expected
    assert TOO_MANY not in piece.facts.notes


@pytest.mark.parametrize("told", [True, False])
def test_threads_without_end_become_one(tmp_path: Path, small: None, told: bool) -> None:
    chain = (USER, FAR + 16)
    tids = [100 + (i if i % 3 else 0) for i in range(COUNT)]
    names = [enc.comm(SHAPE, 70, tid, b"n%d" % tid, who(i)) for i, tid in enumerate(tids)]
    # A thread without a name is called like its process, if that has one.
    samples = [sample(i, chain, pid=70 if told else 71, tid=tid) for i, tid in enumerate(tids)]
    piece = piece_of(tmp_path, hostile(names, samples) if told else hostile(samples))
    assert piece.sampled is not None
    threads = piece.sampled.threads
    assert len(threads) <= 91
    assert len(threads.comm) == len(threads.parent_pid) == len(threads.cgroup) == len(threads)
    assert len(set(threads.comm)) <= 62
    whose = threads.tid[rows_of(piece).thread]
    assert len(whose) == COUNT
    # Who was there early keeps its name to the end.
    assert (whose[np.arange(0, COUNT, 3)] == 100).all()
    assert whose[-2] == -1
    assert named(piece)[-2][0] == "[more names than are kept]"
    assert TOO_MANY in piece.facts.notes


def test_files_and_processes_without_end_leave_the_newest_known(
    tmp_path: Path, small: None
) -> None:
    forks = [enc.fork(SHAPE, (100 + i, 70, 100 + i, 70), who(i).time, who(i)) for i in range(COUNT)]
    names = [
        enc.comm(SHAPE, 100 + i, 100 + i, b"p%d" % (i % 5), who(i), is_exec=True)
        for i in range(COUNT)
    ]
    maps = [
        enc.mmap2(
            SHAPE, Mapped(100 + i, path=b"/f%d" % (i % 60), device_inode=(8, 1, i % 60, 0)), who(i)
        )
        for i in range(COUNT)
    ]
    samples = [sample(i, (USER, 0x40_0010), 100 + i, 100 + i) for i in range(COUNT)]
    piece = piece_of(tmp_path, hostile(forks, names, maps, samples))
    found = named(piece)
    assert len(found) == COUNT
    assert {names[0] for names in found} == {f"p{i}" for i in range(5)}
    assert found[-20:-1].count(("p0", "[unknown]")) < 19
    assert {names[1] for names in found[-100:]} > {"f3+0x10", "[unknown]"}
    assert len(piece.events) == 3
    assert TOO_MANY in piece.facts.notes
