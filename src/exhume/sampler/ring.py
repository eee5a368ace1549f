"""The ring that the kernel writes one core's records into."""

from __future__ import annotations

import ctypes
import mmap
import os

from msgspec import Struct

from exhume.model.arrays import U8
from exhume.perf import native
from exhume.perf.rings import Place
from exhume.sampler.syscall import disable, enable, set_period

SMALLEST_BYTES = 64 << 10


class Ring(Struct):
    fd: int
    core: int
    data_bytes: int
    _memory: mmap.mmap
    _address: int

    @staticmethod
    def map(fd: int, core: int, data_bytes: int) -> Ring:
        """Map `data_bytes` (a power of two), or what RLIMIT_MEMLOCK allows of it."""
        while True:
            try:
                memory = mmap.mmap(fd, mmap.PAGESIZE + data_bytes)
                break
            except OSError as error:
                if not isinstance(error, PermissionError) or data_bytes <= SMALLEST_BYTES:
                    os.close(fd)
                    raise
                data_bytes //= 2
        # The mapping lives as long as the mmap object; a ctypes view would keep it from closing.
        view = (ctypes.c_char * 1).from_buffer(memory)
        address = ctypes.addressof(view)
        del view
        return Ring(fd, core, data_bytes, memory, address)

    @property
    def place(self) -> Place:
        return Place(self._address, self._address + mmap.PAGESIZE, self.data_bytes)

    def pending(self) -> int:
        return native.ring_pending(self._address)

    def read(self, out: U8) -> int:
        return native.ring_read(self._address, self._address + mmap.PAGESIZE, self.data_bytes, out)

    def enable(self) -> None:
        enable(self.fd)

    def disable(self) -> None:
        disable(self.fd)

    def set_period(self, period: int) -> None:
        set_period(self.fd, period)

    def close(self) -> None:
        self._memory.close()
        os.close(self.fd)
