from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from exhume.model.answers import Filter, FlameTree
from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.model.stack import Frame, Mode
from exhume.model.window import Window
from exhume.store.memory import MemorySegment
from exhume.store.queries import flame, merge_trees
from exhume.store.queries.flame import MANY_VIEWS
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.trunk import FINENESS
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, busy_node, by_hand

PERIOD = round(1e9 / 97)
Path_ = tuple[Frame, ...]


def recording(*parts: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(p) for p in parts], 1 << 20)


def by_path(tree: FlameTree) -> dict[Path_, int]:
    """Own time of every path that has any."""
    paths: list[Path_] = []
    for parent, frame in zip(tree.parent.tolist(), tree.frames, strict=True):
        paths.append((*paths[parent], frame) if parent >= 0 else ())
    return {p: ns for p, ns in zip(paths, tree.self_ns.tolist(), strict=True) if ns}


def one_by_one(data: SegmentData, window: Window, wanted: Filter) -> dict[Path_, int]:
    """The same, sample by sample."""
    found: Counter[Path_] = Counter()
    s = data.samples
    for time, core, thread, stack in zip(
        s.time_ns.tolist(), s.core.tolist(), s.thread.tolist(), s.stack.tolist(), strict=True
    ):
        cgroup = data.threads.cgroup[thread]
        if (
            window.contains(data.clock.wall(time))
            and (not wanted.cores or core in wanted.cores)
            and (not wanted.comms or data.threads.comm[thread] in wanted.comms)
            and (not wanted.pids or data.threads.pid[thread] in wanted.pids)
            and (not wanted.tids or data.threads.tid[thread] in wanted.tids)
            and (not wanted.modes or Mode(data.tree.mode[stack]).name.lower() in wanted.modes)
            and (
                not wanted.cgroups
                or any(cgroup == c or cgroup.startswith(c + "/") for c in wanted.cgroups)
            )
        ):
            found[stack_of(data.tree, stack)] += PERIOD
    return dict(found)


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(),
        Filter(cores=(2,)),
        Filter(cores=(0, 3)),
        Filter(comms=("kubelet", "raylet")),
        Filter(modes=("system", "softirq")),
        Filter(pids=(1000, 1007)),
        Filter(tids=(1000, 5985)),
        Filter(cgroups=("/kubepods/burstable/pod000003e8",)),
        Filter(cgroups=("/kubepods",), modes=("user",), cores=(1, 2)),
        Filter(comms=("nobody",)),
    ],
)
def test_the_tree_holds_what_samples_counted_one_by_one_hold(wanted: Filter) -> None:
    window = at(68, 5)
    tree = flame(recording(busy_node()), window, wanted)
    expected = one_by_one(busy_node(), window, wanted)
    assert by_path(tree) == expected
    assert tree.samples * PERIOD == sum(expected.values()) == tree.total_ns[0]


def test_a_cgroup_stands_for_all_below_it_but_not_for_its_neighbour() -> None:
    threads = ((1, 1, "a", "/pods/a"), (2, 2, "b", "/pods/a/deep"), (3, 3, "c", "/pods/ab"))
    data = by_hand([(0, 0.1 * i, i, 0) for i in range(3)], threads=threads)
    assert flame(recording(data), at(0, 10), Filter(cgroups=("/pods/a/",))).samples == 2
    assert flame(recording(data), at(0, 10), Filter(cgroups=("/",))).samples == 3


def test_segments_with_different_trees_are_put_together_by_name() -> None:
    one = by_hand([(0, 1, 0, 0), (0, 2, 0, 1)], stacks=(("app", "f"), ("app", "g", "h")))
    later = START + 10 * SECOND
    two = by_hand([(0, 1, 0, 0)], stacks=(("app", "g", "h"), ("zz", "f")), start_ns=later)
    tree = flame(recording(one, two), at(0, 20))
    names = {tuple(frame.name for frame in path): ns for path, ns in by_path(tree).items()}
    assert names == {("app", "f"): 10_000_000, ("app", "g", "h"): 20_000_000}


