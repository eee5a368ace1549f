from __future__ import annotations

from pathlib import Path

import pytest

from exhume.inquiry.zombies import zombies
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import, write

START = 1794773717


def test_walks_that_were_sampled_beside_the_counts_tell_what_a_zombie_costs(tmp_path: Path) -> None:
    """A capture of two calls, 4 s and 3 s long, over 4,000 dead cgroups."""
    captures = [
        write(
            tmp_path / f"perf-node-1-20261115-2015{second}-{length}s.data",
            made.capture(float(length), start_ns=(second - 12) * 10**9).file(),
        )
        for second, length in ((17, 4), (30, 3))
    ]
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    rows = "".join(f"{START + at},4240,240\n" for at in range(-5, 30, 5))
    counts = write(tmp_path / "cgroups.csv", f"epoch,memory_cgroups,live_dirs\n{rows}")
    do_import(tmp_path / "out", *captures, symbols, counts, node="node-1")
    recording = Recording.open(tmp_path / "out")
    found = zombies(recording, recording.window()).outlook
    assert found is not None
    assert found.measured_walks == 2
    assert found.seconds_per_zombie == pytest.approx(3.5 / 4000, rel=0.05)
