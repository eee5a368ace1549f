from __future__ import annotations

from pathlib import Path

from exhume.model.answers import Filter
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import T0, at, by_hand


def record(root: Path) -> Recording:
    samples = [(1, 0.3, 0, 1), (0, 0.1, 0, 0), (0, 0.5, 0, 0), (1, 0.2, 0, 0)]
    write_segment(root, by_hand(samples, stacks=(("app", "main"), ("app", "main", "k_read"))))
    return Recording.open(root)


def test_samples_come_in_order_of_time_over_all_cores(tmp_path: Path) -> None:
    found = queries.samples(record(tmp_path), at(0, 10))
    assert [round((one.wall_ns - T0) / 1e8) for one in found.samples] == [1, 2, 3, 5]
    assert [one.core for one in found.samples] == [0, 1, 1, 0]
    third = found.samples[2]
    assert (third.stack, third.mode) == (("app", "main", "k_read"), "system")
    assert third.weight_ns == 10_000_000


def test_the_first_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    found = queries.samples(record(tmp_path), at(0, 10), limit=2)
    assert (found.total, len(found.samples)) == (4, 2)
    narrowed = queries.samples(record(tmp_path), at(0, 0.4), Filter(cores=(1,)))
    assert narrowed.total == 2
