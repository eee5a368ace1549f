from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from exhume.fleet import fingerprint as module
from exhume.fleet.collect.found import Found, files_below, read_file
from exhume.fleet.fingerprint import collect, fingerprint
from exhume.host import Host
from exhume.model.fingerprint import AREA
from tests.fleet.made import Machine


def one(area: str) -> module.Collector:
    def collector(_: Host) -> Found:
        found = Found()
        found.put(area, "x", "1")
        return found

    return collector


def hangs(_: Host) -> Found:
    time.sleep(60)
    return Found()


def breaks(_: Host) -> Found:
    raise OSError(5, "Input/output error")


def dies(_: Host) -> Found:
    os._exit(3)


def test_what_hangs_breaks_or_dies_costs_its_own_area(tmp_path: Path) -> None:
    todo = (("os", one("os")), ("sysctl", hangs), ("cpu", one("cpu")), ("mount", breaks),
            ("unit", dies), ("time", one("time")))  # fmt: skip
    start = time.monotonic()
    found = collect(Machine(tmp_path).host, todo, limit_seconds=0.5)
    assert time.monotonic() - start < 5
    assert set(found.fields) == {"os", "cpu", "time"}
    assert found.missing["sysctl"] == "sysctl did not answer within 0.5 s"
    assert "Input/output error" in found.missing["mount"]
    assert "ended unexpectedly" in found.missing["unit"]


def test_a_named_pipe_among_the_files_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_file(tmp_path / "pipe") is None
    assert read_file(tmp_path / "nothing") is None
    assert list(files_below(tmp_path)) == [tmp_path / "pipe"]


def test_a_machine_without_anything_has_a_fingerprint(tmp_path: Path) -> None:
    found = fingerprint(Machine(tmp_path).host, {"zone": "a"})
    assert found.field("label", "zone") is not None
    assert "unit" not in found.fields  # no systemd: not known, rather than none


def test_areas_are_bounded(tmp_path: Path) -> None:
    found = Found()
    for number in range(20_010):
        found.put("package", f"p{number}", "1")
    assert len(found.fields["package"]) == 20_000
    assert "left out" in found.missing["package"]


@pytest.mark.kernel
def test_this_machine_twice_is_the_same_and_costs_little() -> None:
    before = fingerprint(Host())
    after = fingerprint(Host())
    assert {area for area in before.fields if area not in AREA} == set()
    assert len(before.fields["sysctl"]) > 100
    assert before.cpu_seconds < 1.5
    for area in ("sysctl", "package", "unit_file", "cmdline", "kernel", "module_parameter"):
        one, two = (
            {name: field for name, field in found.fields[area].items() if field.kind == "config"}
            for found in (before, after)
        )
        assert one == two, area
