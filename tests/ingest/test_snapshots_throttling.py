"""cpu.stat of cgroups with a CPU limit, as people copy it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.test_snapshots import mark, read, values

POD = "/sys/fs/cgroup/kubepods.slice/kubepods-pod7.slice/cri-containerd-5c2e.scope"
NAME = POD.removeprefix("/sys/fs/cgroup")
ROOT = "usage_usec 900\nuser_usec 500\nsystem_usec 400\n"


def v2(periods: int, stopped: int, stopped_us: int) -> str:
    return (
        f"usage_usec 9\nuser_usec 5\nsystem_usec 4\ncore_sched.force_idle_usec 0\n"
        f"nr_periods {periods}\nnr_throttled {stopped}\nthrottled_usec {stopped_us}\n"
        "nr_bursts 0\nburst_usec 0\n"
    )


def v1(periods: int, stopped: int, stopped_us: int) -> str:
    return f"nr_periods {periods}\nnr_throttled {stopped}\nthrottled_time {stopped_us * 1000}\n"


def grepped(path: str, text: str) -> str:
    return "".join(f"{path}:{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "form",
    [
        "/sys/fs/cgroup/cpu.stat\n" + ROOT + POD + "/cpu.stat\n{v2}",
        "==> /sys/fs/cgroup/cpu.stat <==\n" + ROOT + "\n==> " + POD + "/cpu.stat <==\n{v2}",
        "# cat " + POD + "/cpu.stat\n{v2}something else altogether\n",
        POD + "\n{v2}",
        "/sys/fs/cgroup/cpu,cpuacct" + NAME + "/cpu.stat\n{v1}",
        "/sys/fs/cgroup/cpu" + NAME + "/cpu.stat\n{v1}"
        "/sys/fs/cgroup/cpu,cpuacct" + NAME + "/cpu.stat\n{v1}",
        "grepped v2",
        "grepped below",
    ],
)  # fmt: skip
def test_who_was_stopped_has_its_path_below_the_root(tmp_path: Path, form: str) -> None:
    text = ""
    for seconds, told in ((0, (100, 10, 2000)), (10, (200, 60, 9000))):
        if form.startswith("grepped"):
            path = POD if form == "grepped v2" else "." + NAME
            text += mark(seconds) + grepped(path + "/cpu.stat", v2(*told))
        else:
            text += mark(seconds) + form.format(v2=v2(*told), v1=v1(*told))
    path = made.write(tmp_path / "cpu.log", text)
    assert recognise(Source.of(Path(path))) is not None
    pieces = read(tmp_path, text)
    assert pieces[-1].facts.problems == ()
    assert values(pieces, "cgroup.cpu_periods") == {NAME: [100, 200]}
    assert values(pieces, "cgroup.cpu_throttled") == {NAME: [10, 60]}
    assert values(pieces, "cgroup.cpu_throttled_ns") == {NAME: [2_000_000, 9_000_000]}


def test_all_cgroups_below_one_mark_are_of_that_time(tmp_path: Path) -> None:
    def below(first: int, second: int) -> str:
        a, b = "/sys/fs/cgroup/a.slice/cpu.stat", "/sys/fs/cgroup/b.slice/cpu.stat"
        return grepped(a, v2(first, 1, 1)) + grepped(b, v2(second, 2, 2))

    pieces = read(tmp_path, mark(0) + below(10, 20) + mark(10) + below(30, 40))
    assert values(pieces, "cgroup.cpu_periods") == {"/a.slice": [10, 30], "/b.slice": [20, 40]}


def test_without_a_limit_nothing_is_told(tmp_path: Path) -> None:
    pieces = read(tmp_path, mark(0) + f"{POD}/cpu.stat\n{v2(0, 0, 0)}")
    assert values(pieces, "cgroup.cpu_throttled") == {}
    assert pieces[-1].facts.problems == ()
    assert "no CPU limit" in pieces[-1].facts.notes[-1]


def test_a_copy_made_in_a_container_is_named_after_its_file(tmp_path: Path) -> None:
    text = mark(0) + "$ cat /sys/fs/cgroup/cpu.stat\n" + v2(10, 1, 5)
    pieces = read(tmp_path, text, "web-0.cpu.stat.txt")
    assert values(pieces, "cgroup.cpu_throttled") == {"web-0": [1]}
    for name in ("cpu.stat", "cpu.stat.1", "cpu.stat-20261115201501", "1794773717.cpu.stat"):
        pieces = read(tmp_path, text, name)
        assert values(pieces, "cgroup.cpu_throttled") == {"container": [1]}, name
    pieces = read(tmp_path, text, "web-0_2026-11-15T20:15:01Z.log")
    assert values(pieces, "cgroup.cpu_throttled") == {"web-0": [1]}


def test_only_the_lines_of_throttling_are_enough(tmp_path: Path) -> None:
    text = mark(0) + "nr_throttled 0\nthrottled_usec 0\n" + mark(5) + "nr_throttled 4\n"
    pieces = read(tmp_path, text + "throttled_usec 70\n", "web-0.txt")
    assert values(pieces, "cgroup.cpu_throttled") == {"web-0": [0, 4]}
    assert values(pieces, "cgroup.cpu_throttled_ns") == {"web-0": [0, 70_000]}


def test_of_copies_that_nothing_tells_apart_the_first_counts(tmp_path: Path) -> None:
    pieces = read(tmp_path, mark(0) + v2(10, 1, 5) + v2(20, 2, 6))
    assert values(pieces, "cgroup.cpu_periods") == {"copies": [10]}
    assert "put its path there" in pieces[-1].facts.notes[-1]


def test_what_stopped_a_cgroup_itself_is_no_other_count(tmp_path: Path) -> None:
    own = grepped(POD + "/cpu.stat.local", "throttled_usec 3\n")
    whole = grepped(POD + "/cpu.stat", v2(9, 1, 5))
    for below in (own + whole, whole + own):
        pieces = read(tmp_path, mark(0) + below)
        assert values(pieces, "cgroup.cpu_throttled_ns") == {NAME: [5000]}
