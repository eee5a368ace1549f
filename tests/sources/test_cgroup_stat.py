"""cgroup.stat."""

from __future__ import annotations

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import cgroup_stat
from exhume.sources.cgroup_stat import CgroupStat
from tests.sources.garble import garbled, survives
from tests.sources.trees import cgroup_stat as text_of


def test_new_kernels_say_how_many_of_the_dying_hold_memory() -> None:
    stat = cgroup_stat.parse(text_of(240, 70, memory=(200, 60)))
    assert stat == CgroupStat(240, 70, 200, 60)
    assert stat.zombies == 60


def test_older_kernels_count_all_that_are_dying() -> None:
    assert cgroup_stat.parse(text_of(240, 70)).zombies == 70


@pytest.mark.parametrize("text", ["", "nr_descendants 5\n", "nr_descendants x\n"])
def test_what_is_no_cgroup_stat_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"cgroup\.stat"):
        cgroup_stat.parse(text)


@given(garbled(text_of(2, 3, memory=(4, 5)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(lambda data: cgroup_stat.parse(data.decode("utf-8", "replace")), text)


@pytest.mark.kernel
def test_the_real_kernel_has_one_in_its_unified_hierarchy() -> None:
    base = Host().sys / "fs/cgroup"
    stat = cgroup_stat.read(base) or cgroup_stat.read(base / "unified")
    if stat is None:
        pytest.skip("no unified hierarchy is mounted")
    assert stat.descendants >= 0
