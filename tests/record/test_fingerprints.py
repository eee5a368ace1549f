from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct, field

from exhume.fleet import recorded
from exhume.record.fingerprints import Fingerprints, look
from exhume.store import fingerprints as stored_fingerprints
from tests.fleet.made import Machine
from tests.sources.trees import FakeClock

POPEN = subprocess.Popen


def child(code: str) -> object:
    return POPEN([sys.executable, "-c", code], stderr=subprocess.PIPE)


class Desk(Struct):
    machine: Machine
    started: list[list[str]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> FakeClock:
        clock = self.machine.host.clock
        assert isinstance(clock, FakeClock)
        return clock


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(Machine(tmp_path))

    def popen(command: list[str], **options: object) -> object:
        desk.started.append(command)
        return child("pass")

    monkeypatch.setattr("exhume.record.fingerprints.subprocess.Popen", popen)
    return desk


def run(desk: Desk, one: Fingerprints, seconds: int) -> None:
    for _ in range(seconds // 10):
        desk.clock.pass_seconds(10)
        one.poll(desk.problems)
        if one._process is not None:
            one._process.wait()


def test_one_at_the_start_one_an_hour_and_one_when_something_changed(desk: Desk) -> None:
    one = Fingerprints(desk.machine.host, desk.machine.root / "data")
    run(desk, one, 300)
    assert len(desk.started) == 1
    run(desk, one, 2400)
    assert len(desk.started) == 1
    desk.machine.write("etc/sysctl.conf", "vm.swappiness=1\n")
    run(desk, one, 700)
    assert len(desk.started) == 2
    run(desk, one, 4300)
    assert len(desk.started) == 3
    one.stop()


def test_it_waits_while_another_child_is_at_work(desk: Desk) -> None:
    one = Fingerprints(desk.machine.host, desk.machine.root / "data")
    desk.clock.pass_seconds(1000)
    one.poll(desk.problems, may_start=False)
    assert not desk.started


def test_a_collector_that_fails_is_noted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(command: list[str], **options: object) -> object:
        return child("import sys; sys.exit('no such thing')")

    monkeypatch.setattr("exhume.record.fingerprints.subprocess.Popen", failing)
    one = Fingerprints(desk.machine.host, desk.machine.root / "data")
    run(desk, one, 300)
    assert "no such thing" in desk.problems["fingerprint"]


def test_modules_and_files_show_in_a_look(desk: Desk) -> None:
    before = look(desk.machine.host)
    assert before == look(desk.machine.host)
    desk.machine.write("sys/module/ena/initstate", "live")
    assert look(desk.machine.host) != before


def test_only_a_change_is_kept_and_the_rest_confirmed(desk: Desk, tmp_path: Path) -> None:
    data, host = tmp_path / "data", desk.machine.host
    desk.machine.write("proc/sys/vm/swappiness", "60\n")
    desk.clock.now_ns = 1_800_000_000 * 10**9
    assert recorded.keep(data, host)
    desk.clock.pass_seconds(3600)
    assert not recorded.keep(data, host)
    (one,) = stored_fingerprints.stored(data)
    assert one.checked_wall_ns() == desk.clock.now_ns
    desk.machine.write("proc/sys/vm/swappiness", "10\n")
    desk.clock.pass_seconds(3600)
    assert recorded.keep(data, host)
    assert len(stored_fingerprints.stored(data)) == 2
