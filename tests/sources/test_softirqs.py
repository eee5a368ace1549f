"""/proc/softirqs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import softirqs
from tests.sources.garble import garbled, survives
from tests.sources.trees import SIZES, Machine, Tree
from tests.sources.trees import softirqs as text_of


@pytest.mark.parametrize("cores", SIZES)
def test_counts_are_by_name_and_core(tmp_path: Path, cores: int) -> None:
    found = softirqs.read(Tree(tmp_path, Machine(cores)).build().host)
    assert found is not None
    assert found.cores == tuple(range(cores))
    assert found.counts[found.names.index("NET_RX"), 1] == 3001
    readings = {reading.field: reading for reading in softirqs.readings(found)}
    assert readings["softirq.net_rx"].values[:2].tolist() == [3000, 3001]
    assert len(readings) == 10


def test_the_old_name_of_a_softirq_is_recorded_under_the_new_one() -> None:
    found = softirqs.parse(text_of(Machine(2, is_old=True)).encode())
    assert "softirq.irq_poll" in {reading.field for reading in softirqs.readings(found)}


def test_columns_are_found_by_their_header_not_by_their_place() -> None:
    found = softirqs.parse(b"    CPU1  CPU7\n NET_RX: 5 6\n")
    assert found.cores == (1, 7)
    assert softirqs.readings(found)[0].instances == ("1", "7")


@pytest.mark.parametrize(
    "text",
    [b"", b"CPU0 CPU1\n", b"CPU1 CPU0\nHI: 1 2\n", b"CPU0 CPU1\nHI: 1\n", b"CPU0\nHI 1\n"],
)
def test_a_header_or_line_that_makes_no_sense_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="proc/softirqs"):
        softirqs.parse(text)


@given(garbled(text_of(Machine(3)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    found = survives(softirqs.parse, text)
    if isinstance(found, softirqs.SoftIrqs):
        assert found.counts.shape == (len(found.names), len(found.cores))
        assert found.counts.min() >= 0


@pytest.mark.kernel
def test_the_real_kernel_has_network_softirqs() -> None:
    found = softirqs.read(Host())
    assert found is not None
    assert {"NET_RX", "NET_TX", "TIMER"} <= set(found.names)
