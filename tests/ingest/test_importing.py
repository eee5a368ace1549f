from __future__ import annotations

import gzip
import os
import shutil
import time
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

import exhume.ingest.assemble_perf as assemble_perf
import exhume.ingest.importing as importing
import exhume.ingest.work as work
import exhume.perf.datafile as datafile
from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.ingest.inputs import expand
from exhume.ingest.recognise import EXPECTED
from exhume.model.answers import Filter
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.layout import heads_path, import_path
from exhume.store.recording import Recording
from tests.ingest import made, sysstat
from tests.ingest.made import NS, by_name, do_import, segments, stacks, total, write
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Bit, Sample, Shape

# 2026-11-15 20:15:17 UTC
NAMED = "perf-node-1-20261115-201517-{}s.data"
STARTED_NS = 1794773717 * NS


def test_a_capture_becomes_a_recording_that_can_be_asked(tmp_path: Path) -> None:
    path = write(tmp_path / NAMED.format(2), made.capture(2.0).file())
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    report = do_import(tmp_path / "out", path, symbols)
    one = by_name(report)[NAMED.format(2)]
    assert (one.state, one.format, one.samples, one.kept, one.cores) == (
        "imported", "perf.data", 400, 200, 2,
    )  # fmt: skip
    assert one.window == Window(STARTED_NS, STARTED_NS + 2 * NS + 1)
    assert "its name" in one.clock
    assert by_name(report)["kallsyms"].state == "names"
    (recording,) = report.recordings
    assert (recording.node, recording.path) == ("node-1", str(tmp_path / "out"))
    top = queries.top(
        Recording.open(tmp_path / "out"), Window(STARTED_NS, STARTED_NS + NS), Filter(cores=(0,))
    )
    assert (top.processes[0].comm, top.processes[0].samples) == ("worker", 100)
    assert top.processes[0].percent_of_one_core == pytest.approx(100)
    assert top.processes[0].system_percent_of_one_core == pytest.approx(100)
    assert "memcg_numa_stat_show" in {frame.frame.name for frame in top.frames}


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_capture_of_several_threads_is_one_input(tmp_path: Path, *, is_closed: bool) -> None:
    whole = made.capture(4)
    is_sample = [record[0] == 9 for record in whole.records]
    rest = [r for r, one in zip(whole.records, is_sample, strict=True) if not one]
    samples = [r for r, one in zip(whole.records, is_sample, strict=True) if one]
    features = {**whole.features, 24: (1).to_bytes(8, "little")}
    main = replace(whole, records=rest, features=features)
    folder = tmp_path / "perf.data"
    write(folder / "data", main.file(is_closed=is_closed))
    for number in range(2):  # one thread a core
        write(folder / f"data.{number}", b"".join(samples[number::2]))
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    write(tmp_path / "whole.data", whole.file())
    report = do_import(tmp_path / "out", str(folder), symbols)
    assert by_name(report)["data"].samples == 800
    within = expand([str(tmp_path)], tmp_path / "out")[0]
    assert [one.path.name for one in within] == ["kallsyms", "data", "whole.data"]
    do_import(tmp_path / "same", str(tmp_path / "whole.data"), symbols)
    assert stacks(tmp_path / "out") == stacks(tmp_path / "same")


def test_a_capture_that_has_the_names_of_its_kernel_with_it_needs_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "night" / "perf.data"  # of `perf record --kcore`
    write(folder / "data", made.capture(1).file())
    write(folder / "kcore_dir" / "kallsyms", made.KALLSYMS)
    write(folder / "kcore_dir" / "kcore", b"\x7fELF")
    for number, given in enumerate((folder, tmp_path / "night", tmp_path / "night" / "*.data")):
        out = tmp_path / f"out-{number}"
        report = by_name(do_import(out, str(given)))
        assert {name: one.state for name, one in report.items()} == {
            "data": "imported", "kallsyms": "names",
        }  # fmt: skip
        (stack,) = stacks(out)
        assert stack[-2:] == ("do_syscall_64", "memcg_numa_stat_show")


