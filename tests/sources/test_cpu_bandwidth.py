"""cpu.stat of limited cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import cpu_bandwidth
from exhume.sources.cpu_bandwidth import Bandwidth, BandwidthReader
from tests.sources.garble import garbled, survives
from tests.sources.trees import Layout, Machine, Tree

V1_TEXT = "nr_periods 100\nnr_throttled 40\nthrottled_time 5000000\n"
V2_TEXT = "usage_usec 9\nnr_periods 100\nnr_throttled 40\nthrottled_usec 5000\n"


@pytest.mark.parametrize("text", [V1_TEXT, V2_TEXT])
def test_v1_and_v2_mean_the_same(text: str) -> None:
    assert cpu_bandwidth.parse(text) == Bandwidth(100, 40, 5_000_000)


def test_the_root_of_v2_has_no_limit() -> None:
    assert cpu_bandwidth.parse("usage_usec 9\nuser_usec 8\nsystem_usec 1\n") is None


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_only_cgroups_with_a_limit_are_followed(tmp_path: Path, layout: Layout) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups=layout)).build()
    base = "sys/fs/cgroup/cpu" if layout == "v1" else "sys/fs/cgroup"
    for number in range(20):
        tree.cgroup(f"{base}/free{number}")
        tree.write(f"{base}/free{number}/cpu.stat", V1_TEXT.replace("100", "0"))
    tree.cgroup(f"{base}/limited")
    tree.write(f"{base}/limited/cpu.stat", V1_TEXT)
    reader = BandwidthReader(tree.host)
    assert reader.read() == {"/limited": Bandwidth(100, 40, 5_000_000)}
    (tmp_path / base / "limited/cpu.stat").unlink()
    assert reader.read() == {}


def test_no_more_are_followed_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_bandwidth, "MAX_FOLLOWED", 3)
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    for number in range(5):
        tree.cgroup(f"sys/fs/cgroup/c{number}")
        tree.write(f"sys/fs/cgroup/c{number}/cpu.stat", V2_TEXT)
    reader = BandwidthReader(tree.host)
    found = reader.read()
    assert found is not None
    assert len(found) == 3
    assert reader.left_out == 2
    assert cpu_bandwidth.readings(found)[1].values.tolist() == [40, 40, 40]


@pytest.mark.parametrize(
    ("layout", "file", "free", "limited"),
    [
        ("v1", "cpu.cfs_quota_us", "-1\n", "30000\n"),
        ("v2", "cpu.max", "max 100000\n", "30000 100000\n"),
    ],
)
def test_a_limit_is_known_before_it_has_stopped_anybody(
    tmp_path: Path, layout: Layout, file: str, free: str, limited: str
) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups=layout)).build()
    base = "sys/fs/cgroup/cpu" if layout == "v1" else "sys/fs/cgroup"
    text = V1_TEXT.replace("100", "0").replace("40", "0")
    for name, limit in (("free", free), ("limited", limited)):
        tree.cgroup(f"{base}/{name}")
        tree.write(f"{base}/{name}/cpu.stat", text)
        tree.write(f"{base}/{name}/{file}", limit)
    found = BandwidthReader(tree.host).read()
    assert found is not None
    assert list(found) == ["/limited"]


def test_one_that_is_born_later_is_seen_with_the_next_reading(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    reader = BandwidthReader(tree.host)
    assert reader.read() == {}
    tree.cgroup("sys/fs/cgroup/late")
    tree.write("sys/fs/cgroup/late/cpu.stat", V2_TEXT)
    tree.clock.pass_seconds(10)
    assert reader.read() == {"/late": Bandwidth(100, 40, 5_000_000)}


def test_the_first_look_is_not_put_off_however_slow_the_machine(tmp_path: Path) -> None:
    """Finding the cgroups and looking at each are both part of it."""
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    for number in range(30):
        tree.cgroup(f"sys/fs/cgroup/c{number}")
        tree.write(f"sys/fs/cgroup/c{number}/cpu.stat", V2_TEXT)
    tree.clock.step_ns = cpu_bandwidth.STEP_NS // 4
    reader = BandwidthReader(tree.host)
    for _ in range(30):
        found = reader.read()
        tree.clock.pass_seconds(1)
    assert found is not None
    assert len(found) == 30


def test_no_cpu_controller_is_none(tmp_path: Path) -> None:
    assert BandwidthReader(Tree(tmp_path, Machine(2, cgroups="none")).build().host).read() is None


@pytest.mark.parametrize("text", ["nr_throttled 1\n", "nr_throttled x\nthrottled_time 1\n"])
def test_what_is_no_cpu_stat_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"cpu\.stat"):
        cpu_bandwidth.parse(text)


@given(garbled(V2_TEXT.encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(lambda data: cpu_bandwidth.parse(data.decode("utf-8", "replace")), text)


@pytest.mark.kernel
def test_the_real_kernel_can_be_asked() -> None:
    found = BandwidthReader(Host()).read()
    if found is None:
        pytest.skip("no cpu controller here")
    assert all(one.periods_total >= one.throttled_total for one in found.values())
