"""Does `exhume compare` put the planted cause first, and claim nothing where nothing was planted?

Runs simulated fleets of every cause and size, without the help of cases (statistics alone) and with
them, and then one fleet of 10,000 nodes × 3,000 attributes through a file, as the command does it.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import machine
from exhume.fleet import table
from exhume.fleet.cohort import Fleet
from exhume.fleet.compare import compare
from exhume.fleet.comparison import Comparison, SplitClass
from exhume.fleet.loading import load
from lab.fleet_model import CAUSES, Cause, Settings, Simulated, simulate

SIZES = (6, 12, 30, 100, 300, 1_000, 10_000)
GOAL_FIRST = 0.95
GOAL_FALSE = 0.05
BUDGET_SECONDS = 10.0
BUDGET_BYTES = 2 << 30


@dataclass(slots=True)
class Tally:
    runs: int = 0
    first: int = 0
    """The cause's class came first."""
    leads: int = 0
    """And the cause itself leads it, not another of the same split."""
    above_zone: int = 0
    claims: int = 0
    answers: int = 0
    cpu_seconds: float = 0.0


def holds(one: SplitClass, key: str) -> bool:
    return any(f"{member.area}/{member.name}" == key for member in one.members)


def above_zone(found: Comparison, key: str) -> bool:
    """The cause is named before the zone: in an earlier class, or earlier within one."""
    names = [f"{member.area}/{member.name}" for one in found.classes for member in one.members]
    places = [names.index(name) if name in names else math.inf for name in (key, "label/zone")]
    return places[0] < places[1]


def one_run(made: Simulated, tally: Tally, *, with_cases: bool) -> None:
    fleet = made.fleet if with_cases else Fleet(made.fleet.nodes, made.fleet.columns)
    start = time.process_time()
    found = compare(fleet, made.ill, ~made.ill)
    tally.cpu_seconds += time.process_time() - start
    tally.runs += 1
    tally.claims += found.verdict == "separates"
    if made.cause_key and found.classes:
        best = found.classes[0]
        tally.first += holds(best, made.cause_key)
        tally.leads += f"{best.lead.area}/{best.lead.name}" == made.cause_key
        tally.above_zone += above_zone(found, made.cause_key)
        tally.answers += best.is_answer


def series(nodes: int, cause: Cause, runs: int) -> tuple[Tally, Tally]:
    plain, helped = Tally(), Tally()
    for seed in range(runs):
        made = simulate(Settings(nodes, cause, seed=seed * 1_009 + nodes))
        one_run(made, plain, with_cases=False)
        if cause == "single":
            one_run(made, helped, with_cases=True)
    return plain, helped


def share(part: int, runs: int) -> str:
    """With the 95 % interval (Wilson): 200 runs prove no more than that."""
    if not runs:
        return "–"
    z, p = 1.96, part / runs
    middle = (p + z * z / (2 * runs)) / (1 + z * z / runs)
    reach = z / (1 + z * z / runs) * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    return f"{100 * p:5.1f} % ({100 * (middle - reach):.0f}–{100 * (middle + reach):.0f})"


def accuracy(runs: int, sizes: tuple[int, ...]) -> bool:
    print(
        f"{'nodes':>6} {'cause':10}{'cause first':>21}{'above zone':>21}{'claims':>21}{'CPU s':>8}"
    )
    good = True
    for nodes in sizes:
        # A large fleet takes seconds, and its figure no longer varies.
        count = runs if nodes < 10_000 else max(1, runs // 10)
        for cause in CAUSES:
            plain, helped = series(nodes, cause, count)
            good &= report(nodes, cause, plain)
            if cause == "single":
                good &= report(nodes, "… + cases", helped)
    return good


def report(nodes: int, name: str, tally: Tally) -> bool:
    per = tally.cpu_seconds / max(1, tally.runs)
    claims = share(tally.claims, tally.runs)
    if name == "none":
        good = tally.claims <= GOAL_FALSE * tally.runs
        print(
            f"{nodes:6,} {name:10}{'':21}{'':21}{claims:>21}{per:8.2f}  {_mark(good)}", flush=True
        )
        return good
    first, zone = share(tally.first, tally.runs), share(tally.above_zone, tally.runs)
    good = tally.first >= GOAL_FIRST * tally.runs
    print(f"{nodes:6,} {name:10}{first:>21}{zone:>21}{claims:>21}{per:8.2f}  {_mark(good)}",
          flush=True)  # fmt: skip
    return good


def _mark(good: bool) -> str:
    return "" if good else "MISSED"


def large(nodes: int, attributes: int) -> None:
    """Through a file, in a process of its own: reading and comparing, and what that takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.parquet"
        made = simulate(Settings(nodes, "single", seed=1, attributes=attributes))
        table.write(made.fleet, path)
        print(f"{nodes:,} nodes × {len(made.fleet.columns):,} attributes, "
              f"{path.stat().st_size / 1e6:.1f} MB of Parquet")  # fmt: skip
        walls, texts = [], []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-m", "bench.compare", "--one", str(path)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            wall, cpu, peak, first = done.stdout.split(maxsplit=3)
            walls.append(float(wall))
            texts.append(f"{float(wall):.2f} s ({float(cpu):.2f} s CPU, {int(peak) >> 20} MiB)")
        print(f"read and compared in {', '.join(texts)}; budget {BUDGET_SECONDS:g} s and "
              f"{BUDGET_BYTES >> 30} GiB {_mark(min(walls) <= BUDGET_SECONDS)}")  # fmt: skip
        print(f"first: {first.strip()}")


def one(path: Path) -> None:
    start = time.monotonic()
    fleet = load([path])
    # Who is ill, as the level tells it; the column that says so takes no part.
    from exhume.fleet.expression import evaluate

    asked = evaluate("zombies>1000", fleet)
    ill = asked.truth.holds & asked.truth.known
    found = compare(fleet, ill, asked.truth.known & ~ill, leave_out=asked.used)
    wall = time.monotonic() - start
    use = resource.getrusage(resource.RUSAGE_SELF)
    best = found.classes[0]
    print(wall, use.ru_utime + use.ru_stime, use.ru_maxrss * 1024,
          f"{best.lead.area}/{best.lead.name} {best.lead.test}, {best.ill_with:,} of "
          f"{best.ill_known:,} ill, {best.well_with:,} of {best.well_known:,} well")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        one(chosen.one)
        return
    print(machine.describe())
    large(10_000, 3_000)
    sizes = tuple(int(size) for size in chosen.sizes.split(","))
    good = accuracy(chosen.runs, sizes)
    print("all goals met" if good else "goals missed: see above")


if __name__ == "__main__":
    main()
