"""/proc/cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import cgroups
from exhume.sources.cgroups import Controller
from tests.sources.garble import garbled, survives
from tests.sources.trees import proc_cgroups


def test_controllers_are_by_name() -> None:
    found = cgroups.parse(proc_cgroups(4, 68680))
    assert found["memory"] == Controller("memory", 4, 68680, is_enabled=True)


def test_a_kernel_without_the_memory_line_has_no_memory_entry() -> None:
    assert "memory" not in cgroups.parse(proc_cgroups(0, None))


def test_a_kernel_without_the_file_gives_none(tmp_path: Path) -> None:
    assert cgroups.read(Host(proc=tmp_path)) is None


@pytest.mark.parametrize("text", ["memory 1 2\n", "memory 1 x 1\n", "\n"])
def test_what_is_no_table_of_controllers_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="proc/cgroups"):
        cgroups.parse(text)


@given(garbled(proc_cgroups(4, 240).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(lambda data: cgroups.parse(data.decode("utf-8", "replace")), text)


@pytest.mark.kernel
def test_the_real_kernel_counts_cgroups() -> None:
    found = cgroups.read(Host())
    if not found:
        pytest.skip("this kernel has no /proc/cgroups")
    assert all(one.cgroups >= 1 for one in found.values())