def test_how_much_there_is_shows_while_it_is_looked_at_what_it_is(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.txt", made.script(0.1, start_ns=n * NS)) for n in range(3)]
    told: list[tuple[int, int]] = []
    files = tuple(map(str, paths))
    importing.run(importing.Options(files, tmp_path / "out"), Host(), lambda *now: told.append(now))
    size = sum(Path(path).stat().st_size for path in paths)
    assert told[:3] == [(0, size)] * 3
    assert told[-1] == (size, size)


def test_files_that_lie_where_the_import_goes_to_are_imported_once(tmp_path: Path) -> None:
    path = write(tmp_path / NAMED.format(2), made.capture(2.0).file())
    assert [one.state for one in do_import(tmp_path, path).inputs] == ["imported"]
    again = do_import(tmp_path, str(tmp_path))
    assert [(one.path, one.state) for one in again.inputs] == [(str(path), "known")]
    Path(path).unlink()
    with pytest.raises(ExhumeError, match="nothing to import") as error:
        do_import(tmp_path / "other", str(tmp_path))
    assert error.value.todo == f"that is a recording already: exhume why --data {tmp_path}"


def test_nothing_is_imported_into_what_a_recorder_keeps(tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", made.capture(1.0).file())
    heads_path(tmp_path / "live").mkdir(parents=True)
    with pytest.raises(ExhumeError, match="is where a recorder keeps") as error:
        do_import(tmp_path / "live", path)
    assert "--into" in error.value.todo
    assert not import_path(tmp_path / "live").exists()


def test_pieces_of_a_night_are_one_recording_of_ten_minutes_each(tmp_path: Path) -> None:
    boot = 1794773000 * NS
    for i in range(6):  # every four minutes one of a second
        start = 100 * NS + i * 240 * NS
        name = time.strftime("%Y%m%d-%H%M%S", time.gmtime((boot + start) // NS))
        write(
            tmp_path / "in" / f"perf-node-1-{name}-1s.data",
            made.capture(1.0, start_ns=start).file(),
        )
    report = do_import(tmp_path / "out", str(tmp_path / "in"))
    assert [one.state for one in report.inputs] == ["imported"] * 6
    assert total(tmp_path / "out") == 6 * 100, "one core works, the other one rests"
    found = segments(tmp_path / "out")
    assert len(found) == 3
    assert all(segment.window.seconds < 600 for segment in found)
    # Between the pieces nothing was sampled, and that is told.
    assert [stretch.event for stretch in found[0].stretches][:2] == ["cpu-clock", "none"]
    top = queries.top(Recording.open(tmp_path / "out"), found[0].window)
    assert top.seconds_recorded == pytest.approx(len(found[0].stretches) // 2 + 1, abs=0.1)


def test_perf_data_and_its_text_count_once(tmp_path: Path) -> None:
    data = write(tmp_path / "perf.data", made.capture(2.0).file())
    text = write(tmp_path / "out.txt", made.script(2.0, host="node-1"))
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    report = by_name(do_import(tmp_path / "a", data, text, symbols))
    # The text has names for all frames, the data only for the kernel's.
    assert {name: one.state for name, one in report.items()} == {
        "perf.data": "same", "out.txt": "imported", "kallsyms": "names",
    }  # fmt: skip
    assert total(tmp_path / "a") == 200
    assert "count once" in report["perf.data"].notes[0]
    later = by_name(do_import(tmp_path / "a", write(tmp_path / "copy.txt", made.script(2.0))))
    assert later["copy.txt"].state == "same"
    assert total(tmp_path / "a") == 200


def test_of_many_tracepoints_the_one_that_was_hit_most_is_taken_from_data_and_text(
    tmp_path: Path,
) -> None:
    shape = Shape(encoder.BITS | Bit.IDENTIFIER)
    events = [
        encoder.Event(shape, type=2, config=n, value=1, flags=1 << 18, ids=(n,)) for n in (1, 2)
    ]
    names = ["sched:rare", "sched:usual"]
    hits = [1 if i == 50 else 2 for i in range(100)]
    records = [
        enc.sample(shape, Sample(id=id_, pid=9, tid=9, time=(5 + i) * NS, cpu=0))
        for i, id_ in enumerate(hits)
    ]
    told = {encoder.EVENT_DESC: encoder.event_names(list(zip(names, events, strict=True)))}
    data = write(tmp_path / "perf.data", encoder.Capture(records, events, told).file())
    lines = (
        f"x 9 [000] {5 + i}.000000: 1 {names[id_ - 1]}: \n\t1 a (b)\n\n"
        for i, id_ in enumerate(hits)
    )
    text = write(tmp_path / "perf.txt", "".join(lines))
    for number, path in enumerate((data, text)):
        (one,) = do_import(tmp_path / f"out-{number}", path).inputs
        assert (one.samples, one.kept) == (100, 99)
        assert any("1 of sched:rare" in note for note in one.notes)
        assert total(tmp_path / f"out-{number}") == 99


def test_a_second_import_adds_to_the_same_ten_minutes(tmp_path: Path) -> None:
    first = write(tmp_path / "a.txt", made.script(1.0, start_ns=5 * NS))
    second = write(tmp_path / "b.txt", made.script(1.0, start_ns=20 * NS))
    out = tmp_path / "out"
    do_import(out, first, offset_ns=STARTED_NS)
    assert (len(segments(out)), total(out)) == (1, 100)
    do_import(out, second, offset_ns=STARTED_NS)
    assert (len(segments(out)), total(out)) == (1, 200)
    assert set(stacks(out)) == {("worker", "main", "do_syscall_64", "memcg_numa_stat_show")}
    known = do_import(out, first, second, offset_ns=STARTED_NS)
    assert [one.state for one in known.inputs] == ["known", "known"]
    assert known.inputs[0].samples == 200
    assert total(out) == 200


def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    good = write(tmp_path / "good.txt", made.script(0.5))
    swapped = write(tmp_path / "swapped.data", b"2ELIFREP" + bytes(200))
    other = write(tmp_path / "letter.txt", "Dear Sir,\n")
    empty = write(tmp_path / "empty", b"")
    report = by_name(do_import(tmp_path / "out", good, swapped, other, empty, str(tmp_path / "no")))
    assert {name: one.state for name, one in report.items()} == {
        "good.txt": "imported", "swapped.data": "failed", "letter.txt": "failed",
        "empty": "failed", "no": "failed",
    }  # fmt: skip
    assert "byte order" in report["swapped.data"].problems[0]
    assert report["letter.txt"].problems[0] == f"{other}, offset 0: expected {EXPECTED}"
    assert report["empty"].problems == (f"{empty} is empty",)
    assert report["no"].problems == ("no such file",)
    assert total(tmp_path / "out") == 50


def test_a_file_from_the_far_future_costs_only_itself(tmp_path: Path) -> None:
    """2446: what ext4 makes of some damaged times, and more nanoseconds than 64 bits hold."""
    good = write(tmp_path / "good.txt", made.script(0.5, start_ns=50 * NS))
    texts: dict[str, bytes | str] = {
        "far.data": made.capture(1.0).file(),
        "far.log": "Nov 15 20:20:10 node-1 systemd[1]: ecs.service: Scheduled restart job\n",
        "far.txt": sysstat.mpstat([{0: sysstat.IDLE}] * 3).partition("\n")[2],
        "stat": "cpu  1 0 2 3 0 0 0 0 0 0\ncpu0 1 0 2 3 0 0 0 0 0 0\nbtime 1794773712\n",
    }
    far = [write(tmp_path / name, text) for name, text in texts.items()]
    for path in far:
        os.utime(path, (15_032_385_535, 15_032_385_535))
    report = by_name(do_import(tmp_path / "out", good, *far))
    assert {name: one.state for name, one in report.items()} == dict.fromkeys(report, "imported")
    assert total(tmp_path / "out") == 150


@pytest.mark.parametrize("seconds", [99_999_999_999, -9_223_372_036])
def test_an_offset_out_of_all_reach_costs_only_what_it_is_for(seconds: int, tmp_path: Path) -> None:
    capture = write(tmp_path / "a.data", made.capture(1.0).file())
    table = write(tmp_path / "a.txt", sysstat.mpstat([{0: sysstat.IDLE}] * 3))
    report = by_name(do_import(tmp_path / "out", capture, table, offset_ns=seconds * NS))
    assert {name: one.state for name, one in report.items()} == {
        "a.data": "failed", "a.txt": "imported",
    }  # fmt: skip
    assert "more than 230 years from 1970" in report["a.data"].problems[0]


def test_what_only_lies_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "in" / "README.md", "# Hello\n")
    write(tmp_path / "in" / "out.txt.gz", gzip.compress(made.script(0.5).encode()))
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in")))
    assert (report["README.md"].state, report["out.txt.gz"].state) == ("skipped", "imported")


def test_inputs_of_several_nodes_become_a_recording_each(tmp_path: Path) -> None:
    for node in ("a", "b/../c"):
        write(tmp_path / f"{node[0]}.txt", made.script(0.5, host=node))
    write(tmp_path / "nameless.txt", made.script(0.5, start_ns=900 * NS))
    report = do_import(tmp_path / "out", *map(str, tmp_path.glob("*.txt")))
    assert {one.node: Path(one.path).name for one in report.recordings} == {
        "a": "a", "b/../c": "b_.._c", "imported": "imported",
    }  # fmt: skip
    assert total(tmp_path / "out" / "a") == 50
    named = do_import(tmp_path / "named", *map(str, tmp_path.glob("[ab].txt")), node="all")
    assert [(one.node, one.path) for one in named.recordings] == [("all", str(tmp_path / "named"))]


def test_marks_of_uptime_place_a_capture_better_than_its_name(tmp_path: Path) -> None:
    data = write(tmp_path / NAMED.format(1), made.capture(1.0, start_ns=7 * NS).file())
    marks = write(tmp_path / "z.log", "### 1794773717.630 x uptime=5.630\n")
    one = by_name(do_import(tmp_path / "out", data, marks))[NAMED.format(1)]
    assert one.window is not None
    assert one.window.start_ns == 1794773719 * NS
    assert "uptime in z.log" in one.clock


def test_a_file_that_changed_since_is_not_imported_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "perf.txt", made.script(0.5))
    do_import(tmp_path / "out", path)
    write(tmp_path / "perf.txt", made.script(1.0))
    (one,) = do_import(tmp_path / "out", path).inputs
    assert one.state == "failed"
    assert "changed since" in one.problems[0]
    assert total(tmp_path / "out") == 50


def test_a_file_of_which_nothing_was_kept_is_read_again_once_it_has_grown(tmp_path: Path) -> None:
    perf = write(tmp_path / "perf.data", made.capture(0).file())
    log = write(tmp_path / "app.log", "2026-11-15T20:15:17Z INFO all is well\n")
    marks = write(tmp_path / "z.log", "### 1794773717.630 x uptime=5.630\nMemTotal: 12 kB\n")
    do_import(tmp_path / "out", perf, log, marks)
    write(tmp_path / "perf.data", made.capture(1.0).file())
    with open(log, "a") as file:
        file.write("2026-11-15T20:15:18Z ERROR health check timed out after 3.0s\n")
    again = by_name(do_import(tmp_path / "out", perf, log))
    assert {one.state for one in again.values()} == {"imported"}
    assert again["perf.data"].kept == total(tmp_path / "out") > 0
    assert again["app.log"].window is not None


def test_an_import_in_several_processes_gives_the_same(tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{i}.txt", made.script(0.5, start_ns=(5 + 60 * i) * NS)) for i in range(5)
    ]
    bad = write(tmp_path / "bad.data", b"2ELIFREP" + bytes(200))
    seen: list[tuple[int, int]] = []
    options = importing.Options((*files, bad), tmp_path / "out", offset_ns=STARTED_NS, jobs=2)
    report = importing.run(options, Host(), lambda done, all_: seen.append((done, all_)))
    assert [one.state for one in report.inputs] == ["imported"] * 5 + ["failed"]
    assert "byte order" in by_name(report)["bad.data"].problems[0]
    assert total(tmp_path / "out") == 250
    do_import(tmp_path / "alone", *files, offset_ns=STARTED_NS)
    assert stacks(tmp_path / "out") == stacks(tmp_path / "alone")
    assert 0 < seen[-1][0] <= seen[-1][1]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_one_large_capture_is_read_by_several_processes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "kallsyms", made.KALLSYMS)
    path = write(tmp_path / "perf.data", made.capture(900.0).file())
    monkeypatch.setattr(assemble_perf, "SHARE_BYTES", 1 << 14)
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 1 << 18)
    size = Path(path).stat().st_size
    files = (path, str(tmp_path / "kallsyms"))
    reports = {}
    for jobs in (1, 3):
        seen: dict[int, int] = {}
        options = importing.Options(
            files, tmp_path / f"out-{jobs}", offset_ns=STARTED_NS, jobs=jobs
        )
        reports[jobs] = by_name(importing.run(options, Host(), seen.__setitem__))["perf.data"]
        # Who watches is told as it goes on, and in the end that all was read.
        assert len(seen) > 3
        assert list(seen) == sorted(seen)
        assert max(seen) == pytest.approx(size, rel=0.02)
        assert {of for done, of in seen.items() if done} == {size}
    assert reports[1] == reports[3]
    assert reports[3].kept == total(tmp_path / "out-3") == 90_000
    assert stacks(tmp_path / "out-1") == stacks(tmp_path / "out-3")
    windows = [[s.window for s in segments(tmp_path / f"out-{jobs}")] for jobs in (1, 3)]
    assert windows[0] == windows[1]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_one_large_capture_is_written_by_several_processes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "SHARE_ROWS", 1000)
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 1 << 16)
    write(tmp_path / "kallsyms", made.KALLSYMS)
    path = write(tmp_path / "perf.data", made.capture(60.0).file())
    files = (path, str(tmp_path / "kallsyms"))
    for jobs in (1, 3):
        options = importing.Options(
            files, tmp_path / f"out-{jobs}", offset_ns=STARTED_NS, jobs=jobs
        )
        (recording,) = importing.run(options, Host()).recordings
        assert recording.segments == len(segments(tmp_path / f"out-{jobs}")) == jobs
    assert total(tmp_path / "out-1") == total(tmp_path / "out-3") == 6000
    assert stacks(tmp_path / "out-1") == stacks(tmp_path / "out-3")
    (whole,), parts = (segments(tmp_path / f"out-{jobs}") for jobs in (1, 3))
    assert whole.window == Window(parts[0].window.start_ns, parts[-1].window.end_ns)
    assert all(a.window.end_ns <= b.window.start_ns for a, b in pairwise(parts))
    assert [len(part.samples()) // 100 for part in parts] == pytest.approx([20] * 3, abs=2)
    # What comes later joins all of it.
    later = write(tmp_path / "later.txt", made.script(1.0, start_ns=70 * NS))
    do_import(tmp_path / "out-3", later, offset_ns=STARTED_NS)
    assert total(tmp_path / "out-3") == 6100


def test_two_imports_into_one_place_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_GONE_SECONDS", 0.1)
    path = write(tmp_path / "a.txt", made.script(0.1))
    with (
        importing._alone(tmp_path / "out", tmp_path / "out" / "import"),
        pytest.raises(ExhumeError, match="going on"),
    ):
        do_import(tmp_path / "out", path)


def test_a_bug_in_a_reader_costs_only_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("oops")

    files = [
        write(tmp_path / f"{i}.txt", made.script(0.1, start_ns=(5 + i) * NS)) for i in range(2)
    ]
    real = work.read_input
    monkeypatch.setattr(
        importing,
        "read_input",
        lambda task: fails() if task.input.path.name == "0.txt" else real(task),
    )
    report = by_name(do_import(tmp_path / "out", *files))
    assert report["0.txt"].state == "failed"
    assert "internal error: RuntimeError: oops" in report["0.txt"].problems[0]
    assert report["1.txt"].state == "imported"


def test_another_import_to_the_same_place_has_nothing_of_the_one_before(tmp_path: Path) -> None:
    """Inputs that differ only in their middle have one id, and so one place to be put aside in."""
    plain = made.script(20.0)
    other, at = plain, len(plain) // 2
    for number in range(50):
        at = other.index("worker    70", at + 1)
        other = f"{other[:at]}w{number:05}    70{other[at + 12 :]}"
    found = []
    for text in (plain, other):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        path = write(tmp_path / "perf-node-1-20261115-201517-20s.txt", text)
        (report,) = do_import(tmp_path / "out", path).inputs
        assert (report.state, report.problems) == ("imported", ())
        (segment,) = made.segments(tmp_path / "out")
        found.append(len(set(segment.threads().threads.comm)))
    assert found == [1, 51]
