from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exhume.ingest import assemble_script, script_stacks
from exhume.ingest.assemble_script import MORE_HEADERS
from exhume.ingest.collect import NO_SAMPLES, NO_TIMES, TOO_MANY
from exhume.ingest.piece import ClockKind, Piece, Trust
from exhume.ingest.script_ids import NO_IDS, NO_NAMES
from exhume.ingest.streams import Source
from exhume.model.core import NO_CORE
from exhume.model.stack import Mode
from exhume.perf import script
from tests.ingest import made
from tests.ingest.test_assemble_perf import named, rows_of


def piece_of(folder: Path, text: str | bytes) -> Piece:
    path = folder / "out.txt"
    made.write(path, text)
    (piece,) = assemble_script.read(Source.of(path), made.context(folder))
    return piece


@pytest.mark.parametrize("packed", [False, True])
def test_samples_are_named_and_the_idle_loop_is_left_out(packed: bool, tmp_path: Path) -> None:
    text = made.script(1.0, host="node-1").encode()
    piece = piece_of(tmp_path, gzip.compress(text) if packed else text)
    assert set(named(piece)) == {("worker", "main", "do_syscall_64", "memcg_numa_stat_show")}
    assert (piece.facts.samples, piece.facts.idle, len(named(piece))) == (200, 100, 100)
    assert piece.hints.node == "node-1"
    assert piece.facts.cores == (0, 1)
    assert piece.clock == ClockKind.KERNEL_LOG
    assert piece.sampled is not None
    (interval,) = piece.sampled.intervals
    assert (interval.event, interval.rate_hz) == ("cpu-clock", 100)
    assert (interval.start_ns, interval.end_ns) == (5_000_000_000, 6_000_000_000)


def test_a_clone_of_the_idle_loop_is_left_out_too(tmp_path: Path) -> None:
    text = made.script(1.0).replace("native_safe_halt", "mwait_idle_with_hints.constprop.0")
    piece = piece_of(tmp_path, text)
    assert (piece.facts.samples, piece.facts.idle) == (200, 100)


def test_without_names_a_core_idled_where_most_samples_of_the_idle_task_are(
    tmp_path: Path,
) -> None:
    nameless = made.script(1.0).replace("native_safe_halt+0x4", "[unknown]")
    piece = piece_of(tmp_path, nameless)
    assert piece.facts.idle == 100
    assert any("guessed: 100 samples of the idle task" in note for note in piece.facts.notes)
    named_one = piece_of(tmp_path, made.script(1.0))
    assert not any("idle task" in note for note in named_one.facts.notes)


def test_the_same_samples_as_perf_data_have_the_same_sketch(tmp_path: Path) -> None:
    from tests.ingest import test_assemble_perf

    (tmp_path / "a").mkdir()
    text = piece_of(tmp_path, made.script(2.0))
    data = test_assemble_perf.piece_of(tmp_path / "a", made.capture(2.0).file())
    assert text.sampled is not None
    assert data.sampled is not None
    assert text.sampled.sketch.tolist() == data.sampled.sketch.tolist()


def test_of_several_events_the_best_is_kept_wherever_it_comes(tmp_path: Path) -> None:
    fault = "x 7 [000] {}.0: 1 page-faults: \n\t1 f (/bin/x)\n\n"
    clock = "x 7 [000] {}.5: 10000000 cpu-clock:u: \n\t1 f (/bin/x)\n\n"
    text = "".join(fault.format(i) for i in range(5)) + "".join(clock.format(i) for i in range(3))
    piece = piece_of(tmp_path, text)
    assert piece.facts.samples == 8
    assert piece.facts.other_events == {"page-faults": 5}
    assert len(named(piece)) == 3


def test_only_faults_are_better_than_nothing(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, "x 7 [000] 1.0: 1 page-faults: \n\t1 f (/bin/x)\n\n" * 4)
    assert len(named(piece)) == 4


