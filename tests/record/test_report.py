from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.model.jsonable import from_jsonable
from exhume.model.status import Missing, SourceState, Status
from exhume.perf.attr import Attr
from exhume.record.recorder import origin_of
from exhume.record.report import STATUS_FILE, Reporter, Retention
from exhume.sampler.probe import SIDEBAND_FEATURES, Offer
from tests.record.fake import SECOND, WALL_NS, Desk, FakeSampler, drained_of, fill, machine, put

KEEP = Retention(keep_ns=3_600 * SECOND, max_bytes=1 << 30, pinned_max_bytes=1 << 20)
LOST = Missing("names", "no CAP_SYSLOG", "grant it")


def reporter(desk: Desk) -> Reporter:
    return Reporter(desk.host, desk.data, origin_of(desk.host), KEEP, (LOST,))


def written(data: Path) -> Status:
    return from_jsonable(Status, json.loads((data / STATUS_FILE).read_text()), path="status")


def by_name(status: Status) -> dict[str, SourceState]:
    return {source.name: source for source in status.sources}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine(tmp_path / "host")


def test_what_is_recorded_since_when_by_whom_and_how(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", FakeSampler())
    report = reporter(desk)
    desk.run_for(3)
    report.write(desk.recorder, "running")
    status = written(desk.data)
    assert (status.state, status.pid, status.node) == ("running", os.getpid(), "node-1")
    assert status.since_wall_ns == WALL_NS
    assert status.updated_wall_ns == WALL_NS + 4 * SECOND
    assert (status.event, status.rate_hz, status.wanted_rate_hz) == ("cpu-clock", 97.0, 97.0)
    assert status.cores_online == 2
    assert (status.disk.keep_ns, status.disk.max_bytes) == (3_600 * SECOND, 1 << 30)
    assert status.missing == (LOST,)
    assert by_name(status)["cpu"] == SourceState("cpu", "ok")


def test_one_that_stopped_has_no_process_and_says_when(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data")
    report = reporter(desk)
    desk.run_for(3)
    report.write(desk.recorder, "stopped")
    status = written(desk.data)
    assert (status.state, status.pid) == ("stopped", None)
    assert status.since_wall_ns == WALL_NS + 4 * SECOND


def test_without_samples_it_says_so(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data")
    desk.run_for(2)
    reporter(desk).write(desk.recorder, "running")
    status = written(desk.data)
    assert (status.event, status.rate_hz, status.cores_sampled) == ("none", None, 0)
    assert status.cores_online == 2
    assert "scan" not in by_name(status)


def test_a_broken_source_is_named_with_its_reason(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data")
    put(host.proc / "stat", "cpu garbage\n")
    desk.run_for(2)
    reporter(desk).write(desk.recorder, "running")
    source = by_name(written(desk.data))["cpu"]
    assert source.state == "broken"
    assert "stat" in source.detail


def test_lost_samples_are_counted(host: Host, tmp_path: Path) -> None:
    sampler = FakeSampler()
    sampler.gives = [drained_of(lost={0: 30, 1: 4}), drained_of(lost={1: 1})]
    desk = Desk(host, tmp_path / "data", sampler)
    desk.run_for(3)
    reporter(desk).write(desk.recorder, "running")
    cost = written(desk.data).cost
    assert cost is not None
    assert cost.lost_samples == 35


def test_what_this_kernel_does_not_offer_is_missing_with_the_version_that_does(
    host: Host, tmp_path: Path
) -> None:
    sampler = FakeSampler()
    sampler.offer = Offer("cpu-clock", Attr(), Attr(), SIDEBAND_FEATURES[:2])
    desk = Desk(host, tmp_path / "data", sampler)
    desk.run_for(1)
    reporter(desk).write(desk.recorder, "running")
    first, cgroup, ksymbol = written(desk.data).missing
    assert first == LOST
    assert cgroup.remedy == "Linux 5.7 or newer"
    assert ksymbol.remedy == "Linux 5.1 or newer"


def test_a_full_disk_is_told_and_the_old_status_stays(tiny_disk: Path, host: Host) -> None:
    desk = Desk(host, tiny_disk / "data")
    report = reporter(desk)

    def script() -> Iterator[object]:
        yield "one second"
        report.write(desk.recorder, "running")
        fill(tiny_disk)
        # One frame may still fit into the last page.
        yield from range(60)
        report.write(desk.recorder, "running")

    desk.run(script())
    assert desk.recorder.head.dropped_frames > 0
    assert "No space left" in desk.recorder.problems["status"]
    assert written(desk.data).updated_wall_ns == WALL_NS + 2 * SECOND
    (tiny_disk / "filler").unlink()
    report.write(desk.recorder, "running")
    disk = by_name(written(desk.data))["disk"]
    assert disk.state == "broken"
    assert str(desk.recorder.head.dropped_frames) in disk.detail


def test_hostile_text_in_a_problem_is_only_text(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data")
    desk.run_for(1)
    desk.recorder.problems["odd"] = "\x1b[31m\udcff\0\u202e"
    reporter(desk).write(desk.recorder, "running")
    assert "odd" in by_name(written(desk.data))
