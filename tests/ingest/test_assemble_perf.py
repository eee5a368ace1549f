from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.ingest import assemble_perf
from exhume.ingest.collect import NO_SAMPLES, NONE_LEFT
from exhume.ingest.piece import ClockKind, Piece
from exhume.ingest.row_table import Rows
from exhume.ingest.streams import Source
from exhume.model.core import NO_CORE
from exhume.perf import datafile
from tests.ingest import made
from tests.ingest.made import IDLE, KALLSYMS, TEXT
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture, Event
from tests.perf.records_encoder import KERNEL, USER, Bit, Mapped, Sample, Shape, Who

NO_ROWS = Rows(
    np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint16)
)


def piece_of(folder: Path, data: bytes, **places: object) -> Piece:
    path = folder / "perf.data"
    path.write_bytes(data)
    if "kallsyms" not in places:
        (folder / "kallsyms").write_text(KALLSYMS)
        places["kallsyms"] = (folder / "kallsyms",)
    (piece,) = assemble_perf.read(Source.of(path), made.context(folder, **places))
    return piece


def rows_of(piece: Piece) -> Rows:
    assert piece.sampled is not None
    parts = [NO_ROWS, *piece.sampled.rows.between(0, (1 << 63) - 1)]
    return Rows(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))


def named(piece: Piece) -> list[tuple[str, ...]]:
    """The stacks of all samples, root first, in the order they came."""
    assert piece.sampled is not None
    tree, found = piece.sampled.tree, []
    for node in rows_of(piece).node.tolist():
        names = []
        while node > 0:
            names.append(tree.frames[tree.frame[node]].name)
            node = int(tree.parent[node])
        found.append(tuple(reversed(names)))
    return found


def described(pieces: Sequence[Piece]) -> list[tuple[object, ...]]:
    """Every sample of all: when and where, whose it was, and its stack."""
    found: list[tuple[object, ...]] = []
    for piece in pieces:
        assert piece.sampled is not None
        threads = piece.sampled.threads
        columns = (column.tolist() for column in rows_of(piece).columns())
        for time, _, thread, core, names in zip(*columns, named(piece), strict=True):
            who = (threads.comm[thread], int(threads.pid[thread]), int(threads.parent_pid[thread]))
            found.append((time, core, who, names))
    return sorted(found)


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_samples_are_named_and_the_idle_loop_is_left_out(form: str, tmp_path: Path) -> None:
    capture = made.capture(1.0)
    piece = piece_of(tmp_path, capture.file() if form == "file" else capture.pipe())
    assert set(named(piece)) == {
        ("worker", "worker+0x123", "do_syscall_64", "memcg_numa_stat_show")
    }
    assert (piece.facts.samples, piece.facts.idle, len(named(piece))) == (200, 100, 100)
    assert piece.facts.cores == (0, 1)
    assert piece.clock == ClockKind.KERNEL_LOG
    assert piece.hints.node == "node-1"
    (interval,) = piece.sampled.intervals if piece.sampled else ()
    assert (interval.event, interval.rate_hz) == ("cpu-clock", 100)
    assert (interval.start_ns, interval.end_ns) == (5_000_000_000, 6_000_000_001)


def test_a_kernel_that_lay_elsewhere_is_named_by_its_distance(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, made.capture(0.1, text=TEXT + 0x1200_0000).file())
    assert named(piece)[0][-2:] == ("do_syscall_64", "memcg_numa_stat_show")
    assert "moved by 0x12000000" in piece.facts.notes[0]


