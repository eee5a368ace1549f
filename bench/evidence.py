"""What recording costs on a crowded node, and in a storm of births or among 10,000 threads.

    python -m bench.evidence [--quick] [--rounds N] [--only CROWD] [--json]

Each crowd has its turn with a recorder of its own, and so has the plain machine, in another order
each round. A turn is a start-up, a window in which a segment ends, and a steady one of a minute:
long enough for the walk over the cgroups, which comes once a minute. That minute, repeated, is then
closed as ten. One round takes some fourteen minutes. CPU is what the kernel charged to cgroups of
our own, children included. Nothing passes or fails here. Needs root; it takes away what it made,
also when it is interrupted.
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
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from bench._crowds import BUDGET_PERCENT, CROWDS, Crowd, Stage
from bench._long_close import Closed, close_ten_minutes
from bench._overhead_plan import MIB, NS, SEGMENT_SECONDS, segment_ending_in
from bench._overhead_watch import ROLES, Groups, Watch, snapshot
from bench.machine import describe
from exhume.record.fingerprints import MODULE as FINGERPRINT
from exhume.record.report import STATUS_FILE

BUDGET_BYTES = 120 << 20
MOST_OTHERS_PERCENT = 10.0
"""Of crowds that rest: what thousands of short lives take, /proc/stat's ticks don't tell."""
HOUR_SECONDS = 3600
USER_HZ = os.sysconf("SC_CLK_TCK")


class Plan(Struct, frozen=True):
    rounds: int
    start_up_seconds: float
    rotation_seconds: float
    """A segment ends in them, and the next one begins."""
    steady_seconds: float

    @property
    def seconds(self) -> float:
        """Of a turn, the fingerprint at its end included."""
        return self.start_up_seconds + self.rotation_seconds + self.steady_seconds + 5


FULL = Plan(1, 12, 20, 60)
QUICK = Plan(1, 8, 14, 22)
ENDS_AFTER_SECONDS = 4.0
"""From the start of the window to the end of the segment in it."""


class Turn(Struct, frozen=True):
    """CPU of all the recorder's processes together, in percent of one core or in seconds."""

    crowd: str
    made_seconds: float
    start_up_cpu_seconds: float
    steady_percent: float
    rotation_cpu_seconds: float
    """What the end of a segment took on top, its closing left out."""
    close: Closed
    """Of ten minutes."""
    fingerprint_cpu_seconds: float
    """Of one; there is one an hour, and one at each change."""
    others_percent: float
    """What the machine did besides."""
    rss_bytes: int
    worst_lateness_seconds: float
    troubles: tuple[str, ...]
    """A storm that was none; sources that were not well at the end, in their own words."""

    @property
    def percent(self) -> float:
        """With a segment every ten minutes: what recording without end costs."""
        at_its_end = self.rotation_cpu_seconds + self.close.cpu_seconds
        hourly = self.fingerprint_cpu_seconds / HOUR_SECONDS
        return self.steady_percent + 100 * (at_its_end / SEGMENT_SECONDS + hourly)

    @property
    def memory_bytes(self) -> int:
        return self.rss_bytes + self.close.peak_bytes


def turn(crowd: Crowd, plan: Plan, groups: Groups, folder: Path) -> Turn:
    began = time.monotonic()
    stage = Stage(folder / "crowd", groups, plan.seconds)
    stage.folder.mkdir()
    with crowd.make(stage), ExitStack() as stack:
        made_seconds = time.monotonic() - began
        data = folder / "data"
        before = sum(groups.cpu_ns(role) for role in ROLES)
        recorder = groups.start(_command(data, plan), "main", folder / "log")
        watch = Watch(groups, recorder.pid)
        watch.start()
        for role in ROLES:
            stack.callback(groups.end, role)
        stack.callback(recorder.wait)
        stack.callback(recorder.kill)
        stack.callback(watch.stop)
        _sleep(plan.start_up_seconds, recorder)
        started = snapshot(groups, watch, recorder.pid)
        _sleep(plan.rotation_seconds, recorder)
        rotated = snapshot(groups, watch, recorder.pid)
        _sleep(plan.steady_seconds, recorder)
        ended = snapshot(groups, watch, recorder.pid)
        status = json.loads((data / STATUS_FILE).read_text())
        if not list((data / "segments").glob("2*")):
            raise RuntimeError("no segment was closed: this machine is too busy for this bench")
        fingerprint = _fingerprint_cpu_seconds(groups, data)
        recorder.kill()  # so that its head log is left
        recorder.wait()
    spent = sum(ended.cpu_ns[role] - rotated.cpu_ns[role] for role in ("main", "aside")) / NS
    seconds = ended.time - rotated.time
    rotation = sum(rotated.cpu_ns[role] - started.cpu_ns[role] for role in ("main", "aside")) / NS
    usual = spent / seconds * (rotated.time - started.time)
    busy = (ended.busy_ticks - rotated.busy_ticks) / USER_HZ
    others = busy - sum(ended.cpu_ns[role] - rotated.cpu_ns[role] for role in ROLES) / NS
    others -= ended.own_seconds - rotated.own_seconds + (ended.load_ns - rotated.load_ns) / NS
    return Turn(
        crowd=crowd.name,
        made_seconds=made_seconds,
        start_up_cpu_seconds=(sum(started.cpu_ns.values()) - before) / NS,
        steady_percent=100 * spent / seconds,
        rotation_cpu_seconds=max(0.0, rotation - usual),
        close=close_ten_minutes(groups, data, round(ended.time * NS), folder / "long"),
        fingerprint_cpu_seconds=fingerprint,
        others_percent=100 * others / seconds,
        rss_bytes=status["cost"]["rss_bytes"],
        worst_lateness_seconds=status["cost"]["worst_lateness_seconds"],
        troubles=(
            *stage.troubles,
            *(
                f"{one['name']} is {one['state']}: {one['detail']}"
                for one in status["sources"]
                if one["state"] in ("broken", "slow")
            ),
        ),
    )


