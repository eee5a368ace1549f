"""/proc/net/softnet_stat."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import softnet
from tests.sources.garble import garbled, survives
from tests.sources.trees import SIZES, Machine, Tree
from tests.sources.trees import softnet as text_of


@pytest.mark.parametrize("cores", SIZES)
def test_the_core_column_tells_which_core_a_line_is_of(tmp_path: Path, cores: int) -> None:
    machine = Machine(cores, offline=(1,))
    found = softnet.read(Tree(tmp_path, machine).build().host)
    assert found is not None
    assert found.cores == machine.online
    readings = {reading.field: reading for reading in softnet.readings(found)}
    assert readings["softnet.processed"].instances[-1] == str(machine.online[-1])
    assert readings["softnet.processed"].values[-1] == machine.online[-1] + 10
    assert readings["softnet.squeezed"].values[0] == 2
    assert readings["softnet.backlog"].values[0] == 5


def test_an_old_kernel_is_read_in_the_order_of_its_online_cores(tmp_path: Path) -> None:
    machine = Machine(8, offline=(0, 3), is_old=True)
    found = softnet.read(Tree(tmp_path, machine).build().host)
    assert found is not None
    assert found.cores == machine.online
    assert "softnet.backlog" not in {reading.field for reading in softnet.readings(found)}


def test_a_core_going_away_between_the_two_files_is_an_error_not_a_guess() -> None:
    with pytest.raises(ParseError, match="online cores"):
        softnet.parse(text_of(Machine(4, is_old=True)).encode(), online=(0, 1, 2))


@pytest.mark.parametrize("text", [b"", b"\n", b"0000 0001\n", b"0000000g " * 10 + b"\n"])
def test_what_is_no_hex_table_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="softnet_stat"):
        softnet.parse(text)


def test_blanks_inside_a_number_are_not_skipped_over() -> None:
    text = text_of(Machine(1)).encode()
    with pytest.raises(ParseError):
        softnet.parse(b" " + text[1:])


@given(garbled(text_of(Machine(3)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    found = survives(softnet.parse, text)
    if isinstance(found, softnet.SoftNet):
        assert len(found.cores) == len(found.columns) == len(set(found.cores))


@pytest.mark.kernel
def test_the_real_kernel_lists_its_online_cores() -> None:
    found = softnet.read(Host())
    if found is None:
        pytest.skip("this kernel has no softnet_stat")
    assert found.columns[:, 0].sum() > 0
