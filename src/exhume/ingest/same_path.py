"""Several files that were mapped by one path: which of a capture's build ids is whose.

Containers have their own /usr/lib/x86_64-linux-gnu/libc.so.6. The kernel tells of each mapping
which file it is by device and inode; perf's table of build ids has nothing but the path, once for
each of the files that a sample was in (tools/perf/util/build-id.c).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec import Struct

from exhume.perf.records import FileIdentity

Inode = tuple[int, int, int]
"""Device and inode. What perf makes up of /proc/PID/maps has no generation, other records do."""


def inode_of(file: FileIdentity) -> Inode:
    return file.device_inode[:3]


class Here(Struct, frozen=True):
    """The file that lies there on this machine, which is the one that was recorded."""

    inode: int
    build_id: bytes


def build_id_of(
    own: Inode, mapped: Set[Inode], told: Sequence[bytes], here: Here | None
) -> bytes | None:
    """Of the one of the `mapped` files that is `own`; None where that is not known, empty where
    the file here is the one and the table does not tell of it.

    Not by its device: what the kernel writes is not what stat(2) says, on btrfs for one.
    """
    different = set(told)
    if here is not None and own[2] == here.inode:
        return here.build_id if here.build_id in different else b""
    is_taken = here is not None and any(one[2] == here.inode for one in mapped)
    if here is not None and is_taken and told.count(here.build_id) == 1:
        different.discard(here.build_id)
    return different.pop() if len(different) == 1 else None