def _fingerprint_cpu_seconds(groups: Groups, data: Path) -> float:
    """As the recorder has it made; the collector ends with whoever started it."""
    before = groups.cpu_ns("fingerprint")
    command = [sys.executable, "-m", FINGERPRINT, str(data), "--recorder", str(os.getpid())]
    if groups.start(command, "fingerprint", data.parent / "fingerprint.log").wait():
        raise RuntimeError(f"no fingerprint: {(data.parent / 'fingerprint.log').read_text()}")
    return (groups.cpu_ns("fingerprint") - before) / NS


def _command(data: Path, plan: Plan) -> list[str]:
    segment = segment_ending_in(plan.start_up_seconds + ENDS_AFTER_SECONDS, time.time())
    # No lower rate, whatever it costs.
    return [
        sys.executable, "-m", "exhume", "record", "--data", str(data),
        "--segment", f"{segment}s", "--budget", "100",
    ]  # fmt: skip


def _sleep(seconds: float, recorder: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, 0.5))
        if recorder.poll() is not None:
            raise RuntimeError(f"the recorder ended with {recorder.returncode}")


def show(turns: list[Turn]) -> None:
    print(f"\n{'':26}{'start-up':>10}{'steady':>10}{'rotation':>10}{'closing':>10}{'print':>8}"
          f"{'in all':>10}{'budget':>9}{'memory':>9}{'latest tick':>13}")  # fmt: skip
    for crowd in CROWDS:
        own = [one for one in turns if one.crowd == crowd.name]
        if not own:
            continue
        print(
            f"{crowd.name:26}"
            f"{median(one.start_up_cpu_seconds for one in own):8.2f} s"
            f"{median(one.steady_percent for one in own):8.2f} %"
            f"{median(one.rotation_cpu_seconds for one in own):8.2f} s"
            f"{median(one.close.cpu_seconds for one in own):8.2f} s"
            f"{median(one.fingerprint_cpu_seconds for one in own):6.2f} s"
            f"{median(one.percent for one in own):8.2f} %"
            f"{crowd.budget_percent:7.0f} %"
            f"{max(one.memory_bytes for one in own) / MIB:5.0f} MiB"
            f"{1e3 * max(one.worst_lateness_seconds for one in own):10.1f} ms"
        )
    print(
        "\n% of one core, medians of the rounds. In all: steady, and every ten minutes a rotation"
        "\nand a closing, every hour a fingerprint. Memory: the recorder's and the closer's peak"
        f"\nwhile it closes ten minutes; its budget is {BUDGET_BYTES / MIB:.0f} MiB."
        "\nA storm may take twice the usual budget of the CPU."
    )
    budgets = {crowd.name: crowd.budget_percent for crowd in CROWDS}
    for one in turns:
        rests = budgets[one.crowd] == BUDGET_PERCENT
        if rests and one.others_percent > MOST_OTHERS_PERCENT:
            print(f"not to be quoted: others took {one.others_percent:.0f} % during {one.crowd!r}")
        for trouble in one.troubles:
            print(f"{one.crowd}: {trouble}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one round of short turns")
    parser.add_argument("--rounds", type=int, help="more of them give a spread")
    parser.add_argument("--only", default="", help="crowds whose name has this in it")
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
                for crowd in (crowd for crowd in order if args.only in crowd.name):
                    own = folder / f"{round_}-{len(turns)}"
                    own.mkdir()
                    turns.append(turn(crowd, plan, groups, own))
                    print(f"{crowd.name}: {turns[-1].percent:.2f} %", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps({"machine": describe(), "turns": [to_builtins(one) for one in turns]}))
    else:
        print(describe())
        show(turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
