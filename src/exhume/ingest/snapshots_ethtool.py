"""`ethtool -S eth0`, again and again: what a network driver counts, as the recorder asks it.

NIC statistics:
     tx_timeout: 0
     bw_in_allowance_exceeded: 17
     [0]: rx_ucast_packets: 9          of bnxt_en
"""

from __future__ import annotations

import re

import numpy as np

from exhume.errors import ParseError
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.sources import ethtool

KIND = "ethtool -S"
_LINE = re.compile(rb"^[ \t]+(?P<name>\S.{0,127}?): {0,8}(?P<value>\d{1,20})[ \t]*$", re.MULTILINE)
# `ethtool -S eth0`, `ethtool_-S_eth0` of sosreport, `ethtool-eth0.log`
_INTERFACE = re.compile(
    r"ethtool(?:[ _.-]{1,3}(?:S|-statistics))?[ _.-]{1,3}(?P<name>[a-z][\w-]{0,14}?)"
    r"(?=$|[ \t|)]|\.(?:txt|log|out)\b)"
)
ANY = "nic"
"""Where nothing says which interface it is, and there is only one."""
_MOST = (1 << 63) - 1


def interface_of(hint: str) -> str:
    """By what stands above it, or the name of the file; empty where neither says."""
    found = _INTERFACE.search(hint)
    return found["name"] if found else ""


def readings(text: bytes, interface: str) -> tuple[Reading, ...]:
    found = [(one["name"].decode("utf-8", "replace"), int(one["value"])) for one in
             _LINE.finditer(text)]  # fmt: skip
    if not found:
        raise ParseError(KIND, 2, "`     name: number`")
    # All ones is how some drivers say that they don't count it.
    values = np.array([value if value <= _MOST else MISSING for _, value in found], np.int64)
    names = tuple(name for name, _ in found)
    return ethtool.readings((ethtool.NicStats(interface, names, values),))