def test_side_band_lines_are_no_samples(tmp_path: Path) -> None:
    lines = (
        "x 7 [000] 0.5: PERF_RECORD_COMM exec: x:7/7\n"
        "x 7 [000] 0.6: PERF_RECORD_MMAP2 7/7: [0x1(0x2) @ 0 08:01 1 0]: r-xp /bin/x\n"
    )
    piece = piece_of(tmp_path, lines + "x 7 [000] 1.0: 1 cycles: \n\t1 f (/bin/x)\n\n" + lines)
    assert (piece.facts.samples, len(named(piece)), piece.facts.other_events) == (1, 1, {})


def test_without_cores_times_and_header_it_is_still_a_profile(tmp_path: Path) -> None:
    piece = piece_of(
        tmp_path, "java 19 cycles:\n\t1 a (/bin/x)\n\njava 19 cycles:\n\t2 b (/bin/x)\n\n"
    )
    assert named(piece) == [("java", "a"), ("java", "b")]
    assert rows_of(piece).core.tolist() == [NO_CORE] * 2
    assert piece.clock == ClockKind.OWN
    assert "no times" in piece.facts.notes[0]


def test_odd_lines_and_broken_compression_are_told(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, made.script(0.1) + "\nnonsense\n\nx 1 9.0: cpu-clock:\n\tODD\n\n")
    assert [problem.split(",")[0] for problem in piece.facts.problems] == [
        "1 lines belong to no sample", "1 different lines of stacks are no frames",
    ]  # fmt: skip
    packed = gzip.compress(made.script(5.0).encode())
    piece = piece_of(tmp_path, packed[: len(packed) // 2])
    assert "cut off" in piece.facts.problems[0]
    assert piece.facts.samples > 10


def test_no_samples_at_all_are_no_reason_to_fail(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, "# ========\n# captured on    : x\n# hostname : h\n")
    assert piece.facts.samples == 0
    assert piece.facts.problems == (NO_SAMPLES,)
    assert piece.span_ns() is None
    assert piece.hints.node == "h"


HEADER = """# ========
# captured on    : Sun Nov 15 20:21:09 2026
# clockid: monotonic (1)
# reference time: 2026-11-15 20:15:19.5 = 1794773719.500000 (TOD) = 7.019862000 (monotonic)
# ========
#
"""


def lines(times: Iterable[float]) -> str:
    return "".join(f"a 1 [000] {time:.6f}: cycles: \n\t1 f (/x)\n\n" for time in times)


def test_times_that_count_from_the_first_line_are_on_no_clock(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, HEADER + lines(i / 100 for i in range(50)))
    assert piece.clock == ClockKind.OWN
    assert piece.claim is not None
    assert piece.claim.trust == Trust.FILE_TIME  # the two clocks of the header say nothing of them
    assert piece.span_ns() == (0, 500_000_000)
    assert "--reltime" in piece.facts.notes[0]


def test_times_that_are_distances_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BLOCK_BYTES", 1200)
    distances = [0.0] + [0.010 if i % 3 else 0.009 for i in range(60)]
    piece = piece_of(tmp_path, lines(distances))
    assert piece.clock == ClockKind.OWN
    assert rows_of(piece).time.tolist() == [
        round(sum(distances[: i + 1]) * 1e6) * 1000 for i in range(61)
    ]
    assert "--deltatime" in piece.facts.notes[0]


def test_samples_out_of_order_are_no_distances(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, lines(5 + i % 7 / 100 for i in range(50)))
    assert piece.clock == ClockKind.KERNEL_LOG
    assert set(rows_of(piece).time.tolist()) == {5_000_000_000 + i * 10_000_000 for i in range(7)}


@pytest.mark.parametrize("event", ["cycles", "offcpu-time"])
def test_samples_at_a_time_that_no_clock_shows_are_left_out(event: str, tmp_path: Path) -> None:
    sample = "x 7 [000] {}: 1 {}: \n\t1 f (/bin/x)\n\n"
    text = "".join(sample.format(f"{100 + i}.5", "cycles") for i in range(3))
    piece = piece_of(tmp_path, text + sample.format("18446744069.414584", event) * 2)
    assert piece.facts.samples == 5
    assert rows_of(piece).time.tolist() == [
        100_500_000_000, 101_500_000_000, 102_500_000_000,
    ]  # fmt: skip
    is_told = piece.facts.problems == ("2 samples have times that can't be; they are left out",)
    assert is_told == (event == "cycles")
    assert not any("its times go back" in note for note in piece.facts.notes)


@pytest.mark.parametrize("count", [1, 3])
def test_of_several_captures_in_one_file_it_is_told(count: int, tmp_path: Path) -> None:
    text = "".join(made.script(1.0, host=f"node-{one}") for one in range(count))
    piece = piece_of(tmp_path, text)
    assert (piece.facts.samples, piece.hints.node) == (200 * count, "node-0")
    assert (MORE_HEADERS.format(3) in piece.facts.notes) == (count == 3)
    assert not any("belong to no sample" in problem for problem in piece.facts.problems)


def test_several_captures_in_one_file_end_when_the_last_of_them_was_captured(
    tmp_path: Path,
) -> None:
    first, second, third = (
        made.script(1.0, host="a", start_ns=at * made.NS).replace("20:21:09", f"20:{minute}:09")
        for at, minute in ((100, 21), (700, 31), (1300, 41))
    )
    piece = piece_of(tmp_path, first + third + second)
    assert piece.claim is not None
    at = datetime(2026, 11, 15, 20, 41, 9, tzinfo=UTC).timestamp()
    assert piece.claim.offset_ns / made.NS == pytest.approx(at - 1301, abs=0.1)


def test_memory_is_bounded_however_different_its_stacks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_stacks, "MOST_NAMES", 400)
    monkeypatch.setattr(script_stacks, "MOST_NODES", 200)
    monkeypatch.setattr(assemble_script, "MOST_NAMES", 60)
    monkeypatch.setattr(script, "BLOCK_BYTES", 4096)
    text = "".join(
        f"name{i % 100} 7/7 [000] {5 + i / 1000:.6f}: 1000000 cpu-clock:\n"
        + ("\tffffffff81000010 ksys_read+0x10 ([kernel.kallsyms])\n" if i % 2 else "")
        + "".join(f"\t    {i * 8 + depth:x} fun{i * 8 + depth} (/opt/a)\n" for depth in range(4))
        + "\n"
        for i in range(1000)
    )
    made.write(tmp_path / "in.txt", text)
    report = made.do_import(tmp_path / "out", str(tmp_path / "in.txt"), offset_ns=0)
    found = made.by_name(report)["in.txt"]
    assert (found.samples, found.kept) == (1000, 1000)
    assert TOO_MANY in found.notes
    kept = made.stacks(tmp_path / "out")
    assert sum(kept.values()) == 1000
    assert len({name for stack in kept for name in stack}) < 420
    assert any("[more user stacks than are kept]" in stack for stack in kept)
    assert any("[more system stacks than are kept]" in stack for stack in kept)
    assert any(stack[0] == "[more names than are kept]" for stack in kept)


def test_without_times_nothing_is_said_of_their_distances(tmp_path: Path) -> None:
    text = "".join(f"{who}\n\t7f12 run (/lib/x.so)\n\n" for who in ("a 1", "b 2") * 20)
    piece = piece_of(tmp_path, text)
    assert piece.sampled is not None
    (interval,) = piece.sampled.intervals
    # A sample every millisecond, whoever's it is: together one busy core.
    assert (interval.rate_hz, interval.end_ns - interval.start_ns) == (1000, 40_000_000)
    assert piece.facts.notes == (
        NO_TIMES,
        "how often it was sampled is not told either: taken for 1,000 times a second",
    )


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("a 1 [000] 1.5: sched:sched_switch: prev_comm=a\n" * 4, "100%"),
        ("a 1 [000] 1.5: 9 cycles: \n" * 3 + "a 1 [000] 1.5: 9 cycles: \n\t1 f (/x)\n\n", "75%"),
    ],
)
def test_that_samples_do_not_say_in_which_function_they_were_is_told(
    tmp_path: Path, text: str, share: str
) -> None:
    notes = piece_of(tmp_path, text).facts.notes
    assert any(note.startswith(f"{share} of its samples do not say in which") for note in notes)
    assert not any("do not say" in note for note in piece_of(tmp_path, made.script()).facts.notes)


