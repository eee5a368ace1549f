from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from exhume.model.event import Event
from exhume.model.window import Window
from exhume.store.minutes import write_minutes
from exhume.store.queries.lives import boots, process_events, process_times
from exhume.store.queries.recorded_seconds import recorded_seconds
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, busy_node, by_hand


def test_execs_and_exits_come_as_columns_in_order(tmp_path: Path) -> None:
    found = (
        Event(START + 3 * SECOND, "exit", "cc1", pid=9,
              fields={"parent": "gcc", "parent_pid": 8, "lifetime_seconds": 0.25}),
        Event(START + 1 * SECOND, "exec", "cc1", pid=9, fields={"parent": "gcc", "parent_pid": 8}),
        Event(START + 2 * SECOND, "exec", "orphan", count=60),
        Event(START + 2 * SECOND, "gap", "recorder"),
    )  # fmt: skip
    write_segment(tmp_path, by_hand([], events=found))
    lives = process_events(Recording.open(tmp_path), at(0, 10))
    assert [lives.names[index] for index in lives.name.tolist()] == ["cc1", "orphan", "cc1"]
    assert lives.is_exec.tolist() == [True, True, False]
    assert [lives.names[i] if i >= 0 else "" for i in lives.parent.tolist()] == ["gcc", "", "gcc"]
    assert lives.parent_pid.tolist() == [8, -1, 8]
    assert lives.pid.tolist() == [9, -1, 9]
    assert lives.count.tolist() == [1, 60, 1]
    assert np.isnan(lives.lifetime_seconds[:2]).all()
    assert lives.lifetime_seconds[2] == 0.25
    assert len(process_events(Recording.open(tmp_path), at(5, 1))) == 0


def test_core_time_is_told_with_unit_and_container(tmp_path: Path) -> None:
    id_ = "ab" * 32
    threads = (
        (10, 10, "kubelet", "/system.slice/kubelet.service"),
        (11, 11, "agent", f"/docker/{id_}"),
    )
    samples = [(0, second / 10, 0, 0) for second in range(60)]
    samples += [(1, second / 10, 1, 0) for second in range(30)]
    write_segment(tmp_path, by_hand(samples, threads=threads, hz=10))
    found = {one.comm: one for one in process_times(Recording.open(tmp_path), at(0, 10))}
    assert found["kubelet"].core_ns == pytest.approx(6 * SECOND)
    assert found["kubelet"].unit == "kubelet.service"
    assert (found["agent"].container_id, found["agent"].unit) == (id_, "")
    half = {one.comm: one for one in process_times(Recording.open(tmp_path), at(0, 2))}
    assert half["kubelet"].core_ns == pytest.approx(2 * SECOND)


def test_boots_are_told_apart_and_oldest_first(tmp_path: Path) -> None:
    write_segment(tmp_path, by_hand([], start_ns=START + 100 * SECOND, boot_id="second"))
    write_segment(tmp_path, by_hand([], start_ns=START, boot_id="first"))
    write_segment(tmp_path, by_hand([], start_ns=START + 10 * SECOND, boot_id="first"))
    first, second = boots(Recording.open(tmp_path), at(0, 200))
    assert (first.boot_id, first.kernel, first.window.seconds) == ("first", "6.18", 20)
    assert second.boot_id == "second"


def test_a_boot_of_which_only_minutes_are_left_is_known(tmp_path: Path) -> None:
    data = busy_node()
    path = write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    write_segment(tmp_path, by_hand([], start_ns=START + 500 * SECOND, boot_id="second"))
    shutil.rmtree(path)
    first, second = boots(Recording.open(tmp_path), at(0, 600))
    assert (first.boot_id, first.kernel) == (data.origin.boot_id, "")
    assert first.window.seconds == pytest.approx(180, abs=60)
    assert second.boot_id == "second"


def test_recorded_time_counts_once_and_only_within_the_window(tmp_path: Path) -> None:
    write_segment(tmp_path, by_hand([], start_ns=START))
    write_segment(tmp_path, by_hand([], start_ns=START + 8 * SECOND))
    write_segment(tmp_path, by_hand([], start_ns=START + 50 * SECOND))
    recording = Recording.open(tmp_path)
    assert recorded_seconds(recording, at(0, 100)) == pytest.approx(28)
    assert recorded_seconds(recording, at(5, 47)) == pytest.approx(13 + 2)
    assert recorded_seconds(recording, Window(0, 1)) == 0
