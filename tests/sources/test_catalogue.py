"""Every reading of every source is in the one catalogue, on all kinds of machines and this one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.model.fields import BY_ID, FIELDS
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.sources import (
    cpu,
    interrupts,
    memcg_count,
    memcg_holders,
    meminfo,
    pressure,
    processes,
    schedstat,
    softirqs,
    softnet,
    vmstat,
)
from tests.sources.trees import Layout, Machine, Tree


def all_readings(host: Host) -> list[Reading]:
    found: list[Reading] = []
    if (times := cpu.read(host)) is not None:
        found += cpu.readings(times)
    if (soft := softirqs.read(host)) is not None:
        found += softirqs.readings(soft)
    if (lines := interrupts.InterruptsReader(host).read()) is not None:
        found += interrupts.readings(lines)
        found += interrupts.affinity_readings(lines, interrupts.read_affinity(host, lines))
    if (net := softnet.read(host)) is not None:
        found += softnet.readings(net)
    if (stat := vmstat.read(host)) is not None:
        found += vmstat.readings(stat)
    if (info := meminfo.read(host)) is not None:
        found += meminfo.readings(info)
    if (pressures := pressure.read(host)) is not None:
        found += pressure.readings(pressures)
    threads = schedstat.NetworkThreads(host)
    if (scheds := threads.read()) is not None:
        found += schedstat.readings(scheds)
    threads.close()
    found += processes.readings(processes.ProcessReader(host).read(hint=host.pids()[:3]))
    if (count := memcg_count.MemcgCounter(host).read()) is not None:
        found += memcg_count.readings(count)
    if (holders := memcg_holders.HolderSearch(host).read()) is not None:
        found += memcg_holders.readings(holders)
    return found


def check(readings: list[Reading]) -> None:
    fields = [reading.field for reading in readings]
    assert len(fields) == len(set(fields)), "one reading a field"
    for reading in readings:
        entry = BY_ID[reading.field]
        assert reading.values.dtype == np.int64
        assert reading.values.shape == (len(reading.instances),)
        assert len(set(reading.instances)) == len(reading.instances)
        assert (reading.instances == ("",)) == (entry.instance == ""), entry.id
        if entry.kind == "counter":
            assert np.all((reading.values >= 0) | (reading.values == MISSING)), entry.id
        if entry.instance == "core":
            assert all(name.isdigit() for name in reading.instances)


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("layout", ["v1", "v2", "hybrid", "none"])
@pytest.mark.parametrize("cores", [2, 96])
def test_what_made_up_machines_give_is_in_the_catalogue(
    tmp_path: Path, cores: int, layout: Layout, is_old: bool
) -> None:
    machine = Machine(cores, is_old=is_old, cgroups=layout)
    readings = all_readings(Tree(tmp_path, machine).build().host)
    check(readings)
    assert len(readings) > 50


def test_a_bare_directory_gives_nothing_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert all_readings(Host(proc=tmp_path / "proc", sys=tmp_path, run=tmp_path)) == []


@pytest.mark.kernel
def test_what_this_machine_gives_is_in_the_catalogue() -> None:
    check(all_readings(Host()))


def test_names_units_and_help_of_the_catalogue_are_in_order() -> None:
    for entry in FIELDS:
        assert entry.help.endswith("."), entry.id
        assert entry.unit
        for suffix, unit in (("_bytes", "bytes"), ("_ns", "nanoseconds"), ("_us", "microseconds")):
            if entry.id.endswith(suffix):
                assert entry.unit == unit, entry.id
