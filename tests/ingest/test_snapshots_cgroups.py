"""cgroup.stat of cgroups v2, as people copy it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.test_snapshots import PRESSURE, mark, read, values

ROOT = "/sys/fs/cgroup/cgroup.stat"
SLICE = "/sys/fs/cgroup/system.slice/cgroup.stat"
UNIT = r"/sys/fs/cgroup/system.slice/system-a\x2db.slice/cri:7@1.service/cgroup.stat"


def stat(live: int, dying: int) -> str:
    return f"nr_descendants {live}\nnr_dying_descendants {dying}\n"


def grepped(path: str, text: str) -> str:
    return "".join(f"{path}:{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "below",
    [
        stat(4, 348),
        f"{ROOT}\n{stat(4, 348)}/sys/fs/cgroup/cpu.stat\nusage_usec 0\nuser_usec 1\n",
        f"==> {SLICE} <==\n{stat(2, 300)}\n==> {ROOT} <==\n{stat(4, 348)}",
        grepped(SLICE, stat(2, 300)) + grepped(ROOT, stat(4, 348)) + grepped(UNIT, stat(0, 9)),
        grepped("./system.slice/cgroup.stat", stat(9, 900))
        + grepped("./cgroup.stat", stat(4, 348)),
        grepped("cgroup.stat", stat(4, 348)) + grepped("a.slice/cgroup.stat", stat(2, 300)),
        stat(2, 300) + stat(4, 348) + stat(0, 0),
        f"{stat(4, 348)}anon 4096\nsomething else altogether\n",
    ],
)
def test_of_several_cgroups_the_root_counts(tmp_path: Path, below: str) -> None:
    path = made.write(tmp_path / "v2.log", mark(0) + below + mark(10) + below)
    assert recognise(Source.of(Path(path))) is not None
    pieces = read(tmp_path, mark(0) + below + mark(10) + below)
    assert pieces[-1].facts.problems == ()
    assert values(pieces, "memcg.zombies") == {"": [348, 348]}
    assert values(pieces, "memcg.live") == {"": [5, 5]}
    assert values(pieces, "memcg.tracked") == {"": [353, 353]}


def test_newer_kernels_tell_those_of_the_memory_controller(tmp_path: Path) -> None:
    newer = stat(9, 70) + "nr_subsys_cpu 4\nnr_subsys_memory 6\nnr_dying_subsys_memory 64\n"
    pieces = read(tmp_path, mark(0) + newer)
    assert values(pieces, "memcg.zombies") == {"": [64]}
    assert values(pieces, "memcg.live") == {"": [6]}


@pytest.mark.parametrize(
    "text", ["nr_dying_descendants 348\n", f"{ROOT}:nr_dying_descendants 348\n"]
)
def test_only_the_dying_ones_are_enough(tmp_path: Path, text: str) -> None:
    pieces = read(tmp_path, mark(0) + text)
    assert values(pieces, "memcg.zombies") == {"": [348]}
    assert values(pieces, "memcg.live") == {}


@pytest.mark.parametrize("path", [SLICE, "/sys/fs/cgroup/unified/cgroup.stat"])
def test_a_part_of_the_tree_is_not_the_node(tmp_path: Path, path: str) -> None:
    for text in (mark(0) + f"{path}\n{stat(2, 300)}", mark(0, f" {path}") + stat(2, 300)):
        pieces = read(tmp_path, text)
        assert values(pieces, "memcg.zombies") == {}
        assert "below the root" in pieces[-1].facts.notes[-1]


def test_pressure_of_a_cgroup_is_not_the_nodes(tmp_path: Path) -> None:
    root = f"/sys/fs/cgroup/cpu.pressure\n{PRESSURE}"
    part = f"/sys/fs/cgroup/system.slice/cpu.pressure\n{PRESSURE.replace('225498', '7')}"
    assert values(read(tmp_path, mark(0) + part + root), "pressure.cpu.some_us") == {"": [225498]}


def test_a_copy_without_a_mark_tells_itself(tmp_path: Path) -> None:
    path = Path(made.write(tmp_path / "cgroup.stat", stat(4, 348)))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copy"
