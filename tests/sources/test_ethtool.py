"""Driver counters."""

from __future__ import annotations

import ctypes
import errno
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.series import MISSING
from exhume.sources import ethtool
from exhume.sources.ethtool import EthtoolReader
from tests.sources.trees import Machine, Tree


class FakeDriver(Struct):
    """Answers as the kernel does, in place."""

    stats: dict[str, int] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)
    grows: bool = False

    def __call__(self, interface: str, buffer: ctypes.Array[ctypes.c_char]) -> None:
        (command,) = struct.unpack_from("=I", buffer.raw)
        self.calls.append(command)
        if interface != "eth0":
            raise OSError(errno.EOPNOTSUPP, "not supported")
        if command == 0x37:
            struct.pack_into("=IIQI", buffer, 0, command, 0, 2, len(self.stats))
        elif command == 0x1B:
            names = b"".join(name.encode().ljust(32, b"\0") for name in self.stats)
            ctypes.memmove(ctypes.byref(buffer, 12), names, len(names))
        elif command == 0x1D:
            count = len(self.stats) + self.grows
            struct.pack_into(
                f"=II{len(self.stats)}Q", buffer, 0, command, count, *self.stats.values()
            )
        elif command == 0x03:
            strings = (b"ena", b"2.13.2g", b"", b"0000:00:05.0")
            fixed = b"".join(one.ljust(32, b"\0") for one in strings)
            ctypes.memmove(ctypes.byref(buffer, 4), fixed, len(fixed))


STATS = {
    "tx_timeout": 3,
    "suspected_poll_starvation": 2,
    "bw_in_allowance_exceeded": 7,
    "conntrack_allowance_available": 136812,
    "queue_5_tx_missed_tx": 4,
    "queue_5_tx_queue_stop": 1,
    "queue_5_tx_cnt": 123456,
    "unsupported_drops": (1 << 64) - 1,
}


def test_counters_are_read_by_name_and_the_telling_ones_recorded(tmp_path: Path) -> None:
    reader = EthtoolReader(Tree(tmp_path, Machine(2)).build().host, FakeDriver(STATS))
    stats = reader.read()
    assert stats is not None
    assert stats[0].interface == "eth0"
    assert stats[0].values[0] == 3
    readings = {reading.field: reading for reading in ethtool.readings(stats)}
    recorded = dict(zip(readings["nic.stat"].instances, readings["nic.stat"].values, strict=True))
    assert recorded == {
        "eth0 tx_timeout": 3,
        "eth0 suspected_poll_starvation": 2,
        "eth0 bw_in_allowance_exceeded": 7,
        "eth0 queue_5_tx_missed_tx": 4,
        "eth0 queue_5_tx_queue_stop": 1,
        "eth0 unsupported_drops": MISSING,
    }
    assert readings["nic.level"].instances == ("eth0 conntrack_allowance_available",)


def test_names_are_asked_for_once_and_again_when_queues_were_added(tmp_path: Path) -> None:
    driver = FakeDriver(dict(STATS))
    reader = EthtoolReader(Tree(tmp_path, Machine(2)).build().host, driver)
    reader.read()
    reader.read()
    assert driver.calls.count(0x1B) == 1
    driver.stats["queue_9_tx_missed_tx"] = 1
    stats = reader.read()
    assert stats is not None
    assert stats[0].names[-1] == "queue_9_tx_missed_tx"
    assert driver.calls.count(0x1B) == 2


def test_counters_that_change_under_our_hands_are_left_out(tmp_path: Path) -> None:
    driver = FakeDriver(dict(STATS), grows=True)
    assert EthtoolReader(Tree(tmp_path, Machine(2)).build().host, driver).read() is None


def test_the_names_the_facts_list_are_all_recorded() -> None:
    """facts/node-facts.md 1.2."""
    names = """tx_timeout wd_expired admin_q_pause suspend resume interface_up interface_down
    reset_fail total_resets suspected_poll_starvation os_netdev_wd missing_intr missing_tx_cmpl
    bad_tx_req_id bad_rx_req_id bad_rx_desc_num rx_desc_malformed tx_desc_malformed invalid_state
    missing_admin_interrupt admin_to device_request_reset missing_first_intr
    bw_in_allowance_exceeded bw_out_allowance_exceeded pps_allowance_exceeded
    conntrack_allowance_exceeded linklocal_allowance_exceeded ena_srd_mode queue_5_tx_missed_tx
    queue_5_tx_queue_stop queue_5_tx_queue_wakeup queue_5_tx_unmask_interrupt
    queue_5_tx_lost_interrupt queue_5_tx_bad_req_id queue_5_tx_dma_mapping_err
    queue_5_rx_empty_rx_ring queue_5_rx_page_alloc_fail queue_5_rx_skb_alloc_fail
    queue_5_rx_refil_partial rx_overruns tx_queue_stopped rx_out_of_buffer rx_missed_errors"""
    assert [name for name in names.split() if not ethtool.RECORDED.search(name)] == []
    assert ethtool.GAUGES.search("queue_5_tx_pending_timedout_pkts")


def test_who_drives_an_interface() -> None:
    driver = ethtool.read_driver("eth0", FakeDriver())
    assert driver is not None
    assert (driver.driver, driver.version, driver.bus) == ("ena", "2.13.2g", "0000:00:05.0")
    assert ethtool.read_driver("lo", FakeDriver()) is None


@given(st.binary(max_size=300), st.integers(0, 20))
def test_garbage_is_a_parse_error_or_well_formed(data: bytes, count: int) -> None:
    for parse in (ethtool.parse_names, ethtool.parse_values):
        try:
            assert len(parse(data, count)) == count
        except ParseError:
            assert len(data) < count * 32
    try:
        ethtool.parse_driver("eth0", data)
    except ParseError:
        assert len(data) < 132


@pytest.mark.kernel
def test_the_real_card_can_be_asked() -> None:
    stats = EthtoolReader(Host()).read()
    if stats is None:
        pytest.skip("no network card with counters here")
    driver = ethtool.read_driver(stats[0].interface)
    assert driver is not None
    assert driver.driver
    assert len(stats[0].names) == len(stats[0].values) > 0
