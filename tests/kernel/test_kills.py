"""kill -9 at any instant costs at most two seconds, and the rest reads."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import Struct

from exhume.store.heads import head_files
from exhume.store.layout import segments_path
from tests.kernel.node import SECOND, Node, last_tick, monotonic_ns, needs_root, wait_for

pytestmark = [pytest.mark.kernel, pytest.mark.soak, needs_root]
ROUNDS = 50 if os.environ.get("EXHUME_SOAK") == "1" else 10
MOST_LOST_NS = 2 * SECOND


class Life(Struct, frozen=True):
    """Of one recorder, on CLOCK_MONOTONIC."""

    began_ns: int
    killed_ns: int


@pytest.fixture
def own(events_are_allowed: None, tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data")
    yield node
    node.kill()


def closers_of(node: Node) -> list[int]:
    found = []
    with suppress(OSError):
        for pid in Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split():
            with suppress(OSError):
                if b"exhume.record.close" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def live_and_die(node: Node, dice: random.Random) -> Life:
    node.start("--segment", "5s")
    began = last_tick(node.data)
    deadline = time.monotonic() + dice.uniform(0.0, 2.0)
    if dice.random() < 0.4:
        # Its closer first, somewhere in its work, on another closer's heels or none's.
        time.sleep(dice.uniform(0.0, 0.5))
        for pid in closers_of(node):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    time.sleep(max(0.0, deadline - time.monotonic()))
    killed = monotonic_ns()
    node.stop(signal.SIGKILL)
    return Life(began, killed)


def test_killed_at_random_instants_at_most_two_seconds_are_lost(own: Node) -> None:
    dice = random.Random(time.time_ns())
    lives: list[Life] = []
    for _ in range(ROUNDS):
        life = live_and_die(own, dice)
        lives.append(life)
        ticks = own.ticks()
        assert ticks[-1] >= life.killed_ns - MOST_LOST_NS, own.said
        # Nor does it cost anything that was there before.
        for earlier in lives:
            inside = ticks[(ticks >= earlier.began_ns) & (ticks <= earlier.killed_ns)]
            assert inside[0] == earlier.began_ns
            assert inside[-1] >= earlier.killed_ns - MOST_LOST_NS
        assert not any(span.problem for span in own.recording().spans(verify=True))

    # The next one closes what they left behind.
    own.start("--segment", "1h")
    live = head_files(own.data)[-1].name
    wait_for(lambda: [p.name for p in head_files(own.data)] == [live], 60, "the heads to be closed")
    own.stop()
    assert own.said == ""
    ticks = own.ticks()
    for life in lives:
        inside = ticks[(ticks >= life.began_ns) & (ticks <= life.killed_ns)]
        assert inside[0] == life.began_ns
        assert inside[-1] >= life.killed_ns - MOST_LOST_NS
    assert len(list(segments_path(own.data).glob("[0-9]*"))) >= ROUNDS
    assert not any(span.problem for span in own.recording().spans(verify=True))
    assert own.exhume("status").returncode == 1
