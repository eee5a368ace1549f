"""A capture made a moment ago: what perf says of it, and what the recording says."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from exhume.ingest import assemble_perf
from exhume.ingest.script_names import is_none
from exhume.store.memory import as_samples
from tests.ingest.made import by_name, do_import, segments, stacks
from tests.perf.recorded import perf_samples, perf_text, record

pytestmark = pytest.mark.kernel

OPTIONS = ("-e", "cpu-clock", "-F", "499", "-g", "-k", "mono")


def threads(root: Path) -> Counter[tuple[str, int, int, int]]:
    """(name, pid, tid, core) of all samples."""
    found: Counter[tuple[str, int, int, int]] = Counter()
    for segment in segments(root):
        samples, table = as_samples(segment.samples()), segment.threads().threads
        for thread, core in zip(samples.thread.tolist(), samples.core.tolist(), strict=True):
            key = (table.comm[thread], int(table.pid[thread]), int(table.tid[thread]), core)
            found[key] += 1
    return found


def test_every_thread_has_the_name_that_perf_gives_it(tmp_path: Path) -> None:
    path = record(tmp_path, *OPTIONS)
    one = by_name(do_import(tmp_path / "out", str(path)))["perf.data"]
    expected = perf_samples(path)
    assert one.samples == len(expected)
    assert one.problems == ()
    found = threads(tmp_path / "out")
    assert sum(found.values()) == one.kept
    # Of a thread that is gone already perf knows no name: `:-1`.
    processes = {s.pid: s.comm for s in expected if s.pid == s.tid}
    names = (processes.get(s.pid, s.comm) if is_none(s.comm) else s.comm for s in expected)
    told = Counter((name, s.pid, s.tid, s.cpu) for name, s in zip(names, expected, strict=True))
    # The idle loop itself is not kept; everything else is.
    assert {k: n for k, n in found.items() if k[1]} == {k: n for k, n in told.items() if k[1]}
    assert one.window is not None
    length = (expected[-1].time_ns - expected[0].time_ns) / 1e9
    assert one.window.seconds == pytest.approx(length, abs=0.01)
    assert abs(one.window.end_ns / 1e9 - path.stat().st_mtime) < 60
    assert one.clock == "both clocks were recorded"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_read_by_several_processes_it_is_the_same_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(tmp_path, *OPTIONS)
    alone = by_name(do_import(tmp_path / "alone", str(path)))["perf.data"]
    monkeypatch.setattr(assemble_perf, "SHARE_BYTES", path.stat().st_size // 8)
    shared = by_name(do_import(tmp_path / "shared", str(path), jobs=3))["perf.data"]
    assert shared == alone
    assert threads(tmp_path / "shared") == threads(tmp_path / "alone")
    assert stacks(tmp_path / "shared") == stacks(tmp_path / "alone")


def test_the_text_of_a_capture_is_the_same_recording(tmp_path: Path) -> None:
    path = record(tmp_path, *OPTIONS)
    text = tmp_path / "out.txt"
    text.write_text(perf_text(path, "-F", "comm,pid,tid,cpu,time,period,event,ip,sym,dso"))
    from_data = by_name(do_import(tmp_path / "a", str(path)))["perf.data"]
    from_text = by_name(do_import(tmp_path / "b", str(text)))["out.txt"]
    assert (from_text.samples, from_text.kept) == (from_data.samples, from_data.kept)
    assert threads(tmp_path / "a") == threads(tmp_path / "b")
    assert from_data.window is not None
    assert from_text.window is not None
    assert abs(from_data.window.start_ns - from_text.window.start_ns) < 2_000
    both = by_name(do_import(tmp_path / "c", str(path), str(text)))
    assert sorted(one.state for one in both.values()) == ["imported", "same"]


def test_captures_of_one_boot_keep_their_distance_when_copying_changed_their_times(
    tmp_path: Path,
) -> None:
    """Nothing else tells when they were made."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        made = record(tmp_path / name, "-e", "cpu-clock", "-F", "499", "-g")
        copied = made.rename(tmp_path / f"{name}.data")
        os.utime(copied, (1_800_000_000, 1_800_000_000))
    one, other = (tmp_path / f"{name}.data" for name in ("first", "second"))
    began_ns = [perf_samples(path)[0].time_ns for path in (one, other)]
    found = by_name(do_import(tmp_path / "out", str(one), str(other)))
    first, second = found["first.data"].window, found["second.data"].window
    assert first is not None
    assert second is not None
    assert second.start_ns - first.start_ns == pytest.approx(began_ns[1] - began_ns[0], abs=10**7)
    assert second.end_ns / 1e9 == pytest.approx(1_800_000_000, abs=0.01)
    assert "by another capture of that boot" in found["first.data"].clock
    assert not any("count twice" in note for one in found.values() for note in one.notes)