def test_of_two_copies_the_one_that_fits_is_taken(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(KALLSYMS.replace("ffffffff81", "ffffffff93").replace("memcg", "wrong"))
    (tmp_path / "right").write_text(KALLSYMS)
    piece = piece_of(tmp_path, made.capture(0.1).file(), kallsyms=(other, tmp_path / "right"))
    assert named(piece)[0][-1] == "memcg_numa_stat_show"


def test_two_maps_of_a_jit_that_differ_are_a_note(tmp_path: Path) -> None:
    maps = [Path(made.write(tmp_path / n / "perf-70.map", f"9000 100 {n}\n")) for n in ("a", "b")]
    records = [
        enc.comm(SHAPE, 70, 70, b"node"),
        enc.mmap2(SHAPE, Mapped(pid=70, start=0x9000, path=b"//anon")),
        enc.sample(SHAPE, Sample(ip=0x9004, pid=70, tid=70, time=made.NS, chain=(USER, 0x9004))),
    ]
    piece = piece_of(tmp_path, Capture(records).file(), perf_maps=tuple(maps))
    assert named(piece) == [("node", "a")]
    assert any(str(maps[1]) in note for note in piece.facts.notes)


def test_without_the_kernels_names_few_samples_are_not_idle_and_it_is_said(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, made.capture(0.1).file(), kallsyms=())
    assert set(named(piece)) == {("worker", "worker+0x123", "[unknown]"), ("swapper", "[unknown]")}
    assert "no kernel names" in piece.facts.notes[0]
    assert piece.facts.idle == 0


def test_interrupt_work_on_an_idle_core_is_kept(tmp_path: Path) -> None:
    chain = (KERNEL, made.WALK, IDLE)
    records = [enc.sample(SHAPE, Sample(ip=made.WALK, time=9, chain=chain))]
    assert named(piece_of(tmp_path, Capture(records).file())) == [
        ("swapper", "native_safe_halt", "memcg_numa_stat_show")
    ]


def test_names_change_with_an_exec_and_live_on_in_children(tmp_path: Path) -> None:
    def at(time: int, pid: int) -> bytes:
        sample = Sample(ip=0x40_0010, pid=pid, tid=pid, time=time, misc=2, chain=(USER, 0x40_0010))
        return enc.sample(SHAPE, sample)

    records = [
        enc.comm(SHAPE, 5, 5, b"shell"),
        enc.mmap2(SHAPE, Mapped(pid=5, path=b"/bin/sh")),
        enc.fork(SHAPE, (6, 5, 6, 5), 100, Who(time=100)),
        at(110, 6),
        enc.comm(SHAPE, 6, 6, b"agent", Who(time=120), is_exec=True),
        enc.mmap2(SHAPE, Mapped(pid=6, path=b"/bin/agent"), Who(time=121)),
        at(130, 6),
        at(140, 5),
        enc.fork(SHAPE, (6, 5, 6, 5), 150, Who(time=150), is_exit=True),
    ]
    piece = piece_of(tmp_path, Capture(records).file())
    assert named(piece) == [("shell", "sh+0x10"), ("agent", "agent+0x10"), ("shell", "sh+0x10")]
    assert [(e.kind, e.subject, e.pid) for e in piece.events] == [
        ("exec", "agent", 6), ("exit", "agent", 6),
    ]  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from("abc")), max_size=8),
    st.lists(st.integers(1, 30), min_size=1, max_size=25),
    st.lists(st.integers(1, 30), max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_a_sample_has_the_name_that_its_thread_had_then(
    renames: list[tuple[int, str]], sampled: list[int], threads: list[int]
) -> None:
    """Also of a process that starts threads in between, which says nothing of the others."""
    told = sorted(renames, key=lambda one: one[0])
    chain = (USER, 0x40_0010)
    timed = [
        *((10 * at, enc.comm(SHAPE, 7, 7, to.encode(), Who(time=10 * at))) for at, to in told),
        *(
            (10 * at + 3, enc.fork(SHAPE, (7, 7, 100 + n, 7), 10 * at + 3, Who(time=10 * at + 3)))
            for n, at in enumerate(threads)
        ),
        *(
            (10 * at + 5, enc.sample(SHAPE, Sample(pid=7, tid=7, time=10 * at + 5, chain=chain)))
            for at in sampled
        ),
    ]
    records = [record for _, record in sorted(timed, key=lambda one: one[0])]
    with TemporaryDirectory() as folder:
        piece = piece_of(Path(folder), Capture([enc.comm(SHAPE, 7, 7, b"x"), *records]).file())
        found = [stack[0] for stack in named(piece)]
    before = [[to for at, to in told if at <= when] for when in sorted(sampled)]
    assert found == [names[-1] if names else "x" for names in before]


def test_of_several_events_what_measures_time_is_kept(tmp_path: Path) -> None:
    shape = Shape(encoder.BITS | Bit.IDENTIFIER)
    events = [
        Event(shape, config=2, value=1, ids=(1,), flags=encoder.FLAG_SAMPLE_ID_ALL),
        Event(shape, config=0, ids=(2,)),
    ]
    records = [enc.sample(shape, Sample(id=1 + i % 2, pid=9, tid=9, time=5 + i)) for i in range(9)]
    data = Capture(records, events).file()
    piece = piece_of(tmp_path, data)
    assert piece.facts.other_events == {"page-faults": 5}
    assert len(named(piece)) == 4
    path = tmp_path / "perf.data"
    context = made.context(tmp_path)
    (other,) = assemble_perf.PerfAssembler(Source.of(path), context, "page-faults").run()
    assert other.facts.other_events == {"cpu-clock": 4}


def test_an_event_that_was_never_hit_gives_way_to_one_that_was(tmp_path: Path) -> None:
    shape = Shape(encoder.BITS | Bit.IDENTIFIER)
    events = [Event(shape, ids=(1,)), Event(shape, config=2, ids=(2,))]
    records = [enc.sample(shape, Sample(id=2, pid=9, tid=9, time=5 + i)) for i in range(3)]
    piece = piece_of(tmp_path, Capture(records, events).file())
    assert len(named(piece)) == 3
    assert piece.sampled is not None
    assert piece.sampled.intervals[0].event == "page-faults"


def test_samples_without_time_or_core_are_told_as_such(tmp_path: Path) -> None:
    shape = Shape(int(Bit.IP | Bit.TID))
    records = [enc.sample(shape, Sample(ip=1, pid=3, tid=3)) for _ in range(5)]
    piece = piece_of(tmp_path, Capture(records, [Event(shape, value=100)]).file())
    assert piece.sampled is not None
    rows = rows_of(piece)
    assert rows.core.tolist() == [NO_CORE] * 5
    assert rows.time.tolist() == [1 + i * 10_000_000 for i in range(5)]
    assert piece.facts.cores == ()
    assert "no times" in piece.facts.notes[-1]
    assert piece.clock == ClockKind.OWN
    assert not len(piece.sampled.sketch)  # made-up times are the same for all


def test_a_patched_page_hides_no_other_code_of_its_library(tmp_path: Path) -> None:
    library = Mapped(pid=7, start=0x10_000, length=0x8000, path=b"/lib/x.so")
    page = Mapped(pid=7, start=0x12_000, length=0x1000, file_offset=0x2000, path=b"/lib/x.so")
    records = [enc.comm(SHAPE, 7, 7, b"x")]
    records += [enc.mmap2(SHAPE, one, Who(time=time)) for time, one in ((1, library), (2, page))]
    records += [
        enc.sample(SHAPE, Sample(ip=ip, pid=7, tid=7, time=5 + n, chain=(USER, ip)))
        for n, ip in enumerate((0x11_008, 0x12_008, 0x14_008))
    ]
    piece = piece_of(tmp_path, Capture(records).file())
    expected = [("x", f"x.so+{at:#x}") for at in (0x1008, 0x2008, 0x4008)]
    assert [tuple(stack) for stack in named(piece)] == expected


def test_births_are_not_placed_beside_samples_without_times(tmp_path: Path) -> None:
    """Their times are perf's, those of the samples made up (`perf record --no-timestamp`)."""
    shape = Shape(int(Bit.IP | Bit.TID))
    records = [enc.sample(shape, Sample(ip=1, pid=70, tid=70)) for _ in range(5)]
    records.append(enc.fork(shape, (71, 70, 71, 70), 2000 * made.NS, is_exit=True))
    piece = piece_of(tmp_path, Capture(records, [Event(shape, value=100)]).file())
    assert len(rows_of(piece)) == 5
    assert piece.events == ()


def test_programs_are_named_below_symfs_only_if_they_are_the_same(tmp_path: Path) -> None:
    program = Path("/bin/true").resolve()
    root = tmp_path / "root"
    (root / "opt").mkdir(parents=True)
    (root / "opt" / "worker").write_bytes(program.read_bytes())
    piece = piece_of(tmp_path, made.capture(0.1).file(), symfs=root)
    # Without a build id the given root is believed; that program has no symbol there, or has.
    assert named(piece)[0][0] == "worker"
    wrong = encoder.build_id("/opt/worker", b"\7" * 20)
    piece = piece_of(
        tmp_path, made.capture(0.1, features={encoder.BUILD_ID: wrong}).file(), symfs=root
    )
    assert named(piece)[0][1] == "worker+0x123"


def test_losses_damage_and_cuts_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    capture = made.capture(0.2)
    records = [*capture.records, enc.lost(SHAPE, 7), enc.record(9, 1, bytes(16))]
    whole = Capture(records, capture.events).file()
    piece = piece_of(tmp_path, whole)
    assert piece.facts.problems == (
        "1 samples are damaged: their lengths do not add up",
        "the kernel dropped 7 records while it was recorded",
    )
    piece = piece_of(tmp_path, whole[:-100])
    assert "cut off" in piece.facts.problems[0]
    assert len(named(piece)) > 10


def test_cut_at_every_record_the_piece_only_gets_shorter(tmp_path: Path) -> None:
    capture = made.capture(0.05)
    whole, at = capture.pipe(), len(Capture([], capture.events, capture.features).pipe())
    before = -1
    for record in [b"", *capture.records]:
        at += len(record)
        rows = len(named(piece_of(tmp_path, whole[:at])))
        assert rows >= before
        before = rows
    assert before == 5


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_damage_makes_it_fail(data: st.DataObject) -> None:
    whole = bytearray(made.capture(0.1).file())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder, suppress(ParseError):
        piece = piece_of(Path(folder), bytes(whole))
        assert piece.sampled is not None
        assert len(piece.sampled.rows) <= 20


def test_a_process_of_many_mappings_and_huge_addresses_is_harmless(tmp_path: Path) -> None:
    high = (1 << 64) - 4096
    records = [
        enc.mmap2(SHAPE, Mapped(pid=5, start=high, length=(1 << 64) - 1, path=b"/x")),
        enc.mmap2(
            SHAPE, Mapped(pid=5, start=0, length=(1 << 64) - 1, file_offset=high, path=b"/y")
        ),
        enc.sample(
            SHAPE, Sample(ip=1, pid=5, tid=5, time=(1 << 63) - 1, chain=(USER, high - 1, 7))
        ),
    ]
    assert piece_of(tmp_path, Capture(records).file()).facts.samples == 1


def test_a_time_beyond_all_times_is_harmless(tmp_path: Path) -> None:
    records = [enc.sample(SHAPE, Sample(ip=1, time=(1 << 64) - 1, pid=1, tid=1))]
    assert piece_of(tmp_path, Capture(records).file()).facts.samples == 1


def test_a_file_that_grows_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(made.capture(0.3).file())
    os.truncate(path, path.stat().st_size // 2)
    (piece,) = assemble_perf.read(Source.of(path), made.context(tmp_path))
    assert piece.facts.samples > 0
    assert struct.unpack_from("<Q", path.read_bytes(), 48)[0] > 0


def test_a_clone_of_the_idle_loop_is_left_out_too(tmp_path: Path) -> None:
    clone = "mwait_idle_with_hints.constprop.0"
    names = Path(made.write(tmp_path / "names", KALLSYMS.replace("native_safe_halt", clone)))
    piece = piece_of(tmp_path, made.capture(1.0).file(), kallsyms=(names,))
    assert (piece.facts.samples, piece.facts.idle) == (200, 100)


def test_without_names_a_core_idled_where_most_samples_of_the_idle_task_are(
    tmp_path: Path,
) -> None:
    piece = piece_of(tmp_path, made.capture(1.0).file(), kallsyms=())
    assert (piece.facts.samples, piece.facts.idle) == (200, 100)
    assert any("guessed: 100 samples of the idle task" in note for note in piece.facts.notes)
    named_one = piece_of(tmp_path, made.capture(1.0).file())
    assert not any("idle task" in note for note in named_one.facts.notes)


def test_a_capture_without_samples_says_so(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, Capture([enc.comm(SHAPE, 1, 1, b"x", Who(time=1))]).file())
    assert piece.facts.problems == (NO_SAMPLES,)


def test_cut_before_its_first_sample_it_is_not_said_that_nothing_ran(tmp_path: Path) -> None:
    whole = made.capture(0.1).file()
    piece = piece_of(tmp_path, whole[:400])
    assert piece.facts.problems[-1] == NONE_LEFT
    assert NO_SAMPLES not in piece.facts.problems


@pytest.mark.parametrize("size", [16, 20, 100])
def test_a_pipe_cut_before_it_tells_of_its_events_says_so(tmp_path: Path, size: int) -> None:
    with pytest.raises(ParseError, match="a description of them") as error:
        piece_of(tmp_path, made.capture(0.1).pipe()[:size])
    assert "ends before any" in error.value.todo


@pytest.mark.parametrize(
    ("shape", "way"),
    [
        (Shape(SHAPE.sample_type | Bit.STACK_USER), "--call-graph dwarf"),
        (Shape(SHAPE.sample_type | Bit.BRANCH_STACK, branch_type=1 << 11), "--call-graph lbr"),
        (Shape(SHAPE.sample_type | Bit.BRANCH_STACK, branch_type=1), ""),
        (SHAPE, ""),
    ],
)
def test_another_way_to_record_stacks_is_told(shape: Shape, way: str, tmp_path: Path) -> None:
    sample = Sample(ip=0x40_0000, pid=7, tid=7, time=5, user_stack=bytes(64), branches=2)
    records = [enc.sample(shape, sample)]
    piece = piece_of(tmp_path, Capture(records, [Event(shape=shape)]).file())
    told = [note for note in piece.facts.notes if "call-graph" in note]
    assert [way in note for note in told] == ([True] if way else [])


def test_a_dying_process_keeps_its_name_for_as_long_as_that_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 500)
    records = [enc.comm(SHAPE, 70, 70, b"worker", Who(time=1))]
    for tenth in range(1, 300):
        time = tenth * made.NS // 10
        if tenth == 10:
            records.append(enc.fork(SHAPE, (70, 1, 70, 1), time, Who(time=time), is_exit=True))
        pid = 70 if tenth in (9, 20, 290) else 71
        records.append(enc.sample(SHAPE, Sample(ip=made.WALK, pid=pid, tid=pid, time=time)))
        records += [encoder.FINISHED_ROUND] * 2
    piece = piece_of(tmp_path, Capture(records).file())
    names = [who[0] for _, _, who, _ in described([piece]) if who[1] == 70]  # type: ignore[index]
    assert names == ["worker", "worker", ":70"]
