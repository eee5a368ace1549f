"""/proc/vmstat."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import vmstat
from tests.sources.garble import garbled, survives
from tests.sources.trees import Machine, Tree
from tests.sources.trees import vmstat as text_of


@pytest.mark.parametrize("is_old", [False, True])
def test_old_and_new_names_end_up_in_the_same_field(tmp_path: Path, is_old: bool) -> None:
    stat = vmstat.read(Tree(tmp_path, Machine(2, is_old=is_old)).build().host)
    assert stat is not None
    values = {reading.field: int(reading.values[0]) for reading in vmstat.readings(stat)}
    assert values["vmstat.pgfault"] == 100
    assert values["vmstat.pgscan_kswapd"] == 40
    assert values["vmstat.pgscan_direct"] == 80, "throttled tasks are no pages"
    assert values["vmstat.allocstall"] == 7
    assert values["vmstat.workingset_refault"] == 8


def test_a_key_that_this_kernel_lacks_is_absent_not_zero() -> None:
    stat = vmstat.parse("pgfault 1\n")
    assert [reading.field for reading in vmstat.readings(stat)] == ["vmstat.pgfault"]


@pytest.mark.parametrize("text", ["pgfault\n", "pgfault 1 2\n", "pgfault -1\n", "pgfault 1_0\n"])
def test_a_line_that_is_not_a_key_and_a_number_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="proc/vmstat"):
        vmstat.parse(text)


@given(garbled(text_of(Machine(2)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    stat = survives(lambda data: vmstat.parse(data.decode("utf-8", "replace")), text)
    if isinstance(stat, vmstat.VmStat):
        assert all(value is None or value >= 0 for value in stat.values)


@pytest.mark.kernel
def test_the_real_kernel_counts_page_faults() -> None:
    stat = vmstat.read(Host())
    assert stat is not None
    assert (stat.values[0] or 0) > 0
