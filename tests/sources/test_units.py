"""systemd's services."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.event import Event
from exhume.sources import units
from exhume.sources.units import Unit, UnitReader, parse_details, parse_list, read_invocations

LOOPING = Unit(
    "ecs.service",
    invocation_id="",
    load_state="loaded",
    active_state="activating",
    sub_state="auto-restart",
    result="exit-code",
    restarts_total=100,
    main_pid=0,
    main_status=1,
    main_start_us=1_000_000,
    main_exit_us=1_500_000,
    restart_us=10_000_000,
)


def test_a_crash_loop_shows_by_its_counter_between_invocations() -> None:
    later = replace(LOOPING, restarts_total=103, main_start_us=31_000_000, main_exit_us=31_500_000)
    start, failed = units.events({LOOPING.name: LOOPING}, (later,), 40_000_000_000)
    assert (start.kind, start.subject, start.count) == ("unit-start", "ecs.service", 3)
    assert start.time_ns == 31_000_000_000, "systemd's time, not ours"
    assert (failed.kind, failed.time_ns) == ("unit-failed", 31_500_000_000)
    assert failed.fields["result"] == "exit-code"


def test_without_dbus_a_new_invocation_is_a_start() -> None:
    found = units.events({"a.service": Unit("a.service", "1")}, (Unit("a.service", "2"),), 5)
    assert found == (Event(5, "unit-start", "a.service", fields={}),)


@pytest.mark.parametrize("after", [LOOPING, Unit("new.service", "1")])
def test_what_did_not_change_or_was_not_there_before_is_no_event(after: Unit) -> None:
    assert units.events({LOOPING.name: LOOPING}, (after,), 5) == ()


def test_readings_leave_out_what_is_not_known() -> None:
    found = units.readings((LOOPING, Unit("a.service", "1"), Unit("b", "1", active_state="active")))
    by_field = {reading.field: reading for reading in found}
    assert by_field["unit.restarts"].instances == ("ecs.service",)
    assert by_field["unit.active"].values.tolist() == [0, 1]


def test_invocations_are_read_from_the_links_systemd_keeps(tmp_path: Path) -> None:
    folder = tmp_path / "systemd/units"
    folder.mkdir(parents=True)
    (folder / "invocation:ecs.service").symlink_to("0123abcd")
    (folder / "invocation:dev-hugepages.mount").symlink_to("4567")
    (folder / "log-level-max:x.service").symlink_to("3")
    assert read_invocations(Host(run=tmp_path)) == {"ecs.service": "0123abcd"}
    reader = UnitReader(Host(run=tmp_path))
    assert reader.read() == (Unit("ecs.service", "0123abcd"),)
    assert "D-Bus" in reader.problem


def test_without_links_the_inode_of_the_cgroup_tells_the_starts_apart(tmp_path: Path) -> None:
    service = tmp_path / "fs/cgroup/systemd/system.slice/ecs.service"
    service.mkdir(parents=True)
    host = Host(sys=tmp_path, run=tmp_path / "run")
    first = read_invocations(host)
    assert first == {"ecs.service": f"inode:{service.stat().st_ino}"}
    keeper = service.parent / "keeper"  # so that the number is not taken again at once
    service.rename(keeper)
    service.mkdir()
    assert read_invocations(host)["ecs.service"] != first["ecs.service"]


def test_no_systemd_is_none(tmp_path: Path) -> None:
    assert UnitReader(Host(run=tmp_path, sys=tmp_path)).read() is None


def test_details_of_the_wrong_type_are_left_out() -> None:
    found = parse_details(({"NRestarts": ("u", 5), "Result": ("i", 7), "Other": ("s", "x")},))
    assert found == {"restarts_total": 5}


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=10))
def test_answers_that_make_no_sense_are_parse_errors(body: object) -> None:
    for parse in (parse_list, parse_details):
        with suppress(ParseError):
            assert parse(body) is not None


UNIT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/false
Restart=on-failure
RestartSec=1s
"""
TARGET = "[Unit]\nRequires=dbus.socket basic.target\nWants=exhume-loop.service\nAllowIsolate=yes\n"


@contextmanager
def real_systemd(folder: Path) -> Iterator[Path]:
    """A systemd as PID 1 of a container of its own; where its /run is."""
    (folder / "exhume-loop.service").write_text(UNIT)
    (folder / "exhume.target").write_text(TARGET)
    command = ["systemd-nspawn", "-D", "/", "--volatile=yes", "--register=no", "--keep-unit"]
    command += ["--private-network", f"--bind-ro={folder}:/etc/systemd/system", "--quiet"]
    command += ["--boot", "systemd.firstboot=off", "systemd.unit=exhume.target"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield _run_of(process)
        finally:
            # Its PID 1 first: that ends everything in the container, and nspawn with it.
            for child in _children(process.pid):
                os.kill(child, signal.SIGKILL)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    _remove_cgroups()


def _children(pid: int) -> list[int]:
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _remove_cgroups() -> None:
    """What `--keep-unit` leaves behind, in each hierarchy; those in use stay."""
    for root in Path("/sys/fs/cgroup").glob("*"):
        for name in ("payload", "supervisor"):
            for folder, _, _ in os.walk(root / name, topdown=False):
                with suppress(OSError):
                    Path(folder).rmdir()


def _run_of(process: subprocess.Popen[bytes]) -> Path:
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and process.poll() is None:
        for child in _children(process.pid):
            run = Path(f"/proc/{child}/root/run")
            if (run / "dbus/system_bus_socket").exists():
                return run
        time.sleep(0.1)
    pytest.skip("systemd does not boot here")


@pytest.mark.kernel
def test_a_crash_looping_unit_of_a_real_systemd_is_seen_with_its_restarts(tmp_path: Path) -> None:
    pytest.importorskip("jeepney")
    if shutil.which("systemd-nspawn") is None or os.geteuid() != 0:
        pytest.skip("needs root and systemd-nspawn (Debian systemd-container)")
    with real_systemd(tmp_path) as run:
        reader = UnitReader(Host(run=run))
        before: dict[str, Unit] = {}
        seen: list[Event] = []
        results: set[str | None] = set()
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and sum(event.count for event in seen) < 4:
            found = reader.read()
            assert found is not None
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            events = units.events(before, found, now)
            seen += [x for x in events if x.kind == "unit-start" and "loop" in x.subject]
            before = {unit.name: unit for unit in found}
            if "exhume-loop.service" in before:
                results.add(before["exhume-loop.service"].result)
            time.sleep(0.5)
        reader.close()
    assert reader.problem == ""
    loop = before["exhume-loop.service"]
    assert "exit-code" in results  # of one that runs just now it is still a success
    assert (loop.restart, loop.restart_us) == ("on-failure", 1_000_000)
    assert (loop.restarts_total or 0) >= 4
    times = [event.time_ns for event in seen]
    assert times == sorted(times)
