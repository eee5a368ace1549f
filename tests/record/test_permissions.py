from __future__ import annotations

import errno
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.record import permissions
from exhume.record.permissions import CAPABILITIES, effective, missing, why_no_samples
from tests.record.fake import machine, put

ALL = sum(1 << capability.bit for capability in CAPABILITIES)
SYS_ADMIN = 1 << 21


def missing_with(tmp_path: Path, capabilities: int) -> list[str]:
    host = machine(tmp_path)
    put(host.proc / "self/status", f"Name:\tx\nCapEff:\t{capabilities:016x}\nCapBnd:\t0\n")
    return [entry.why.rpartition(" ")[2] for entry in missing(host)]


def test_with_all_of_them_nothing_is_missing(tmp_path: Path) -> None:
    assert missing_with(tmp_path, ALL) == []


def test_with_none_of_them_each_is_named(tmp_path: Path) -> None:
    assert missing_with(tmp_path, 0) == [capability.name for capability in CAPABILITIES]


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda c: c.name)
def test_what_one_gives_is_said_where_it_lacks(
    capability: permissions.Capability, tmp_path: Path
) -> None:
    assert missing_with(tmp_path, ALL & ~(1 << capability.bit)) == [capability.name]
    (entry,) = missing(machine_without(tmp_path, capability.bit))
    assert entry.what == capability.gives
    assert capability.name in entry.remedy


def machine_without(tmp_path: Path, bit: int) -> Host:
    host = machine(tmp_path)
    put(host.proc / "self/status", f"Name:\tx\nCapEff:\t{ALL & ~(1 << bit):016x}\n")
    return host


def test_before_linux_5_8_the_administrator_could_do_what_perfmon_allows_now(
    tmp_path: Path,
) -> None:
    perfmon = 1 << 38
    assert missing_with(tmp_path, ALL & ~perfmon | SYS_ADMIN) == []


@pytest.mark.parametrize("text", ["", "\nCapEff:\n", "Name:\tx\n", "\nCapEff:\tx\n"])
def test_a_status_that_does_not_tell_counts_as_none(text: str, tmp_path: Path) -> None:
    host = machine(tmp_path)
    put(host.proc / "self/status", text)
    assert effective(host) == 0
    assert len(missing(host)) == len(CAPABILITIES)


def test_a_refusal_names_the_setting_and_the_capability(tmp_path: Path) -> None:
    host = machine(tmp_path)
    put(host.proc / "sys/kernel/perf_event_paranoid", "4\n")
    entry = why_no_samples(host, PermissionError(errno.EACCES, "Permission denied"))
    assert "perf_event_paranoid is 4" in entry.why
    assert "CAP_PERFMON" in entry.remedy
    assert "CAP_SYS_ADMIN" in entry.remedy
    assert "per-core times go on" in entry.what


def test_a_kernel_without_perf_events_is_something_else(tmp_path: Path) -> None:
    host = machine(tmp_path)
    entry = why_no_samples(host, OSError(errno.ENOSYS, "Function not implemented"))
    assert "Function not implemented" in entry.why
    assert "CONFIG_PERF_EVENTS" in entry.remedy
