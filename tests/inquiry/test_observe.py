"""What of a recording the diagnosis is handed."""

from __future__ import annotations

from pathlib import Path

from exhume.inquiry.observe import observe
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import at, by_hand

THREADS = ((1, 1, "stays", ""), (2, 2, "met-once", ""), (3, 3, "moves", ""))


def test_where_a_process_may_run_is_told_of_those_who_were_met_often(tmp_path: Path) -> None:
    """One sample is on one core, wherever else its process may run."""
    stays = [(1, 2.0 * second, 0, 0) for second in range(20)]
    moves = [(second % 2, second + 0.5, 2, 0) for second in range(40)]
    data = by_hand([*stays, *moves, (1, 7.3, 1, 0)], threads=THREADS, seconds=40, hz=1)
    write_segment(tmp_path, data)
    seen = observe(Recording.open(tmp_path), at(0, 40))
    assert seen.process_cores == {"stays": (1,), "moves": (0, 1)}
    assert seen.seldom_cores == {"met-once": (1,)}
