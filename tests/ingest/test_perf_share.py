"""A capture that several processes read at once, each a share of it."""

from __future__ import annotations

import gc
import random
import weakref
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from exhume.ingest import assemble_perf, perf_share
from exhume.ingest.capture_names import CaptureNames
from exhume.ingest.room import Room
from exhume.ingest.streams import Source
from exhume.model.arrays import I64
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf import datafile
from tests.ingest import made
from tests.ingest.made import KALLSYMS
from tests.ingest.test_assemble_perf import described
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import KERNEL, USER, Mapped, Sample, Who


def busy_rounds(seed: int, cores: int, count: int) -> list[bytes]:
    """As perf writes: in each round every core's buffer one after the other.

    Processes, each on one core, take other names, start programs and others, and end, all the time.
    """
    rng = random.Random(seed)
    out: list[bytes] = []
    alive = [[100 + core] for core in range(cores)]
    read_up_to, now, newest = [0] * cores, 0, 1000
    for _ in range(count):
        for core in range(cores):
            now += rng.randrange(1, 60)
            for time in range(read_up_to[core] + 1, now, 7):
                who, pid = Who(time=time, cpu=core), rng.choice(alive[core])
                match rng.randrange(6):
                    case 0:
                        out.append(enc.comm(SHAPE, pid, pid, b"name-%d" % (time % 5), who))
                    case 1:
                        program = Mapped(pid=pid, path=b"/bin/%d" % (time % 3))
                        out.append(enc.comm(SHAPE, pid, pid, b"program", who, is_exec=True))
                        out.append(enc.mmap2(SHAPE, program, who))
                    case 2:
                        newest += 1
                        out.append(enc.fork(SHAPE, (newest, pid, newest, pid), time, who))
                        alive[core].append(newest)
                    case 3 if len(alive[core]) > 1:
                        out.append(enc.fork(SHAPE, (pid, 1, pid, 1), time, who, is_exit=True))
                        alive[core].remove(pid)
                chain = (KERNEL, made.WALK, USER, 0x40_0000 + time % 4 * 16)
                sample = Sample(ip=made.WALK, pid=pid, tid=pid, time=time, cpu=core, chain=chain)
                out.append(enc.sample(SHAPE, sample))
            read_up_to[core] = now
        out.append(encoder.FINISHED_ROUND)
    return out


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("jobs", [2, 4])
def test_a_capture_read_in_shares_is_the_same_capture(
    seed: int, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = {encoder.HOSTNAME: encoder.string("node-1")}
    path = tmp_path / "perf.data"
    path.write_bytes(Capture(busy_rounds(seed, 3, 40), features=features).file())
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    monkeypatch.setattr(assemble_perf, "SHARE_BYTES", 256)
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 2000)
    told: list[int] = []
    context = replace(
        made.context(tmp_path, kallsyms=(tmp_path / "kallsyms",)), progress=told.append
    )
    (whole,) = assemble_perf.read(Source.of(path), context)
    expected = described([whole])  # its rows lie where those of the next will
    assert len(expected) > 500
    pieces = list(assemble_perf.read(Source.of(path), replace(context, jobs=jobs)))
    assert len(pieces) == jobs
    assert described(pieces) == expected
    last, others = pieces[-1], pieces[:-1]
    # The name of a parent that is dead already may be forgotten by then.
    assert Counter((e.time_ns, e.kind, e.subject, e.pid) for e in last.events) == Counter(
        (e.time_ns, e.kind, e.subject, e.pid) for e in whole.events
    )
    assert replace(last.facts, named_ratio=1.0) == replace(whole.facts, named_ratio=1.0)
    assert whole.sampled is not None
    assert last.sampled is not None
    assert last.sampled.sketch.tolist() == whole.sampled.sketch.tolist()
    for piece in pieces:
        assert (piece.hints, piece.clock, piece.claim) == (whole.hints, whole.clock, whole.claim)
        assert piece.sampled is not None
        assert piece.sampled.intervals == whole.sampled.intervals
    assert [(piece.events, piece.facts.samples) for piece in others] == [((), 0)] * len(others)
    assert sum(told) <= 2 * path.stat().st_size + (1 << 12)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("own_mib", "processes"), [(60, 4), (150, 2), (300, 1)])
def test_where_memory_does_not_suffice_fewer_processes_read_it(
    own_mib: int, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(Capture(busy_rounds(1, 3, 40)).file())
    monkeypatch.setattr(assemble_perf, "SHARE_BYTES", 256)
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 2000)
    context = made.context(tmp_path)
    (whole,) = assemble_perf.read(Source.of(path), context)
    expected = described([whole])
    for rows in tmp_path.glob("*.rows"):
        rows.unlink()
    memory = made.memory_of(tmp_path, own_mib << 20)
    context = replace(context, room=Room(memory, processes=4), jobs=4)
    pieces = list(assemble_perf.read(Source.of(path), context))
    assert len(pieces) == processes
    assert described(pieces) == expected
    left = {path.name.split("-")[1] for path in tmp_path.glob("share-*.rows")}
    assert left == (set() if processes == 1 else set(map(str, range(processes))))


def test_what_is_known_of_a_capture_is_gone_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without help of Python's collector, which seldom looks: it may be hundreds of MiB."""
    seen: list[weakref.ref[CaptureNames]] = []

    class Watched(CaptureNames):
        def finish(self) -> tuple[StackTree, I64, Threads]:
            seen.append(weakref.ref(self))
            return super().finish()

    monkeypatch.setattr(perf_share, "CaptureNames", Watched)
    path = tmp_path / "perf.data"
    path.write_bytes(Capture(busy_rounds(1, 3, 40)).file())
    gc.disable()
    try:
        pieces = list(assemble_perf.read(Source.of(path), made.context(tmp_path)))
        assert [one() for one in seen] == [None]
    finally:
        gc.enable()
    assert pieces[-1].facts.samples
