"""/proc/meminfo."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import meminfo
from tests.sources.garble import garbled, survives
from tests.sources.trees import Machine, Tree
from tests.sources.trees import meminfo as text_of


def test_sizes_are_in_bytes(tmp_path: Path) -> None:
    info = meminfo.read(Tree(tmp_path, Machine(2)).build().host)
    assert info is not None
    assert info.value_bytes("MemTotal") == 1000 * 1024
    values = {reading.field: int(reading.values[0]) for reading in meminfo.readings(info)}
    assert values["memory.percpu_bytes"] == 1015 * 1024


def test_what_an_old_kernel_does_not_say_is_absent(tmp_path: Path) -> None:
    info = meminfo.read(Tree(tmp_path, Machine(2, is_old=True)).build().host)
    assert info is not None
    assert info.value_bytes("Percpu") is None
    assert "memory.percpu_bytes" not in {reading.field for reading in meminfo.readings(info)}


@pytest.mark.parametrize("text", ["", "MemTotal 5 kB\n", "MemTotal: 5 MB\n", "MemTotal: x kB\n"])
def test_what_is_no_meminfo_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="proc/meminfo"):
        meminfo.parse(text)


@given(garbled(text_of(Machine(2)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    info = survives(lambda data: meminfo.parse(data.decode("utf-8", "replace")), text)
    if isinstance(info, meminfo.MemInfo):
        assert all(value is None or value >= 0 for value in info.values_bytes)


@pytest.mark.kernel
def test_the_real_kernel_has_memory() -> None:
    info = meminfo.read(Host())
    assert info is not None
    assert (info.value_bytes("MemTotal") or 0) > 1 << 20
