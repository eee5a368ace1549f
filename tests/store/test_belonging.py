"""Samples are told by unit, container and pod, from the cgroup and what runtimes said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.synthetic import make_node, make_segment
from exhume.model.answers import Filter
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.writer import write_segment

ID = "4f" * 32
POD = "6f6ed1b5-2d0f-4c40-9d9a-0f4a3d9b1c11"
KUBELET = "/system.slice/kubelet.service"
IN_POD = f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Even threads belong to a unit, odd ones to a container of which CRI told the name."""
    root = tmp_path_factory.mktemp("data")
    data = make_segment(make_node(cores=2, stacks=300), 10.0)
    cgroups = tuple(KUBELET if pid % 2 == 0 else IN_POD for pid in data.threads.pid.tolist())
    threads: Threads = replace(data.threads, cgroup=cgroups)
    fields: dict[str, str | int | float] = {"id": ID, "pod": "ml/train-0"}
    seen = Event(data.start_ns + 1, "container-seen", "ml/train-0/worker", fields=fields)
    write_segment(root, replace(data, threads=threads, events=(seen,)))
    return Recording.open(Path(root))


def pids(recording: Recording, wanted: Filter) -> set[int]:
    top = queries.top(recording, recording.window(), wanted, limit=1000)
    return {process.pid for process in top.processes if process.pid is not None}


@pytest.mark.parametrize(
    ("wanted", "rest"),
    [
        (Filter(units=("kubelet.service",)), 0),
        (Filter(containers=("ml/train-0/worker",)), 1),
        (Filter(containers=(ID[:12],)), 1),
        (Filter(pods=("ml/train-0",)), 1),
    ],
)
def test_a_filter_by_owner_takes_what_belongs_to_it_and_nothing_else(
    wanted: Filter, rest: int, recording: Recording
) -> None:
    everyone = pids(recording, Filter())
    found = pids(recording, wanted)
    assert found == {pid for pid in everyone if pid % 2 == rest}
    assert found


def test_an_owner_nobody_knows_has_no_samples(recording: Recording) -> None:
    assert pids(recording, Filter(units=("nobody.service",))) == set()
    assert pids(recording, Filter(containers=("4f",))) == set(), "two digits are no id"


def test_each_process_is_shown_with_its_owner(recording: Recording) -> None:
    for process in queries.top(recording, recording.window(), limit=1000).processes:
        assert process.pid is not None
        if process.pid % 2 == 0:
            assert (process.unit, process.container, process.pod) == ("kubelet.service", "", "")
        else:
            assert process.container == "ml/train-0/worker"
            assert process.pod == "ml/train-0"
