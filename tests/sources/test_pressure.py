"""/proc/pressure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import pressure
from exhume.sources.pressure import Pressure
from tests.sources.garble import garbled, survives
from tests.sources.trees import PRESSURE, Machine, Tree


def test_totals_are_by_resource_and_irq_has_no_some(tmp_path: Path) -> None:
    found = pressure.read(Tree(tmp_path, Machine(2)).build().host)
    assert found is not None
    assert found["cpu"] == Pressure(58650769, 1234)
    assert found["irq"] == Pressure(None, 1234)
    fields = [reading.field for reading in pressure.readings(found)]
    assert "pressure.irq.full_us" in fields
    assert "pressure.irq.some_us" not in fields


def test_a_kernel_without_pressure_gives_none(tmp_path: Path) -> None:
    assert pressure.read(Tree(tmp_path, Machine(2, is_old=True)).build().host) is None


@pytest.mark.parametrize("text", ["", "\n", "most total=5\n", "some avg10=1\n", "some total=x\n"])
def test_what_is_no_pressure_file_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="proc/pressure/cpu"):
        pressure.parse(text, "cpu")


@given(garbled(PRESSURE.encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(lambda data: pressure.parse(data.decode("utf-8", "replace"), "cpu"), text)


@pytest.mark.kernel
def test_the_real_kernel_has_pressure() -> None:
    found = pressure.read(Host())
    if found is None:
        pytest.skip("booted without psi=1")
    assert "cpu" in found
