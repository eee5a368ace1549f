"""The wall clock is set while a recorder runs, for real."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.store.queries import events, series
from tests.kernel.node import Node, needs_root, wait_for, window

pytestmark = [pytest.mark.kernel, needs_root]

AHEAD_SECONDS = 100
AWAY_SECONDS = 3

_STEP = f"""
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
def move(seconds):
    time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() + seconds * 10**9)
move({AHEAD_SECONDS})
try:
    print("ahead", flush=True)
    time.sleep({AWAY_SECONDS})
finally:
    move(-{AHEAD_SECONDS})
"""


@pytest.fixture
def own(events_are_allowed: None, tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data")
    yield node
    node.kill()


def _may_set_the_clock() -> bool:
    """Setting it to what it is takes the same right, and moves it by a microsecond."""
    try:
        time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns())
    except PermissionError:
        return False
    return True


def test_a_step_of_the_wall_clock_is_told_and_loses_nothing(own: Node) -> None:
    if not _may_set_the_clock():
        pytest.skip("the clock cannot be set here (CAP_SYS_TIME)")
    own.start("--segment", "24h")
    began = time.time()
    own.wait_until_recorded()
    # A process of its own puts the clock back, whatever becomes of this one.
    stepper = subprocess.Popen([sys.executable, "-c", _STEP], stdout=subprocess.PIPE)
    try:
        assert stepper.stdout is not None
        assert stepper.stdout.readline() == b"ahead\n"
        ahead = time.time()
    finally:
        assert stepper.wait(30) == 0
        stepper.stdout.close()  # type: ignore[union-attr]
    back = time.time()
    wait_for(lambda: time.time() > back + 2, 10, "two more seconds")
    own.wait_until_recorded()
    own.stop()
    recording = own.recording()
    everything = window(began - 10, AHEAD_SECONDS + 60)
    steps = [one for one in events(recording, everything) if one.kind == "clock-step"]
    moved = sorted(round(float(one.fields["seconds"])) for one in steps)
    assert moved == [-AHEAD_SECONDS, AHEAD_SECONDS]
    assert not [one for one in events(recording, everything) if one.kind == "gap"]

    def seconds_of(start: float, length: float) -> int:
        found = series(recording, "self.rss_bytes", window(start, length))
        return sum(len(one.values) for one in found)

    # What happened while it was wrong is found under the time that everybody's logs have.
    assert seconds_of(ahead, AWAY_SECONDS) >= AWAY_SECONDS - 1
    assert seconds_of(back + 30, 40) == 0
    assert seconds_of(back, 2) >= 1
