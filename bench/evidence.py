"""What recording costs on a crowded node: 20,000 live cgroups, 50,000 zombies, 2,000 processes.

    python -m bench.evidence [--quick] [--rounds N] [--json]

Each crowd has its turn with a recorder of its own, and so has the plain machine, in another order
each round. A turn is a start-up and a steady window of a minute: long enough for the walk over the
cgroups, which comes once a minute. One round takes some six minutes. CPU is what the kernel charged
to a cgroup of our own, children included. Nothing passes or fails here. Needs root; it takes away
what it made, also when it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from bench._overhead_watch import Groups
from bench.machine import describe
from bench.workloads import die_with_parent
from exhume.host import Host
from exhume.record.report import STATUS_FILE
from exhume.sources.cgroup_tree import find
from tests.evidence.leaks import leaking

LIVE_CGROUPS = 20_000
BELOW_ONE = 100
ZOMBIES = 50_000
PROCESSES = 2_000
BUDGET_PERCENT = 1.0
BUDGET_BYTES = 120 << 20
SEGMENT_SECONDS = 600
MOST_OTHERS_PERCENT = 10.0
USER_HZ = os.sysconf("SC_CLK_TCK")
NS = 1_000_000_000
MIB = 1 << 20
PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    start_up_seconds: float
    steady_seconds: float


FULL = Plan(1, 12, 60)
QUICK = Plan(1, 8, 22)


@contextmanager
def nothing(_folder: Path) -> Iterator[None]:
    yield


@contextmanager
def live_cgroups(_folder: Path) -> Iterator[None]:
    """As pods have them: in the memory and in the CPU hierarchy, a hundred below each parent."""
    trees = (find(Host(), name) for name in ("memory", "cpu"))
    roots = {tree.root.resolve() for tree in trees if tree is not None}
    tops = [root / f"exhume-bench-live-{os.getpid()}" for root in roots]
    parents = [top / f"p{number}" for top in tops for number in range(LIVE_CGROUPS // BELOW_ONE)]
    try:
        for folder in (*tops, *parents):
            folder.mkdir()
        for parent in parents:
            for number in range(BELOW_ONE - 1):  # the parent is one, too
                (parent / f"c{number}").mkdir()
        yield
    finally:
        for top in tops:
            for path, _, _ in os.walk(top, topdown=False):
                Path(path).rmdir()


@contextmanager
def zombies(folder: Path) -> Iterator[None]:
    folder.mkdir()
    with leaking(folder, ZOMBIES, ZOMBIES, 0) as leak:
        leak.finish()
        yield


@contextmanager
def sleeping_processes(_folder: Path) -> Iterator[None]:
    """They end by themselves, should nobody be left to end them."""
    program = shutil.which("sleep") or "/bin/sleep"
    pids: list[int] = []
    try:
        while len(pids) < PROCESSES:
            pids.append(os.posix_spawn(program, ["sleep", "600"], {}))
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


@dataclass(frozen=True, slots=True)
class Crowd:
    name: str
    make: Callable[[Path], Any]


CROWDS = (
    Crowd(PLAIN, nothing),
    Crowd(f"{LIVE_CGROUPS:,} live cgroups", live_cgroups),
    Crowd(f"{ZOMBIES:,} zombie cgroups", zombies),
    Crowd(f"{PROCESSES:,} processes", sleeping_processes),
)


@dataclass(frozen=True, slots=True)
class Turn:
    crowd: str
    made_seconds: float
    start_up_cpu_seconds: float
    steady_percent: float
    """Of one core, children included."""
    others_percent: float
    """Of one core: what the machine did besides."""
    rss_bytes: int
    worst_lateness_seconds: float
    troubles: tuple[str, ...]
    """Sources that were not well at the end, in their own words."""

    @property
    def with_rotations_percent(self) -> float:
        """A new log every ten minutes asks again for what the start asked for."""
        return self.steady_percent + 100 * self.start_up_cpu_seconds / SEGMENT_SECONDS


def turn(crowd: Crowd, plan: Plan, groups: Groups, folder: Path) -> Turn:
    began = time.monotonic()
    with crowd.make(folder / "crowd"), ExitStack() as stack:
        made_seconds = time.monotonic() - began
        data = folder / "data"
        before = groups.cpu_ns("main")
        recorder = _record(data, groups)
        stack.callback(groups.end, "main")
        stack.callback(recorder.wait)
        stack.callback(recorder.kill)
        _sleep(plan.start_up_seconds, recorder)
        started, busy, at = groups.cpu_ns("main"), _busy_seconds(), time.monotonic()
        own = time.process_time()
        _sleep(plan.steady_seconds, recorder)
        spent = (groups.cpu_ns("main") - started) / NS
        seconds = time.monotonic() - at
        others = _busy_seconds() - busy - spent - (time.process_time() - own)
        status = json.loads((data / STATUS_FILE).read_text())
        cost = status["cost"]
        return Turn(
            crowd=crowd.name,
            made_seconds=made_seconds,
            start_up_cpu_seconds=(started - before) / NS,
            steady_percent=100 * spent / seconds,
            others_percent=100 * others / seconds,
            rss_bytes=cost["rss_bytes"],
            worst_lateness_seconds=cost["worst_lateness_seconds"],
            troubles=tuple(
                f"{one['name']} is {one['state']}: {one['detail']}"
                for one in status["sources"]
                if one["state"] in ("broken", "slow")
            ),
        )


def _record(data: Path, groups: Groups) -> subprocess.Popen[bytes]:
    def prepare() -> None:
        die_with_parent()
        groups.put(os.getpid(), "main")

    command = [sys.executable, "-m", "exhume", "record", "--data", str(data)]
    # One log for the whole turn; and no lower rate, whatever it costs.
    command += ["--segment", "24h", "--budget", "100"]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=prepare, env=env)


def _sleep(seconds: float, recorder: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, 0.5))
        if recorder.poll() is not None:
            raise RuntimeError(f"the recorder ended with {recorder.returncode}")


def _busy_seconds() -> float:
    words = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, words[:7])
    return (user + nice + system + irq + softirq) / USER_HZ


def show(turns: list[Turn]) -> None:
    print(f"\n{'':24}{'start-up':>10}{'steady':>10}{'+ rotation':>12}{'against':>10}"
          f"{'RSS':>9}{'latest tick':>13}")  # fmt: skip
    plain = median(one.steady_percent for one in turns if one.crowd == PLAIN)
    for crowd in CROWDS:
        own = [one for one in turns if one.crowd == crowd.name]
        if not own:
            continue
        steady = median(one.steady_percent for one in own)
        print(
            f"{crowd.name:24}"
            f"{median(one.start_up_cpu_seconds for one in own):8.2f} s"
            f"{steady:8.2f} %"
            f"{median(one.with_rotations_percent for one in own):10.2f} %"
            f"{steady - plain:+8.2f} %"
            f"{max(one.rss_bytes for one in own) / MIB:5.0f} MiB"
            f"{1e3 * max(one.worst_lateness_seconds for one in own):10.1f} ms"
        )
    print(
        f"{'budget':24}{'':10}{'':10}{BUDGET_PERCENT:10.2f} %{'':10}{BUDGET_BYTES / MIB:5.0f} MiB"
    )
    print("\n% of one core, medians of the rounds; + rotation: with a new log every ten minutes.")
    for one in turns:
        if one.others_percent > MOST_OTHERS_PERCENT:
            print(f"not to be quoted: others took {one.others_percent:.0f} % during {one.crowd!r}")
        for trouble in one.troubles:
            print(f"{one.crowd}: {trouble}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one round of short turns")
    parser.add_argument("--rounds", type=int, help="more of them give a spread")
    parser.add_argument("--json", action="store_true", help="every turn's figures")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("bench.evidence needs root", file=sys.stderr)
        return 77
    plan = QUICK if args.quick else FULL
    plan = replace(plan, rounds=args.rounds or plan.rounds)
    # So that the crowds are taken away whoever ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    turns: list[Turn] = []
    folder = Path(tempfile.mkdtemp(prefix="exhume-bench-"))
    try:
        with Groups() as groups:
            for round_ in range(plan.rounds):
                order = [*CROWDS[round_ % len(CROWDS) :], *CROWDS[: round_ % len(CROWDS)]]
                for crowd in order:
                    own = folder / f"{round_}-{len(turns)}"
                    own.mkdir()
                    turns.append(turn(crowd, plan, groups, own))
                    print(f"{crowd.name}: {turns[-1].steady_percent:.2f} %", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps({"machine": describe(), "turns": [asdict(one) for one in turns]}))
    else:
        print(describe())
        show(turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
