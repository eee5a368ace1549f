"""SIOCETHTOOL: what a network driver counts about itself (`ethtool -S`), and who it is.

ENA sends an admin command to the device for the allowance counters, so poll every 10 s at most.
Before ENA 2.16.0 the counters start anew after a device reset: a decrease is the mark of one.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import re
import socket
import struct
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.sources import interfaces

POLL_NS = 10_000_000_000

_SIOCETHTOOL = 0x8946
_GDRVINFO = 0x03
_GRINGPARAM = 0x10
_GSTRINGS = 0x1B
_GSTATS = 0x1D
_GSSET_INFO = 0x37
_STATS_SET = 1  # ETH_SS_STATS
_NAME_BYTES = 32
_MAX_STATS = 1 << 16
_SPARE_STATS = 1 << 12
"""The kernel writes as many values as the driver has *now*, whatever was asked for: leave room."""
_REFUSED = (errno.EOPNOTSUPP, errno.ENODEV, errno.EPERM, errno.EINVAL)

# Kept of the hundreds some drivers have: resets, stops, time-outs, drops, limits. ENA's names by
# version are in facts/node-facts.md 1.2; the rest are what other drivers call the same.
RECORDED = re.compile(
    r"reset|timeout|wd_expired|starvation|netdev_wd|allowance_exceeded|ena_srd|interface_(?:up|down)"
    r"|suspend|resume|admin_|missing_|missed_tx|timedout|lost_interrupt|invalid_state|malformed"
    r"|bad_(?:tx_|rx_)?(?:req_id|desc)|empty_rx_ring|_alloc_fail|refil_partial|unmask_interrupt"
    r"|queue_(?:\d+_tx_queue_)?(?:stop|wake)|tx_queue_(?:stop|wake)|_xdp_drop"
    r"|(?:^|_)drop(?:s|ped)?(?:$|_)|discard|overrun|out_of_buffer|no_buf|_err(?:or)?s?$|recover"
)
GAUGES = re.compile(r"allowance_available|pending")

Ioctl = Callable[[str, "ctypes.Array[ctypes.c_char]"], None]
"""Interface and command buffer, answered in place; OSError where the driver won't."""


class Driver(Struct, frozen=True):
    interface: str
    driver: str
    version: str
    firmware: str
    bus: str


class NicStats(Struct, frozen=True):
    interface: str
    names: tuple[str, ...]
    values: I64
    """MISSING where a driver answers all ones."""


class EthtoolReader(Struct):
    """The counters of every interface with hardware behind it. Names are asked for once."""

    host: Host
    ioctl: Ioctl | None = None
    _names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self) -> tuple[NicStats, ...] | None:
        """None where there is no such interface, or none has counters."""
        found = interfaces.read(self.host) or ()
        ask = self.ioctl or _system_ioctl
        stats = [_stats(one.name, self._names, ask) for one in found if one.device]
        return tuple(one for one in stats if one is not None) or None


def read_driver(interface: str, ioctl: Ioctl | None = None) -> Driver | None:
    buffer = ctypes.create_string_buffer(struct.pack("=I", _GDRVINFO), 196)
    if not _asked(ioctl or _system_ioctl, interface, buffer):
        return None
    return parse_driver(interface, buffer.raw)


def read_ring(interface: str, ioctl: Ioctl | None = None) -> tuple[int, int] | None:
    """How many descriptors the receive and the transmit ring have now."""
    buffer = ctypes.create_string_buffer(struct.pack("=I", _GRINGPARAM), 36)
    if not _asked(ioctl or _system_ioctl, interface, buffer):
        return None
    # The four largest possible sizes first, then the four in use: rx, rx mini, rx jumbo, tx.
    received, _, _, sent = struct.unpack_from("=4I", buffer.raw, 20)
    return received, sent


def parse_driver(interface: str, data: bytes) -> Driver:
    if len(data) < 4 + 4 * _NAME_BYTES:
        raise ParseError(f"ethtool of {interface}", "GDRVINFO", "196 bytes")
    driver, version, firmware, bus = (
        _string(data[4 + i * _NAME_BYTES : 4 + (i + 1) * _NAME_BYTES]) for i in range(4)
    )
    return Driver(interface, driver, version, firmware, bus)


def parse_names(data: bytes, count: int) -> tuple[str, ...]:
    if len(data) < count * _NAME_BYTES:
        raise ParseError("ethtool", "GSTRINGS", f"{count} names of {_NAME_BYTES} bytes")
    pieces = (data[i * _NAME_BYTES : (i + 1) * _NAME_BYTES] for i in range(count))
    return tuple(_string(piece) for piece in pieces)


def parse_values(data: bytes, count: int) -> I64:
    if len(data) < count * 8:
        raise ParseError("ethtool", "GSTATS", f"{count} values of 8 bytes")
    # All ones is how some drivers say "not supported"; as int64 it is -1, like anything negative.
    values = np.frombuffer(data, np.int64, count).copy()
    values[values < 0] = MISSING
    return values


def readings(stats: tuple[NicStats, ...]) -> tuple[Reading, ...]:
    counters: dict[str, int] = {}
    gauges: dict[str, int] = {}
    for nic in stats:
        values = nic.values.tolist()
        for kept, places in zip((counters, gauges), _kept(nic.names), strict=True):
            kept.update((f"{nic.interface} {nic.names[at]}", values[at]) for at in places)
    found = (("nic.stat", counters), ("nic.level", gauges))
    return tuple(
        Reading(field_id, tuple(values), np.array(list(values.values()), np.int64))
        for field_id, values in found
        if values
    )


@lru_cache(maxsize=64)
def _kept(names: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which of a driver's hundreds of counters are recorded, and which of its levels."""
    gauges = tuple(at for at, name in enumerate(names) if GAUGES.search(name))
    rest = set(range(len(names))) - set(gauges)
    return tuple(at for at in sorted(rest) if RECORDED.search(names[at])), gauges


def _stats(interface: str, known: dict[str, tuple[str, ...]], ask: Ioctl) -> NicStats | None:
    buffer = ctypes.create_string_buffer(struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATS_SET, 0))
    if not _asked(ask, interface, buffer):
        return None
    _, _, mask, count = struct.unpack_from("=IIQI", buffer.raw)
    if not mask & (1 << _STATS_SET) or not 0 < count <= _MAX_STATS:
        return None
    if len(known.get(interface, ())) != count:  # queues were added or taken away
        size = 12 + (count + _SPARE_STATS) * _NAME_BYTES
        strings = ctypes.create_string_buffer(struct.pack("=III", _GSTRINGS, 1, count), size)
        if not _asked(ask, interface, strings):
            return None
        known[interface] = parse_names(strings.raw[12:], count)
    size = 8 + (count + _SPARE_STATS) * 8
    values = ctypes.create_string_buffer(struct.pack("=II", _GSTATS, count), size)
    if not _asked(ask, interface, values):
        return None
    (now,) = struct.unpack_from("=I", values.raw, 4)
    if now != count:  # changed between the two calls: names and values no longer agree
        known.pop(interface)
        return None
    return NicStats(interface, known[interface], parse_values(values.raw[8:], count))


def _asked(ask: Ioctl, interface: str, buffer: ctypes.Array[ctypes.c_char]) -> bool:
    try:
        ask(interface, buffer)
    except OSError as error:
        if error.errno in _REFUSED:
            return False
        raise
    return True


def _system_ioctl(interface: str, buffer: ctypes.Array[ctypes.c_char]) -> None:
    request = struct.pack("16sP", interface.encode()[:15], ctypes.addressof(buffer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCETHTOOL, request.ljust(40, b"\0"))


def _string(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")
