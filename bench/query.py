"""How quick the questions are: on two minutes and on twelve hours of a busy 96-core node.

    python -m bench.query [--quick]

`first` opens the recording anew each time (files in the page cache, nothing decoded); `again` asks
the same open recording. Naive is the same answer in plain Python from data already decoded.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from bench import _naive as naive
from bench.machine import describe
from bench.synthetic import START_NS, START_WALL_NS, Burst, make_node, make_segment, moved
from exhume.model.answers import Filter
from exhume.model.sample import Samples
from exhume.model.segment import SegmentData
from exhume.model.window import Window
from exhume.store import layout, meta, queries
from exhume.store.minutes import summarise
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from exhume.store.writer import write_segment

SECOND = 1_000_000_000
RUNS = 7
Ask = Callable[[Recording], object]


class Question(Struct, frozen=True):
    name: str
    ask: Ask
    target_ms: float | None = None
    """Of DESIGN.md's table."""
    naive: Callable[[], object] | None = None


def at(second: float, seconds: float) -> Window:
    start = START_WALL_NS + round(second * SECOND)
    return Window(start, start + round(seconds * SECOND))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.query", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an hour instead of twelve")
    args = parser.parse_args()
    print(describe(), "", sep="\n")
    with TemporaryDirectory() as directory:
        two_minutes(Path(directory) / "short")
        hours(Path(directory) / "long", 1 if args.quick else 12)
    return 0


def two_minutes(root: Path) -> None:
    data = make_segment(make_node(96), 120.0, burst=Burst(39, 60.0, 5.0))
    write_segment(root, data)
    whole, five = at(0, 120), at(60, 5)
    hot = Filter(cores=(39,))
    table(
        f"2 min, 96 cores: one segment, {len(data.samples):,} samples",
        root,
        [
            Question("core map, 120 columns", lambda r: queries.core_map(r, whole, 120), None,
                     lambda: naive.core_map(data)),
            Question("sub-second map, all samples", lambda r: queries.sub_second(r, whole), 100,
                     lambda: naive.sub_second(data, whole)),
            Question("flame, 5 s", lambda r: queries.flame(r, five), 50,
                     lambda: naive.flame(data, five)),
            Question("flame, 5 s of one core", lambda r: queries.flame(r, five, hot), None,
                     lambda: naive.flame(data, five, 39)),
            Question("flame, everything", lambda r: queries.flame(r, whole, min_share=1e-4), None,
                     lambda: naive.flame(data, whole)),
            Question("top, 5 s", lambda r: queries.top(r, five), None,
                     lambda: naive.top(data, five)),
            Question("top, 5 s of one core", lambda r: queries.top(r, five, hot), None,
                     lambda: naive.top(data, five, 39)),
            Question("who, one core, one instant", lambda r: queries.who(r, 39, five.start_ns)),
            Question("series, cpu.system, all cores",
                     lambda r: queries.series(r, "cpu.system", whole)),
            Question("events", lambda r: queries.events(r, whole)),
            Question("late samples", lambda r: queries.late_samples(r, whole)),
        ],
    )  # fmt: skip


def hours(root: Path, count: int) -> None:
    build(root, make_segment(make_node(96), 600.0, burst=Burst(39, 60.0, 5.0)), count * 6)
    whole = at(0, count * 3600)
    hot_second = (count * 6 - 2) * 600 + 60
    five, two_minutes = at(hot_second, 5), at(hot_second, 120)
    hot = Filter(cores=(39,))
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    table(
        f"{count} h, 96 cores: {count * 6} segments, {size / 1e6:,.0f} MB",
        root,
        [
            Question("core map, 1,200 columns", lambda r: queries.core_map(r, whole, 1200), 500),
            Question("flame, 5 s", lambda r: queries.flame(r, five)),
            Question("top, 5 s, baseline of an hour", lambda r: queries.top(r, five)),
            Question("top, 5 s of one core", lambda r: queries.top(r, five, hot)),
            Question("sub-second map, 2 min", lambda r: queries.sub_second(r, two_minutes)),
            Question("who, one core, one instant", lambda r: queries.who(r, 39, five.start_ns)),
            Question("series, self.cpu_ns", lambda r: queries.series(r, "self.cpu_ns", whole)),
            Question("series, cpu.system of one core",
                     lambda r: queries.series(r, "cpu.system", whole, ("39",))),
            Question("events of one name",
                     lambda r: queries.events(r, whole, ("exec",), "amazon-ecs-init")),
            Question("late samples", lambda r: queries.late_samples(r, whole)),
            Question("all spans", lambda r: r.spans()),
        ],
        runs=3,
    )  # fmt: skip


def build(root: Path, data: SegmentData, count: int) -> None:
    """One segment, again and again: times in its files count from its start, so only meta moves."""
    first = Segment(write_segment(root, data))
    summarise(root, first)
    for index in range(1, count):
        later = moved(
            replace(data, samples=_none(data), blocks=(), events=()), index * 600 * SECOND
        )
        path = layout.segment_path(root, later)
        shutil.copytree(first.path, path)
        facts = replace(
            first.meta,
            start_ns=later.start_ns,
            end_ns=later.end_ns,
            clock=later.clock,
            stretches=later.stretches,
        )
        (path / layout.META).write_bytes(meta.encode(facts))
        summarise(root, Segment(path))
    assert first.start_ns == START_NS


def _none(data: SegmentData) -> Samples:
    return replace(data.samples, time_ns=data.samples.time_ns[:0])


def table(title: str, root: Path, questions: list[Question], runs: int = RUNS) -> None:
    print(f"{title}; ms, wall best / median of {runs}, best CPU")
    heads = f"{'first':>18}{'CPU':>8}{'again':>18}{'CPU':>8}{'target':>8}{'naive':>9}{'ratio':>7}"
    print(f"{'question':32}{heads}")
    for question in questions:
        first = timed(partial(_afresh, question.ask, root), runs)
        recording = Recording.open(root)
        question.ask(recording)
        again = timed(partial(question.ask, recording), runs)
        target = "" if question.target_ms is None else f"{question.target_ms:.0f}"
        line = f"{question.name:32}{first}{again}{target:>8}"
        if question.naive is not None:
            plain = timed(question.naive, 2)
            line += f"{plain.cpu:9.0f}{plain.cpu / first.cpu:7.0f}"
        print(line, flush=True)
    print()


def _afresh(ask: Ask, root: Path) -> object:
    return ask(Recording.open(root))


class Took(Struct, frozen=True):
    """Milliseconds. On a machine that others use CPU time says more than wall time."""

    best: float
    median: float
    cpu: float

    def __str__(self) -> str:
        return f"{f'{self.best:.1f} / {self.median:.1f}':>18}{self.cpu:8.1f}"


def timed(run: Callable[[], object], runs: int) -> Took:
    wall, cpu = [], []
    for _ in range(runs):
        began = time.perf_counter(), time.process_time()
        run()
        wall.append((time.perf_counter() - began[0]) * 1e3)
        cpu.append((time.process_time() - began[1]) * 1e3)
    return Took(min(wall), statistics.median(wall), min(cpu))


if __name__ == "__main__":
    sys.exit(main())