def test_samples_at_a_lower_rate_weigh_more() -> None:
    stretches = (Stretch(START, "cpu-clock", 100.0), Stretch(START + 5 * SECOND, "cpu-clock", 50.0))
    data = by_hand([(0, 1, 0, 0), (0, 6, 0, 0)], stretches=stretches)
    assert flame(recording(data), at(0, 10)).total_ns[0] == 30_000_000
    assert flame(recording(data), at(4, 3)).total_ns[0] == 20_000_000


def test_thin_branches_are_cut_and_accounted_for() -> None:
    samples = [(0, i * 0.01, 0, 0) for i in range(98)] + [(0, 2.0, 0, 1), (0, 2.1, 0, 2)]
    stacks = (("app", "hot"), ("app", "cold", "a"), ("app", "cold", "b"))
    tree = flame(recording(by_hand(samples, stacks=stacks)), at(0, 10), min_share=0.05)
    assert [frame.name for frame in tree.frames] == ["", "app", "hot"]
    assert tree.pruned_ns == 20_000_000
    assert tree.total_ns.tolist() == [1_000_000_000, 1_000_000_000, 980_000_000]


@pytest.mark.parametrize("wanted", [Filter(), Filter(modes=("system",)), Filter(comms=("raylet",))])
def test_a_whole_segment_counts_the_same_as_its_samples(tmp_path: Path, wanted: Filter) -> None:
    write_segment(tmp_path, busy_node())
    disk = Recording.open(tmp_path)
    everything = flame(disk, at(-5, 200), wanted)
    halves = [flame(disk, at(-5, 70), wanted), flame(disk, at(65, 130), wanted)]
    assert by_path(everything) == by_path(merge_trees(halves))
    assert everything.samples == sum(tree.samples for tree in halves)


def test_hours_are_answered_by_thick_branches_right_to_a_tenth_of_what_is_shown(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(7)
    stacks = tuple(("app", f"f{n % 40}", f"g{n % 7}", f"h{n}") for n in range(300))
    threads = ((50, 50, "app", "/a"),)
    popular = rng.pareto(0.6, (MANY_VIEWS + 1, len(stacks))) + 1e-3
    for index, weights in enumerate(popular):
        drawn = rng.choice(len(stacks), 12_000, p=weights / weights.sum())
        samples = [(0, 0.1 + n / 2000, 0, int(stack)) for n, stack in enumerate(drawn)]
        start = START + index * 10 * SECOND
        write_segment(tmp_path, by_hand(samples, stacks=stacks, threads=threads, seconds=10,
                                        start_ns=start))  # fmt: skip
    recording_ = Recording.open(tmp_path)
    window = at(3, 10 * len(popular) - 5)  # both ends are in the middle of a segment
    share = 1.2e-3
    quick = flame(recording_, window, min_share=share)
    exact = flame(recording_, window)
    assert (quick.samples, quick.total_ns[0]) == (exact.samples, exact.total_ns[0])
    most = share / FINENESS * int(exact.total_ns[0])
    wanted, found = totals(exact), totals(quick)
    thick = {path for path, ns in wanted.items() if ns >= share * wanted[()] + most}
    assert len(thick) > 20
    assert thick <= set(found)
    assert all(0 <= wanted[path] - ns <= most for path, ns in found.items())
    assert any(wanted[path] != ns for path, ns in found.items()) or quick.pruned_ns
    assert flame(recording_, window, min_share=share).total_ns.tolist() == quick.total_ns.tolist()


def test_a_damaged_segment_among_many_costs_itself_only(tmp_path: Path) -> None:
    for index in range(MANY_VIEWS + 1):
        write_segment(tmp_path, by_hand([(0, 1.0, 0, 0)], seconds=10,
                                        start_ns=START + index * 10 * SECOND))  # fmt: skip
    broken = sorted(tmp_path.rglob("stacks.parquet"))[3]
    broken.write_bytes(broken.read_bytes()[:-9])
    window = at(0, 10 * (MANY_VIEWS + 1))
    recording_ = Recording.open(tmp_path)
    assert flame(recording_, window, min_share=0.01).samples == MANY_VIEWS
    assert recording_.problems(window)


def totals(tree: FlameTree) -> dict[Path_, int]:
    paths: list[Path_] = []
    for parent, frame in zip(tree.parent.tolist(), tree.frames, strict=True):
        paths.append((*paths[parent], frame) if parent >= 0 else ())
    return dict(zip(paths, tree.total_ns.tolist(), strict=True))