def test_a_metric_is_no_sample(tmp_path: Path) -> None:
    sample = "a 1 [000] 1.5: 9 cycles:  ffffffff81003004 walk+0x4 ([k])\n"
    piece = piece_of(tmp_path, f"{sample}a 1 [000] 1.5: metric:    0.85  insn per cycle\n" * 3)
    assert (piece.facts.samples, piece.facts.other_events, len(named(piece))) == (3, {}, 3)


def without_ids(text: str, name: str = "{}") -> str:
    """As `perf script -F comm,cpu,time,event,ip,sym,dso` writes what `made.script` does."""
    return re.sub(r"(?m)^(\w+) +\d+(?:/\d+)? ", lambda found: name.format(found[1]) + " ", text)


def test_without_thread_ids_one_name_is_one_process(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, without_ids(made.script(1.0)))
    told = piece_of(tmp_path, made.script(1.0))
    assert named(piece) == named(told)
    assert (piece.facts.samples, piece.facts.idle) == (told.facts.samples, told.facts.idle)
    assert piece.sampled is not None
    threads = piece.sampled.threads
    assert len(set(threads.comm)) == len(set(threads.pid.tolist())) == len(threads)
    assert (threads.pid < 0).all()
    assert (threads.pid == threads.tid).all()
    assert NO_IDS in piece.facts.notes
    assert NO_IDS not in told.facts.notes


