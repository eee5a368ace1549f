from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import NS, do_import, write

DONE = 1_795_000_000
"""When the whole was written: 2026-11-18 11:06:40."""
HEADER = "# ========\n# captured on    : Wed Nov 18 11:06:40 2026\n# hostname : node-1\n#\n"


def parts(folder: Path, name: str, text: str) -> list[str]:
    """As `split` makes them: of so many lines, not of so much time."""
    lines = text.splitlines(keepends=True)
    edges = [round(share * len(lines)) for share in (0, 0.2, 0.5, 0.61, 1)]
    found = []
    for number, (begin, end) in enumerate(pairwise(edges)):
        path = write(folder / f"{name}{number}", "".join(lines[begin:end]))
        os.utime(path, (DONE, DONE))
        found.append(path)
    return found


@pytest.mark.parametrize(
    ("name", "header", "starts"),
    [
        ("part", "", DONE - 40),
        ("part", HEADER, DONE - 40),
        ("perf-node-1-20261118-110600-40s.txt.", "", DONE - 40),
        ("perf.data.2026111811064000.txt.", "", DONE - 40),
    ],
)
def test_parts_of_one_text_go_on_where_the_one_before_ended(
    tmp_path: Path, name: str, header: str, starts: int
) -> None:
    text = header + made.script(40.0, start_ns=1000 * NS)
    files = parts(tmp_path, name, text)
    report = do_import(tmp_path / "out", *files)
    assert not [one for read in report.inputs for one in read.notes if "left out" in one]
    # An idle core's stack that is cut in two has lost what says so.
    assert made.total(tmp_path / "out") == pytest.approx(4000, abs=3)
    window = Recording.open(tmp_path / "out").window()
    assert window.seconds == pytest.approx(40, abs=0.1)
    assert window.start_ns / NS == pytest.approx(starts, abs=0.1)


def test_captures_with_times_of_their_own_keep_them(tmp_path: Path) -> None:
    """They were taken one right after the other: nothing is to be mended."""
    files = []
    for number, name in enumerate(("110000", "110010", "110020")):
        text = made.script(10.0, start_ns=(1000 + 10 * number) * NS)
        files.append(write(tmp_path / f"perf-node-1-20261118-{name}-10s.txt", text))
    report = do_import(tmp_path / "out", *files)
    assert not any("parts" in read.clock for read in report.inputs)
    assert Recording.open(tmp_path / "out").window().seconds == pytest.approx(30, abs=0.1)


def test_texts_that_do_not_meet_on_perfs_clock_are_no_parts(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        path = write(tmp_path / f"{number}.txt", made.script(5.0, start_ns=900 * number * NS + NS))
        os.utime(path, (DONE + 3600 * number, DONE + 3600 * number))
        files.append(path)
    report = do_import(tmp_path / "out", *files)
    assert not any("parts" in read.clock for read in report.inputs)
