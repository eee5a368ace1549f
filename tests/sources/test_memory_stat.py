"""memory.stat of v1."""

from __future__ import annotations

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import memory_stat
from exhume.sources.cgroup_tree import find
from exhume.sources.memory_stat import Charged
from tests.sources.garble import garbled, survives

TEXT = """cache 100
rss 20
shmem 30
inactive_file 70
total_cache 1100
total_rss 25
total_shmem 930
"""


def test_what_is_below_is_the_total_without_its_own() -> None:
    stat = memory_stat.parse(TEXT)
    assert stat.below == Charged(cache_bytes=1000, shmem_bytes=900, anonymous_bytes=5)
    assert stat.below.file_bytes == 100


def test_a_kernel_that_does_not_tell_shmem_counts_it_as_file() -> None:
    stat = memory_stat.parse("cache 1\nrss 2\ntotal_cache 11\ntotal_rss 12\n")
    assert (stat.below.shmem_bytes, stat.below.file_bytes) == (0, 10)


@pytest.mark.parametrize("text", ["", "cache 1\nrss 2\n", TEXT.replace("1100", "-5")])
def test_what_is_no_memory_stat_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"memory\.stat"):
        memory_stat.parse(text)


@given(garbled(TEXT.encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(lambda data: memory_stat.parse(data.decode("utf-8", "replace")), text)


@pytest.mark.kernel
def test_the_real_root_has_at_least_what_it_has_itself() -> None:
    tree = find(Host(), "memory")
    if tree is None or tree.version != 1:
        pytest.skip("the memory controller is not on v1 here")
    stat = memory_stat.read(tree.root)
    assert stat is not None
    assert stat.total.cache_bytes > 0
