from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from exhume.sampler.sampler import Sampler
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from tests.kernel.node import Node, wait_for
from tests.kernel.programs import Programs, Ran

CORE = 1
BURST_SECONDS = 0.3
FIRST_LOG_SECONDS = (28, 33)
"""The scene takes half of that where nobody else is at work."""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs.compile(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def events_are_allowed() -> None:
    try:
        Sampler(97.0, 0).close()
    except OSError as error:
        pytest.skip(f"perf_event_open is refused here: {error.strerror}")


@pytest.fixture(scope="session")
def node(events_are_allowed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The recorder that most tests share. Its first log lasts for the scene below, then rotates."""
    node = Node(tmp_path_factory.mktemp("shared") / "data")
    try:
        node.start("--segment", f"{segment_seconds()}s")
        # The first scan of /proc, and the kernel's symbols.
        wait_for(lambda: _has_state(node.data), 30, "the scan of /proc")
        yield node
    finally:
        node.kill()


def segment_seconds() -> int:
    """A length whose next whole multiple of wall time comes when the scene is over."""
    now = int(time.time())
    low, high = FIRST_LOG_SECONDS
    return next(n for n in range(high, 200) if low <= n - now % n <= high)


def _has_state(data: Path) -> bool:
    frames = [frame for path in head_files(data) for frame in HeadFile(path).frames]
    return any(frame.kind == FrameKind.STATE for frame in frames)


class Scene(Struct, frozen=True):
    """What happened on core 1 while the shared recorder watched, and what it said of it at once."""

    spin: Ran
    calls: Ran
    burst: Ran
    loop_began: float
    loop_ended: float
    live_top: Any
    """Of the spin, asked while its log was still being written."""


@pytest.fixture(scope="session")
def scene(node: Node, programs: Programs) -> Scene:
    loop_began = time.time()
    with programs.crash_loop():
        time.sleep(1.2)  # quiet on core 1 before and after each
        spin = programs.run("xh_spinner", "spin", 2.5, CORE)
        time.sleep(1.2)
    loop_ended = time.time()
    calls = programs.run("xh_caller", "call", 1.5, CORE)
    time.sleep(0.5)
    burst = programs.run("xh_burster", "burst", BURST_SECONDS, CORE)
    node.wait_until_recorded()
    live_top = node.top(spin.began + 0.2, spin.seconds - 0.4)
    assert len(head_files(node.data)) == 1, "the machine is too busy: the first log is closed"
    return Scene(spin, calls, burst, loop_began, loop_ended, live_top)
