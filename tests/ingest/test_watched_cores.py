"""Cores that idle have no samples in a recording, and yet they were watched."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.ingest.watched_cores import MOST_CORES, watched_cores
from exhume.store.queries.core_map import core_map
from exhume.store.queries.recorded_cores import recorded_cores
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import
from tests.perf import datafile_encoder as encoder

ALL = "/usr/bin/perf record -F 97 -a -g -- sleep 60"


@pytest.mark.parametrize(
    ("command", "numbered", "is_whole", "cores"),
    [
        (ALL, 4, True, (0, 1, 2, 3)),
        (ALL, None, True, (1, 2)),
        ("perf record -C 1,2 sleep 60", 4, True, (1, 2)),
        ("perf record -a -C 1,2 sleep 60", 4, True, (1, 2)),
        ("perf record sleep 60 -a", 4, True, (1, 2)),
        (ALL, 2, True, (1, 2)),
        ("perf record -C 0-2,7 -g sleep 60", None, True, (0, 1, 2, 7)),
        ("perf record --cpu=2-3", 8, True, (1, 2)),
        ("perf record -C 5-1", 8, True, (1, 2)),
        ("perf record -b -a sleep 60", 4, True, (0, 1, 2, 3)),
        ("perf record -W --delay 500 -gF 99 -a sleep 60", 4, True, (0, 1, 2, 3)),
        ("perf record -a -G docker/1d56 -- sleep 60", 4, True, (1, 2)),
        ("perf record -p 7", 4, False, ()),
        (ALL, MOST_CORES + 1, True, ()),
    ],
)
def test_the_command_tells_of_cores_without_a_sample(
    command: str, numbered: int | None, is_whole: bool, cores: tuple[int, ...]
) -> None:
    assert watched_cores({1, 2}, command, numbered, is_whole=is_whole) == cores


def imported(folder: Path, *files: str) -> Recording:
    names = made.write(folder / "kallsyms", made.KALLSYMS)
    do_import(folder / "out", *files, names)
    return Recording.open(folder / "out")


def test_a_core_that_idles_all_the_time_is_in_the_map_and_in_the_mean(tmp_path: Path) -> None:
    """Core 0 is full, cores 1 and 2 idle."""
    path = made.write(
        tmp_path / "perf-node-1-20261115-201517-20s.data", made.capture(20.0, cores=3).file()
    )
    recording = imported(tmp_path, path)
    found = core_map(recording, recording.window(), 10)
    assert found.cores == recorded_cores(recording) == (0, 1, 2)
    assert (found.worst_percent_of_core[1:] == 0).all()
    assert np.allclose(found.node_mean_percent_of_machine, 100 / 3, atol=1)


def test_a_core_that_is_halted_has_no_samples_and_the_header_tells_of_it(tmp_path: Path) -> None:
    told = {
        encoder.NRCPUS: struct.pack("<II", 4, 4),
        encoder.CMDLINE: encoder.command(*ALL.split()),
    }
    capture = made.capture(20.0, cores=1, features=told)
    path = made.write(tmp_path / "perf-node-1-20261115-201517-20s.data", capture.file())
    recording = imported(tmp_path, path)
    assert recorded_cores(recording) == (0, 1, 2, 3)
    found = core_map(recording, recording.window(), 10)
    assert np.allclose(found.node_mean_percent_of_machine, 25, atol=1)


def test_a_core_that_idles_for_ten_minutes_of_a_text_is_idle_and_nothing_is_between_captures(
    tmp_path: Path,
) -> None:
    first = made.write(tmp_path / "perf-node-1-20261115-200500-30s.txt", made.script(30.0, cpus=3))
    text = made.script(30.0, start_ns=1205 * made.NS, cpus=3)
    busy = text.replace("swapper     0 [001]", "worker   70 [001]").replace("native_safe_halt", "x")
    second = made.write(tmp_path / "perf-node-1-20261115-202500-30s.txt", busy)
    recording = imported(tmp_path, first, second)
    window = recording.window()
    found = core_map(recording, window, round(window.seconds / 10))
    assert found.cores == (0, 1, 2)
    worst = found.worst_percent_of_core
    assert (worst[1:, :3] == 0).all()
    assert np.isnan(worst[:, 10:-10]).all()
    assert worst[1, -2] > 90
    assert np.allclose(found.node_mean_percent_of_machine[:3], 100 / 3, atol=1)


def test_a_core_whose_buffer_was_overwritten_is_not_idle_before_what_it_held_last(
    tmp_path: Path,
) -> None:
    """`perf record --overwrite`: core 0 was full all the time, and its buffer soon; what core 1
    wrote while it idled reaches back to the start."""
    whole = made.capture(20.0)
    head, samples, end = whole.records[:3], whole.records[3:-1], whole.records[-1:]
    left = [one for number, one in enumerate(samples) if number % 2 or number >= 3000]
    event = replace(whole.events[0], flags=whole.events[0].flags | 1 << 27)
    capture = replace(whole, records=[*head, *left, *end], events=[event])
    path = made.write(tmp_path / "perf-node-1-20261115-201517-20s.data", capture.file())
    names = made.write(tmp_path / "kallsyms", made.KALLSYMS)
    report = do_import(tmp_path / "out", path, names)
    assert "of core 0 no more than 4.99 s" in str(made.by_name(report)[Path(path).name].notes)
    recording = Recording.open(tmp_path / "out")
    found = core_map(recording, recording.window(), 10)
    worst = found.worst_percent_of_core
    assert np.isnan(worst[0, :7]).all()
    assert (worst[0, 8:] > 95).all()
    assert (worst[1] == 0).all()
    assert np.allclose(found.node_mean_percent_of_machine[[0, -1]], (0, 50), atol=2)


def test_cores_that_another_capture_watched_are_not_idle_in_this_one(tmp_path: Path) -> None:
    """Of core 0 alone, and then of core 1 alone."""
    said = "# ========\n# hostname : node-1\n# cmdline : perf record -C {} sleep 20\n#\n"
    both = []
    for core, minute in ((0, 15), (1, 16)):
        text = said.format(core) + made.script(20.0, cpus=1, start_ns=(minute * 60) * made.NS)
        name = f"perf-node-1-20261115-20{minute}00-20s.txt"
        both.append(made.write(tmp_path / name, text.replace("[000]", f"[{core:03d}]")))
    recording = imported(tmp_path, *both)
    window = recording.window()
    found = core_map(recording, window, 8)
    assert found.cores == (0, 1)
    assert np.isnan(found.worst_percent_of_core[1, 0])
    assert np.isnan(found.worst_percent_of_core[0, -1])
    assert np.allclose(found.node_mean_percent_of_machine[[0, -1]], 100, atol=2)


@pytest.mark.parametrize("is_part", [False, True])
def test_cores_that_were_filtered_out_of_a_text_are_not_idle(tmp_path: Path, is_part: bool) -> None:
    """`perf script --header --cpu 1` leaves the header as it is."""
    said = (
        "# ========\n# hostname : node-1\n# nrcpus online : 3\n# nrcpus avail : 3\n"
        f"# cmdline : {ALL}\n# time of first sample : 5.000000\n"
        "# time of last sample : 24.990000\n# ========\n#\n"
    )
    told = made.script(20.0, cpus=2).replace("swapper     0", "worker   70")
    if is_part:
        of_core = [one + "\n\n" for one in told.split("\n\n") if " [001] " in one]
        told = "".join(of_core[:-1])  # the last sample of all is another core's
    path = made.write(tmp_path / "perf-node-1-20261115-201517-20s.txt", said + told)
    report = do_import(tmp_path / "out", path)
    recording = Recording.open(tmp_path / "out")
    assert recorded_cores(recording) == ((1,) if is_part else (0, 1, 2))
    notes = made.by_name(report)[Path(path).name].notes
    assert any("not all samples that its header tells of" in note for note in notes) == is_part
