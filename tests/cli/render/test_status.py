from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from exhume.cli.figures import NS
from exhume.cli.render.status import render
from exhume.model.status import Cost, Damage, Disk, Missing, Pin, SourceState, Status
from tests.cli.made_up import HOSTILE, NOW_NS, STORY_WINDOW, VIEW, assert_harmless, drawn

EMPTY = Disk(None, None)
DISK = Disk(
    keep_ns=86_400 * NS,
    max_bytes=4 << 30,
    used_bytes=3_400_000_000,
    free_bytes=80_000_000_000,
    oldest_wall_ns=NOW_NS - 10_000 * NS,
    segments=17,
    recorded_ns=9_900 * NS,
    damaged=(Damage(STORY_WINDOW, "bad checksum"),),
    pins=(Pin(STORY_WINDOW, "ENA reset"),),
)
RUNNING = Status(
    "running", "/var/lib/exhume", DISK, "exhume 0.1.0", "ip-10-0-3-17", "0b1e2d3c-4455", 4242,
    NOW_NS - 3_661 * NS, NOW_NS, "cpu-clock", 49, 97, 96, 95,
    Cost(0.74, 88 << 20, 12_000_000, 1 << 30, 312),
    (SourceState("cpu", "ok"), SourceState("pressure", "absent", "off"),
     SourceState("ethtool", "broken", "eth0: not supported")),
    (Missing("names of kernel frames", "no CAP_SYSLOG", "setcap cap_syslog"),),
)  # fmt: skip


def shown(status: Status, width: int = 120) -> str:
    return drawn(render(status, VIEW), width)


def test_a_running_recorder_says_all_that_matters() -> None:
    text = " ".join(shown(RUNNING).split())
    for part in (
        "recording since 02:18:59 (1 h 1 m), process 4242",
        "node ip-10-0-3-17 boot 0b1e2d3c",
        "49 a second and core, by cpu-clock lowered from 97 to stay within its budget",
        "312 samples lost",
        "96 online, 95 sampled",
        "✓ cpu – pressure ✗ ethtool",
        "0.7 % of one core · 88.0 MiB memory · 1.0 GiB a day · at most 12 ms late",
        "3.2 GiB used, 74.5 GiB free",
        "kept 1 d, at most 4.0 GiB",
        "from 00:33:20 on: 2 h 45 m in 17 segments",
        "pinned 03:14:02 – 03:14:07: ENA reset",
        "broken: ethtool: eth0: not supported",
        "missing: names of kernel frames why: no CAP_SYSLOG to have it: setcap cap_syslog",
        "damaged: 03:14:02 – 03:14:07: bad checksum",
    ):
        assert part in text


def test_before_the_first_segment_it_counts_none() -> None:
    young = replace(RUNNING, disk=replace(RUNNING.disk, segments=0))
    assert "from 00:33:20 on: 2 h 45 m, no segment yet" in " ".join(shown(young).split())


def test_no_recorder_says_how_to_start_one() -> None:
    never = shown(Status("never", "/x", EMPTY))
    assert "never recorded in /x" in never
    assert "exhume up" in never
    stopped = replace(RUNNING, state="stopped")
    assert re.match(r"not recording since 02:18:59\n", shown(stopped))
    assert "sampled" not in shown(stopped)
    assert "a day" not in shown(stopped)


def test_counters_only_is_said_aloud() -> None:
    text = shown(replace(RUNNING, event="none"))
    assert "none: only counters are recorded" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    disk = replace(DISK, damaged=(Damage(None, name),), pins=(Pin(STORY_WINDOW, name),))
    hostile = Status(
        "running", name, disk, name, name, name, event=name,
        sources=(SourceState(name, "broken", name),), missing=(Missing(name, name, name),),
    )  # fmt: skip
    assert_harmless(shown(hostile))
    assert_harmless(shown(hostile, 40))


def test_a_recorder_of_which_nothing_reaches_the_disk_is_not_simply_recording() -> None:
    assert "lost" not in shown(replace(RUNNING, disk=DISK)).splitlines()[1]
    full = shown(replace(RUNNING, disk=replace(DISK, free_bytes=0))).splitlines()
    assert full[0].startswith("recording since")
    assert full[1].strip() == "the disk is full: what is recorded now is lost; make room"
    silent = shown(replace(RUNNING, updated_wall_ns=NOW_NS - 150 * NS)).splitlines()
    assert silent[1].strip() == "it has said nothing for 2 m 30 s: it hangs, or its disk does"
    stopped = replace(RUNNING, state="stopped", disk=replace(DISK, free_bytes=0))
    assert "the disk is full" not in shown(stopped)
