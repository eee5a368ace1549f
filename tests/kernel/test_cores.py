"""Cores that go off line and come back while they are recorded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from exhume.model.series import MISSING
from exhume.store.queries import core_map, core_times, events, series, top
from tests.kernel.conftest import CORE
from tests.kernel.node import Node, frames_in, needs_root, process_in, wait_for, window
from tests.kernel.programs import Programs

pytestmark = [pytest.mark.kernel, needs_root]
SWITCH = Path(f"/sys/devices/system/cpu/cpu{CORE}/online")


@pytest.fixture
def switch() -> Iterator[Path]:
    if not SWITCH.exists() or not os.access(SWITCH, os.W_OK):
        pytest.skip(f"{SWITCH} can't be written here")
    if any(path.is_dir() for path in Path("/sys/fs/cgroup/cpuset").glob("*")):
        pytest.skip("cpusets of cgroup v1 would not get the core back")
    try:
        SWITCH.write_text("1")
    except OSError as error:
        pytest.skip(f"{SWITCH} can't be written here: {error.strerror}")
    try:
        yield SWITCH
    finally:
        SWITCH.write_text("1")


@contextmanager
def off_line(switch: Path) -> Iterator[None]:
    switch.write_text("0")
    try:
        yield
    finally:
        switch.write_text("1")


def test_a_core_that_goes_and_comes_is_a_gap_with_events_and_is_sampled_again(
    node: Node, programs: Programs, switch: Path
) -> None:
    node.wait_until_recorded()
    began = time.time()
    with off_line(switch):
        time.sleep(3.2)
    ended = time.time()
    node.wait_until_recorded()
    spin = programs.run("xh_spinner", "spin", 1.2, CORE)
    node.wait_until_recorded()
    recording = node.recording()
    around = window(began - 2, ended - began + 5)

    found = events(recording, around, ("core-offline", "core-online"))
    assert [(event.kind, event.core) for event in found] == [
        ("core-offline", CORE),
        ("core-online", CORE),
    ]
    # Told by the first tick that sees it.
    assert began - 0.1 <= found[0].wall_ns / 1e9 < began + 2.5
    assert ended - 0.1 <= found[1].wall_ns / 1e9 < ended + 2.5

    # Its times are missing, not zero; those of the other core go on.
    off = window(began + 1.5, ended - began - 1.6)
    assert {times.core for times in core_times(recording, off)} == {0}
    (mine,) = series(recording, "cpu.idle", around, (str(CORE),))
    missing = mine.values == MISSING
    assert 2 <= int(missing.sum()) <= 5
    assert not (mine.values == 0).any()
    (other,) = series(recording, "cpu.idle", around, ("0",))
    assert not (other.values == MISSING).any()
    cells = core_map(recording, off, 1)
    row = cells.cores.index(CORE) if CORE in cells.cores else None
    assert row is None or np.isnan(cells.mean_percent_of_core[row]).all()

    answer = node.top(spin.began + 0.1, spin.seconds - 0.2, "--core", str(CORE))
    back = process_in(answer, "xh_spinner")
    assert back is not None
    assert back["percent_of_one_core"] > 50
    assert "exhume_spin_here" in frames_in(answer, "xh_spinner")
    sampled = series(recording, "sampler.lost", window(spin.began, spin.seconds))
    assert {answer.instance for answer in sampled} == {str(n) for n in range(os.cpu_count() or 0)}


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("EXHUME_SOAK") != "1", reason="takes 15 s: EXHUME_SOAK=1")
def test_a_core_that_was_off_for_an_instant_between_two_ticks_is_sampled_again(
    node: Node, programs: Programs, switch: Path
) -> None:
    """The kernel took its events away and gave none back, and /proc/stat looks as ever."""
    with off_line(switch):
        pass
    with programs.start("xh_spinner", "spin", 25, CORE):

        def is_heard() -> bool:
            now = time.time()
            answer = top(node.recording(), window(now - 3, 3))
            return any(row.comm == "xh_spinner" and row.samples > 50 for row in answer.processes)

        wait_for(is_heard, 22, "samples of that core")