def test_without_thread_ids_a_name_is_the_same_process_in_another_text(tmp_path: Path) -> None:
    line = "{} [000] {}.5: cycles: \n\t1 f (/x)\n\n"
    first = piece_of(tmp_path, line.format("a", 1) + line.format("b", 2))
    second = piece_of(tmp_path, line.format("b", 3) + line.format("swapper", 4))
    assert first.sampled is not None
    assert second.sampled is not None
    assert first.sampled.threads.pid[1] == second.sampled.threads.pid[0]
    assert second.sampled.threads.pid[1] == 0


def test_without_names_and_ids_idle_cores_are_still_left_out(tmp_path: Path) -> None:
    piece = piece_of(tmp_path, without_ids(made.script(1.0), ""))
    assert (piece.facts.samples, piece.facts.idle, len(named(piece))) == (200, 100, 100)
    assert NO_NAMES in piece.facts.notes


@pytest.mark.parametrize(
    ("event", "mode"),
    [
        ("sched:sched_switch", Mode.SYSTEM), ("probe_libc:malloc", Mode.USER),
        ("cpu-clock", Mode.USER),
    ],
)  # fmt: skip
def test_a_tracepoint_without_a_stack_was_hit_in_the_kernel(
    event: str, mode: Mode, tmp_path: Path
) -> None:
    piece = piece_of(tmp_path, f"java 7/9 [001] 1.5: {event}: \njava 7/9 [001] 1.6: {event}: \n")
    assert piece.sampled is not None
    assert set(piece.sampled.tree.mode[rows_of(piece).node]) == {mode}


def test_what_the_kernel_dropped_is_told_as_of_perf_data(tmp_path: Path) -> None:
    lost = "worker 7/7 [000] 5.5: PERF_RECORD_LOST lost 88\nPERF_RECORD_LOST lost 4\n"
    piece = piece_of(tmp_path, made.script(1.0) + lost)
    assert piece.facts.problems == ("the kernel dropped 92 records while it was recorded",)
    assert (piece.facts.samples, piece.facts.other_events) == (200, {})
