"""More than it can bear: it goes on every second, and says what it lost."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from msgspec import Struct

from exhume.model.series import MISSING
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from exhume.store.queries import events, series
from exhume.store.ticks import decode_state
from tests.kernel.conftest import Scene
from tests.kernel.node import SECOND, Node, longest_gap_seconds, needs_root, wait_for, window
from tests.kernel.programs import Programs, finish

pytestmark = [pytest.mark.kernel, needs_root]
MOST_PERCENT = 30.0
THREADS = 10_000
LONGEST_GAP_SECONDS = 2.5


def rise(node: Node, field: str, start: float, seconds: float) -> tuple[int, float]:
    """How far a counter rose within the window, over all its instances, and in how many seconds."""
    total, length = 0, 0.0
    for answer in series(node.recording(), field, window(start, seconds)):
        known = answer.values != MISSING
        values, wall = answer.values[known], answer.wall_ns[known]
        if len(values):
            total += int(values[-1] - values[0])
            length = max(length, float(wall[-1] - wall[0]) / SECOND)
    return total, length


class Watch(Struct):
    """Of the shared recorder, over a stretch: what it took, and that it was there every second."""

    node: Node
    began: float
    cpu_seconds: float

    @staticmethod
    def start(node: Node) -> Watch:
        node.wait_until_recorded()
        return Watch(node, time.time(), own_cpu_seconds(node))

    def finish(self, what: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.node.wait_until_recorded()
        seconds = time.time() - self.began
        alone = 100 * (own_cpu_seconds(self.node) - self.cpu_seconds) / seconds
        spent_ns, length = rise(self.node, "self.cpu_ns", self.began, seconds)
        ticks = self.node.ticks()
        since = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int((seconds + 1) * SECOND)
        during = ticks[ticks >= since]
        with capsys.disabled():
            print(
                f"\n  {what}: the recorder took {alone:.1f} % of one core, "
                f"{spent_ns / length / 1e7:.1f} % with its children"
            )
        assert len(during) >= seconds - 1
        assert longest_gap_seconds(during) < LONGEST_GAP_SECONDS
        assert alone < MOST_PERCENT


def have_losses_told(node: Node) -> None:
    """The kernel tells of what it dropped before the next record of that core."""
    for core in os.sched_getaffinity(0):
        subprocess.run(["taskset", "-c", str(core), "true"], check=True)
    node.wait_until_recorded()


def own_cpu_seconds(node: Node) -> float:
    """Without children: a log may be closed at any time."""
    fields = Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", ["forks", "execs"])
def test_a_storm_of_births_and_deaths(
    kind: str, node: Node, scene: Scene, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    watch = Watch.start(node)
    with (
        programs.start("xh_forker", kind, 3, -1, "/bin/true") as one,
        programs.start("xh_forker", kind, 3, -1, "/bin/true") as other,
    ):
        both = finish(one, 30), finish(other, 30)
    began = min(ran.began for ran in both)
    seconds = max(ran.ended for ran in both) - began
    born = sum(ran.count for ran in both)
    watch.finish(f"{born / seconds:.0f} {kind} a second", capsys)

    # Folded as they are, none is missing; where some are, that is said.
    have_losses_told(node)
    lost, _ = rise(node, "sampler.lost_sideband", began - 2, time.time() - began + 2)
    name = "xh_forker" if kind == "forks" else "true"
    storm = window(began - 0.5, seconds + 1)
    deaths = events(node.recording(), storm, ("exit",), name)
    died = sum(event.count for event in deaths if event.fields.get("parent") == "xh_forker")
    seen = [(e.wall_ns, e.subject, e.fields.get("parent"), e.count) for e in deaths]
    assert died >= 0.98 * born or lost > 0, seen[:40]
    assert died <= born
    assert len(deaths) < 0.5 * born or born < 200
    if kind == "execs":
        started = events(node.recording(), storm, ("exec",), "true")
        assert sum(event.count for event in started) >= 0.98 * born or lost > 0


def test_ten_thousand_threads(
    node: Node, scene: Scene, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    watch = Watch.start(node)
    ran = programs.run("xh_threads", "threads", 2.5, -1, THREADS)
    if ran.count < THREADS:
        pytest.skip(f"this machine gave {ran.count} threads")
    watch.finish(f"{ran.count} threads", capsys)
    births, _ = rise(node, "system.forks", ran.began - 1, ran.seconds + 2)
    assert births >= 0.9 * THREADS
    lost, _ = rise(node, "sampler.lost_sideband", ran.began - 2, ran.seconds + 4)
    deaths = events(node.recording(), window(ran.began, ran.seconds + 2), ("exit",), "xh_threads")
    assert len(deaths) == 1 or lost > 0  # the process ended, not ten thousand


def test_a_scan_of_so_many_threads_is_no_trouble(node: Node, programs: Programs) -> None:
    """A recorder that starts, or begins a new log, while they are there reads all their names."""
    own = Node(node.data.with_name("crowded"))
    with programs.start("xh_threads", "threads", 30, -1, THREADS) as crowd:
        time.sleep(1.5)
        try:
            own.start()
            wait_for(lambda: scanned(own, "xh_threads") >= THREADS, 25, "the scan")
            own.wait_until_recorded()
            assert crowd.poll() is None
            assert longest_gap_seconds(own.ticks()) < LONGEST_GAP_SECONDS
        finally:
            own.stop()


def scanned(node: Node, name: str) -> int:
    """How many threads of that name the scan of /proc found."""
    head = HeadFile(head_files(node.data)[-1])
    names = [
        bytes(row).rstrip(b"\0").decode()
        for frame in head.frames
        if frame.kind == FrameKind.STATE
        for row in decode_state(head.read(frame), frame.start_ns).comms.comm
    ]
    return names.count(name)
