"""Does `exhume compare` put the planted cause first, and claim nothing where nothing was planted?

    python -m bench.compare [--runs 200] [--sizes 6,12] [--to RUNS.jsonl] [--write]
    python -m bench.compare --from RUNS.jsonl … --write

Runs simulated fleets of every cause and size, without the help of cases (statistics alone) and with
them, and one fleet of 10,000 nodes × 3,000 attributes through a file, as the command does it. A row
is appended to a file as soon as it is over, so that several processes can share the sizes.
`--write` puts the tables into docs/compare.md, misses included.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins

from bench import machine
from exhume.fleet import table
from exhume.fleet.cohort import Fleet
from exhume.fleet.compare import compare
from exhume.fleet.comparison import Comparison, SplitClass
from exhume.fleet.expression import evaluate
from exhume.fleet.loading import load
from lab.fleet_model import CAUSES, Cause, Settings, Simulated, simulate

SIZES = (6, 12, 30, 100, 300, 1_000, 10_000)
GOAL_FIRST = 0.95
GOAL_FALSE = 0.05
BUDGET_SECONDS = 10.0
BUDGET_BYTES = 2 << 30
DOC = Path(__file__).parent.parent / "docs" / "compare.md"
_BEGIN, _END = "<!-- bench.compare begins -->\n", "<!-- bench.compare ends -->\n"


class Tally(Struct):
    """Fleets of one size and one cause."""

    nodes: int
    cause: str
    with_cases: bool = False
    runs: int = 0
    first: int = 0
    """The cause's class came first."""
    leads: int = 0
    """And the cause itself leads it, not another of the same split."""
    above_zone: int = 0
    claims: int = 0
    found: int = 0
    """Classes said to separate, in all runs."""
    strangers: int = 0
    """Of those, the ones that have nothing to do with the cause or its zone."""
    cpu_seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        if self.cause == "none":
            return self.claims <= GOAL_FALSE * self.runs
        return min(self.first, self.above_zone) >= GOAL_FIRST * self.runs


class Large(Struct, frozen=True):
    """One large fleet, read from a file and compared."""

    nodes: int
    columns: int
    file_bytes: int
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    said: str

    @property
    def is_good(self) -> bool:
        return self.wall_seconds <= BUDGET_SECONDS and self.peak_bytes <= BUDGET_BYTES


def holds(one: SplitClass, key: str) -> bool:
    return any(f"{member.area}/{member.name}" == key for member in one.members)


def above_zone(found: Comparison, key: str) -> bool:
    """The cause is named before the zone: in an earlier class, or earlier within one."""
    names = [f"{member.area}/{member.name}" for one in found.classes for member in one.members]
    places = [names.index(name) if name in names else math.inf for name in (key, "label/zone")]
    return places[0] < places[1]


def one_run(made: Simulated, tally: Tally) -> None:
    fleet = made.fleet if tally.with_cases else Fleet(made.fleet.nodes, made.fleet.columns)
    start = time.process_time()
    # Of six nodes a class has hundreds of members, and the cause may be any of them.
    found = compare(fleet, made.ill, ~made.ill, most_members=len(fleet.columns) * 4)
    tally.cpu_seconds += time.process_time() - start
    tally.runs += 1
    tally.claims += found.verdict == "separates"
    claimed = [one for one in found.classes if one.separates and not one.alongside]
    tally.found += len(claimed)
    if made.cause_key and found.classes:
        best = found.classes[0]
        tally.first += holds(best, made.cause_key)
        tally.leads += f"{best.lead.area}/{best.lead.name}" == made.cause_key
        tally.above_zone += above_zone(found, made.cause_key)
        # The unit that failed where the looping one runs is the same split, less what was unread.
        kin = (
            made.cause_key,
            "label/zone",
            "unit/cloud-final.service",
            "unit_restarts/ecs.service",
        )
        tally.strangers += sum(not any(holds(one, key) for key in kin) for one in claimed)
    else:
        tally.strangers += len(claimed)


def series(nodes: int, cause: Cause, runs: int, seed: int) -> tuple[Tally, ...]:
    tallies = [Tally(nodes, cause)]
    if cause == "single":
        tallies.append(Tally(nodes, cause, with_cases=True))
    for number in range(runs):
        made = simulate(Settings(nodes, cause, seed=(seed + number) * 100_003 + nodes))
        for tally in tallies:
            one_run(made, tally)
    return tuple(tallies)


