"""/proc/net/softnet_stat: packets each core took off the network, dropped, and ran out of time for.

Only online cores have a line, so the line number is not the core. The 13th column says which core
it is; kernels before it was added are read with the list of online cores beside them, in its order.
All columns are 32-bit and wrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.sources.scan import core_list, core_names

PATH = "proc/net/softnet_stat"
_ONLINE = "devices/system/cpu/online"

# Name and 0-based column. Columns 3 to 8 have long been 0; new ones (11 and 12 in 5.10, later 13
# and 14, which only split 11) are added at the end, so they are told by their number.
COLUMNS = (
    ("processed", 0),
    ("dropped", 1),
    ("squeezed", 2),
    ("received_rps", 9),
    ("flow_limited", 10),
    ("backlog", 11),
)
_CORE_COLUMN = 12
_NEEDED_COLUMNS = 9


class SoftNet(Struct, frozen=True):
    cores: tuple[int, ...]
    columns: I64
    """Shape (cores, columns of this kernel)."""


def read(host: Host) -> SoftNet | None:
    data = read_bytes(f"{host.proc}/net/softnet_stat")
    if data is None:
        return None
    # Without a column that says it, the order of the online cores is all there is.
    online = "" if _has_core_column(data) else host.read_sys(_ONLINE) or ""
    return parse(data, core_list(online, f"sys/{_ONLINE}"))


def parse(text: bytes, online: Sequence[int] = ()) -> SoftNet:
    rows = text.count(b"\n")
    width = text.find(b"\n") + 1
    # Every value is 8 hex digits and one space or newline: the size proves the shape.
    if rows == 0 or width % 9 or len(text) != rows * width or width < _NEEDED_COLUMNS * 9:
        raise ParseError(PATH, 1, "lines of 8-digit hex columns, all of one length")
    grid = np.frombuffer(text, np.uint8).reshape(rows, width // 9, 9)
    gaps = grid[:, :, 8]
    if np.any(gaps[:, :-1] != ord(" ")) or np.any(gaps[:, -1] != ord("\n")):
        raise ParseError(PATH, 1, "a space after each column")
    try:
        raw = bytes.fromhex(grid[:, :, :8].tobytes().decode("ascii"))
    except ValueError:
        raise ParseError(PATH, 1, "hex digits") from None
    if len(raw) != grid.shape[0] * grid.shape[1] * 4:  # fromhex skips blanks
        raise ParseError(PATH, 1, "8 hex digits in each column")
    columns = np.frombuffer(raw, ">u4").astype(np.int64).reshape(rows, -1)
    if columns.shape[1] > _CORE_COLUMN:
        cores = tuple(columns[:, _CORE_COLUMN].tolist())
    elif online and len(online) != rows:
        raise ParseError(PATH, rows, f"a line for each of {len(online)} online cores")
    else:
        cores = tuple(online) or tuple(range(rows))
    if len(set(cores)) != rows:
        raise ParseError(PATH, 1, "each core once")
    return SoftNet(cores, columns)


def readings(softnet: SoftNet) -> tuple[Reading, ...]:
    instances = core_names(softnet.cores)
    by_column = np.ascontiguousarray(softnet.columns.T)
    return tuple(
        Reading(f"softnet.{name}", instances, by_column[column])
        for name, column in COLUMNS
        if column < len(by_column)
    )


def _has_core_column(text: bytes) -> bool:
    return (text.find(b"\n") + 1) // 9 > _CORE_COLUMN
