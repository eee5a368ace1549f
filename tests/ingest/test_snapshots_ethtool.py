"""`ethtool -S` in a loop."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.ingest.recognise import recognise
from exhume.ingest.snapshots_ethtool import interface_of, readings
from exhume.ingest.streams import Source
from exhume.model.series import MISSING
from tests.ingest import made
from tests.ingest.test_snapshots import mark, read, values

ENA = """NIC statistics:
     total_resets: {0}
     rx_bytes: 17
     bw_in_allowance_exceeded: {1}
     ena_admin_q_pause: 18446744073709551615
     [0]: rx_discard_packets: 3
"""


def test_what_a_driver_counts_comes_under_its_interface(tmp_path: Path) -> None:
    copies = [f"{mark(n)}# ethtool -S ens5\n{ENA.format(n, 40 - n)}" for n in range(3)]
    path = Path(made.write(tmp_path / "nic.log", "".join(copies)))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copies"
    counted = values(read(tmp_path, "".join(copies)), "nic.stat")
    assert counted["ens5 total_resets"] == [0, 1, 2]
    assert counted["ens5 bw_in_allowance_exceeded"] == [40, 39, 38]
    assert counted["ens5 ena_admin_q_pause"] == [MISSING] * 3
    assert counted["ens5 [0]: rx_discard_packets"] == [3] * 3
    assert "ens5 rx_bytes" not in counted  # as the recorder has it


def test_of_several_without_a_name_nobody_knows_which_is_which(tmp_path: Path) -> None:
    one = ENA.format(1, 2)
    assert "nic total_resets" in values(read(tmp_path, mark(0) + one), "nic.stat")
    pieces = read(tmp_path, mark(0) + one + "\n" + one)
    assert pieces[-1].facts is not None
    assert "2 of ethtool -S passed over" in pieces[-1].facts.notes[-1]


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("# ethtool -S eth0", "eth0"), ("/sbin/ethtool -S ens5 | grep exceeded", "ens5"),
        (" ethtool_-S_enp1s0f0np0", "enp1s0f0np0"), (" ethtool-eth1.log", "eth1"),
        (" gpu-7.txt", ""), ("ethtool", ""),
    ],
)  # fmt: skip
def test_the_command_or_the_files_name_tells_the_interface(hint: str, name: str) -> None:
    assert interface_of(hint) == name


def test_a_table_that_was_cut_after_its_first_line_is_told(tmp_path: Path) -> None:
    pieces = read(tmp_path, f"{mark(0)}NIC statistics:\n{mark(1)}{ENA.format(1, 2)}")
    assert pieces[-1].facts is not None
    assert "ethtool -S" in pieces[-1].facts.problems[0]


@given(st.lists(st.sampled_from(("NIC statistics:", "     a_drops: 1", ":", " ", "9" * 30, "\n"))))
def test_any_table_is_read_or_refused(parts: list[str]) -> None:
    with suppress(ParseError):
        readings("".join(parts).encode(), "eth0")
