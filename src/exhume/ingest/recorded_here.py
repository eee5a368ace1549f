"""Was a capture made on this machine? Then its files and its kernel give names."""

from __future__ import annotations

from collections.abc import Iterable

from exhume.host import Host
from exhume.perf.datafeatures import Features
from exhume.perf.records import FileIdentity

_ENOUGH_FILES = 2


def is_recorded_here(host: Host, features: Features, files: Iterable[FileIdentity] = ()) -> bool:
    """By its host, or where it was never closed and does not say it, by the files it mapped."""
    if features.hostname:
        is_same_host = features.hostname == host.hostname()
        return is_same_host and features.release == host.kernel_release()
    found = [is_there for one in files if (is_there := _is_there(host, one)) is not None]
    # Some may have been replaced since, and those of containers lie elsewhere.
    return sum(found) >= _ENOUGH_FILES and 2 * sum(found) > len(found)


def _is_there(host: Host, file: FileIdentity) -> bool | None:
    """Is it the file of that name here? None where there is none, or nothing to tell it by.

    Not by its device: what the kernel writes is not what stat(2) says, on btrfs for one.
    """
    inode = file.device_inode[2]
    if not inode or not file.path.startswith("/"):
        return None
    try:
        return (host.root / file.path.lstrip("/")).stat().st_ino == inode
    except (OSError, ValueError):
        return None
