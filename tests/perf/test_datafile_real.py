"""The reader against perf itself, on captures made a moment ago."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.perf.datafile import PerfData
from tests.perf.recorded import PerfSample, perf_samples, record

pytestmark = pytest.mark.kernel

CLOCK = ("-e", "cpu-clock", "-F", "499")


def own_samples(path: Path) -> list[PerfSample]:
    data = PerfData(lambda: path.open("rb"), str(path))
    found = []
    for walked in data.walks():
        assert walked.bad == 0
        columns = walked.samples
        rows = (columns.time, columns.cpu, columns.pid, columns.tid, columns.event)
        for time, cpu, pid, tid, event in zip(*(row.tolist() for row in rows), strict=True):
            found.append(PerfSample(time, cpu, pid, tid, "", data.events[event].name))
    assert data.problems == []
    return sorted(found)


@pytest.mark.parametrize(
    ("options", "to_pipe"),
    [
        ((*CLOCK, "-g"), False),
        ((*CLOCK, "-g"), True),
        ((*CLOCK, "-g", "-z"), False),
        ((*CLOCK, "-g", "-z"), True),
        ((*CLOCK, "-e", "page-faults", "-e", "context-switches", "-g"), False),
        ((*CLOCK, "-e", "page-faults", "-g", "--call-graph", "dwarf,256"), True),
        ((*CLOCK, "-d", "--phys-data", "-W", "--all-cgroups", "-k", "mono"), False),
    ],
)
def test_every_sample_is_the_one_that_perf_sees(
    options: tuple[str, ...], to_pipe: bool, tmp_path: Path
) -> None:
    path = record(tmp_path, *options, to_pipe=to_pipe)
    expected = [
        PerfSample(one.time_ns, one.cpu, one.pid, one.tid, "", one.event)
        for one in perf_samples(path)
    ]
    assert len(expected) > 20
    assert own_samples(path) == sorted(expected)


def test_both_clocks_are_read_where_they_were_recorded(tmp_path: Path) -> None:
    path = record(tmp_path, *CLOCK, "-k", "mono")
    data = PerfData(lambda: path.open("rb"), str(path))
    assert data.clock_id == 1
    assert data.features.clock is not None
    wall = data.features.clock.wall_ns
    assert abs(wall / 1e9 - path.stat().st_mtime) < 60
