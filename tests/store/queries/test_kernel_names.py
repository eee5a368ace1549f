from __future__ import annotations

from pathlib import Path

import pytest

from exhume.store.queries.kernel_names import unnamed_kernel_ratio
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import, write
from tests.store.make import at
from tests.store.queries.test_holds import recorded, stay


def test_a_capture_without_kallsyms_has_no_names_for_the_kernel(tmp_path: Path) -> None:
    """Core 0 is in the kernel all the time, core 1 idles in it."""
    path = write(tmp_path / "perf-node-1-20261115-201517-2s.data", made.capture(2.0).file())
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    do_import(tmp_path / "without", path)
    do_import(tmp_path / "with", path, symbols)
    found = []
    for name in ("without", "with"):
        recording = Recording.open(tmp_path / name)
        found.append(unnamed_kernel_ratio(recording, recording.window()))
    assert found == [1.0, 0.0]


@pytest.mark.parametrize(("stack", "ratio"), [(0, None), (1, 0.0)])
def test_named_functions_and_user_mode_are_no_gap(stack: int, ratio: float | None) -> None:
    """Where no sample is of the kernel nothing is known of its names."""
    assert unnamed_kernel_ratio(recorded(stay(0, 2, stack)), at(0, 20)) == ratio
