from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.script_names import is_none
from tests.ingest.made import do_import, segments, stacks, write

SAMPLE = "{} {}/{} [000] 5.{:06d}: 10000000 cpu-clock: \n\t400123 main+0x3 (/opt/worker)\n\n"


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ([("worker", 70, 70), ("io", 70, 71)], {"worker", "io"}),
        ([("io", 70, 71)], {"io"}),  # of the first thread there is no sample
        ([("other", 80, 80)], {"other", ":-1"}),
    ],
)
def test_a_thread_that_perf_knows_no_name_of_has_its_processs(
    others: list[tuple[str, int, int]], names: set[str], tmp_path: Path
) -> None:
    lines = [SAMPLE.format(*who, at) for at, who in enumerate([*others, (":-1", 70, -1)])]
    do_import(tmp_path / "out", write(tmp_path / "out.txt", "".join(lines)))
    assert {stack[0] for stack in stacks(tmp_path / "out")} == names
    (segment,) = segments(tmp_path / "out")
    assert set(segment.threads().threads.comm) == names


def test_what_looks_like_one_is_a_name_all_the_same() -> None:
    assert [is_none(name) for name in (":812", ":-1", "a:1", ":", ":1a", "")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
