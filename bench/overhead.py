"""What recording costs, against `perf record` and against nothing, on the same load in one run.

    python -m bench.overhead [--quick] [--json]

The contenders take turns, in another order each round, so that a slow minute of the machine hits
all of them. In its turn a recorder starts together with a paced mixed load (bench.workloads); a
steady window follows its start-up and holds one segment close; then fixed amounts of work are
timed on every core. CPU is what the kernel charged to cgroups of our own, so children that came
and went between two looks count. Nothing passes or fails here. Needs root; bench/README.md tells
how to read the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import to_builtins

from bench._long_close import Closed
from bench._overhead_figures import figures, notes, table
from bench._overhead_plan import FULL, QUICK, Plan, contenders
from bench._overhead_turns import Bench, Turn
from bench._overhead_watch import Groups
from bench.machine import describe

MOST_SECONDS = 480
"""For all rounds; on a machine that nobody else uses they take some 420."""


def run(plan: Plan, say: Callable[[str], None]) -> tuple[list[list[Turn]], dict[str, Closed]]:
    cores = len(os.sched_getaffinity(0))
    everyone = contenders(cores)
    turns: list[list[Turn]] = []
    with (
        tempfile.TemporaryDirectory(prefix="exhume-bench-", ignore_cleanup_errors=True) as folder,
        Groups() as groups,
    ):
        bench = Bench(plan, cores, groups, Path(folder))
        pace = bench.calibrate()
        start = time.monotonic()
        for round_ in range(plan.rounds):
            spent = time.monotonic() - start
            if round_ and spent * (1 + 1 / round_) > MOST_SECONDS:
                say("no time for another round: this machine is too busy")
                break
            turns.append([])
            order = everyone[round_ % len(everyone) :] + everyone[: round_ % len(everyone)]
            for contender in order:
                say(f"round {round_ + 1} of {plan.rounds}: {contender.name}")
                turns[-1].append(bench.turn(contender, round_, pace))
        long = {}
        for contender in everyone:
            if plan.has_long_close and contender.is_exhume:
                say(f"closing ten minutes: {contender.name}")
                long[contender.name] = bench.long_close(contender.name)
    return turns, long


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.overhead", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a look, in under a minute")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("perf") is None:
        print("bench.overhead needs root, and perf (Debian: linux-perf)", file=sys.stderr)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    plan = QUICK if args.quick else FULL
    machine = describe()  # now: later our own load would be in it
    if not args.json:
        print(machine, flush=True)
    try:
        turns, long = run(plan, lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print("interrupted: everything is cleaned up", file=sys.stderr)
        return 0
    found = figures(turns, long, plan, len(os.sched_getaffinity(0)))
    said = notes(plan, turns)
    if args.json:
        document = {
            "bench": "overhead", "machine": machine, "plan": to_builtins(plan), "notes": said,
            "figures": [to_builtins(figure) for figure in found],
            "turns": [[to_builtins(turn) for turn in round_] for round_ in turns],
            "ten_minutes": {name: to_builtins(closed) for name, closed in long.items()},
        }  # fmt: skip
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print("", table(found), "", *said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
