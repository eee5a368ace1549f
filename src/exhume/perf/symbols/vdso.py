"""[vdso]: the piece of code the kernel maps into every process. It has no file, but is an ELF."""

from __future__ import annotations

import os
import re

from exhume.host import Host

_LINE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$", re.MULTILINE)
_MAX_BYTES = 1 << 20


def read_own(host: Host) -> bytes | None:
    """Our own copy: the kernel has one for all 64-bit processes. None where there is none."""
    maps = host.read_proc("self/maps")
    found = _LINE.search(maps or "")
    if found is None:
        return None
    start, end = int(found[1], 16), int(found[2], 16)
    if not 0 < end - start <= _MAX_BYTES:
        return None
    try:
        fd = os.open(host.proc / "self" / "mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.pread(fd, end - start, start)
    except OSError:
        return None
    finally:
        os.close(fd)