def share(part: int, runs: int) -> str:
    """With the 95 % interval (Wilson): so many runs prove no more than that."""
    if not runs:
        return "–"
    z, p = 1.96, part / runs
    middle = (p + z * z / (2 * runs)) / (1 + z * z / runs)
    reach = z / (1 + z * z / runs) * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return f"{100 * p:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def accuracy(tallies: Iterable[Tally]) -> str:
    lines = [
        "| nodes | planted | runs | cause's class first | cause above zone | claims | claims "
        "about something else | CPU s a run | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in tallies:
        first, zone = share(one.first, one.runs), share(one.above_zone, one.runs)
        if one.cause == "none":
            first = zone = ""
        name = one.cause + (", with cases" if one.with_cases else "")
        cells = (
            f"{one.nodes:,}", name, str(one.runs), first, zone, share(one.claims, one.runs),
            f"{one.strangers} of {one.found}", f"{one.cpu_seconds / max(1, one.runs):.2f}",
            "" if one.is_good else "**missed**",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def budget(larges: Sequence[Large]) -> str:
    if not larges:
        return "not measured"
    one = min(larges, key=lambda large: large.wall_seconds)
    times = ", ".join(
        f"{large.wall_seconds:.1f} s ({large.cpu_seconds:.1f} s CPU, {large.peak_bytes >> 20} MiB)"
        for large in larges
    )
    return (
        f"{one.nodes:,} nodes × {one.columns:,} attributes, {one.file_bytes / 1e6:.1f} MB of "
        f"Parquet, read and compared in {times}; budget {BUDGET_SECONDS:g} s and "
        f"{BUDGET_BYTES >> 30} GiB{'' if one.is_good else ': **missed**'}. First: {one.said}."
    )


def large(nodes: int, attributes: int, times: int) -> list[Large]:
    """Through a file, in a process of its own: reading and comparing, and what that takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.parquet"
        made = simulate(Settings(nodes, "single", seed=1, attributes=attributes))
        table.write(made.fleet, path)
        measured = []
        for _ in range(times):
            done = subprocess.run(
                [sys.executable, "-m", "bench.compare", "--one", str(path)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            wall, cpu, peak, first = done.stdout.split(maxsplit=3)
            measured.append(Large(nodes, len(made.fleet.columns), path.stat().st_size,
                                  float(wall), float(cpu), int(peak), first.strip()))  # fmt: skip
        return measured


def one(path: Path) -> None:
    start = time.monotonic()
    fleet = load([path])
    # Who is ill, as the level tells it; the column that says so takes no part.
    asked = evaluate("zombies>1000", fleet)
    ill = asked.truth.holds & asked.truth.known
    found = compare(fleet, ill, asked.truth.known & ~ill, leave_out=asked.used)
    wall = time.monotonic() - start
    use = resource.getrusage(resource.RUSAGE_SELF)
    best = found.classes[0]
    print(wall, use.ru_utime + use.ru_stime, use.ru_maxrss * 1024,
          f"{best.lead.area}/{best.lead.name} {best.lead.test}, {best.ill_with:,} of "
          f"{best.ill_known:,} ill, {best.well_with:,} of {best.well_known:,} well")  # fmt: skip


def measure(chosen: argparse.Namespace) -> tuple[list[Large], list[Tally]]:
    larges: list[Large] = []
    tallies: list[Tally] = []
    if not chosen.no_large:
        larges = large(10_000, 3_000, 3)
        _append(chosen.to, "large", larges)
    for nodes in map(int, filter(None, chosen.sizes.split(","))):
        for cause in CAUSES:
            made = series(nodes, cause, chosen.runs, chosen.seed)
            _append(chosen.to, "tally", made)
            print(*accuracy(made).splitlines()[2:], sep="\n", flush=True)
            tallies += made
    return larges, tallies


def _append(path: Path | None, kind: str, rows: Sequence[Large] | Sequence[Tally]) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({kind: to_builtins(row)}) + "\n" for row in rows)


def read(paths: Sequence[Path]) -> tuple[list[Large], list[Tally]]:
    """In the order of the table, however many processes wrote them."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    tallies = [Tally(**row["tally"]) for row in rows if "tally" in row]
    order = {cause: place for place, cause in enumerate(CAUSES)}
    tallies.sort(key=lambda one: (one.nodes, order[one.cause], one.with_cases))  # type: ignore[index]
    return [Large(**row["large"]) for row in rows if "large" in row], tallies


def write(text: str) -> None:
    before, _, rest = DOC.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    DOC.write_text(f"{before}{_BEGIN}\n{text}\n\n{_END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first run; the others follow")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--no-large", action="store_true", help="without the budget's fleet")
    parser.add_argument("--to", type=Path, help="the file that rows are appended to")
    parser.add_argument("--from", dest="read", type=Path, nargs="+", help="tell these rows again")
    parser.add_argument("--write", action="store_true", help="write docs/compare.md")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        one(chosen.one)
        return
    larges, tallies = read(chosen.read) if chosen.read else measure(chosen)
    text = f"Machine: {machine.describe()}.\n\n{accuracy(tallies)}\n\n{budget(larges)}"
    print(text)
    missed = sum(not tally.is_good for tally in tallies)
    missed += bool(larges) and not any(one.is_good for one in larges)
    print(f"{missed} goals missed: see above" if missed else "all goals met")
    if chosen.write:
        write(text)


if __name__ == "__main__":
    main()
