"""The feature sections of perf.data: which machine, which command, which build ids, which clocks.

Layouts: tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c. In a file
they lie behind the data, in a pipe they come as records; what is inside is the same.
"""

from __future__ import annotations

import ctypes
import struct
from enum import IntEnum

from msgspec import Struct, field

from exhume.perf.attr import Attr

MAX_SECTION_BYTES = 64 << 20
_MAX_EVENTS = 4096
_MAX_IDS = 1 << 20
# perf_event_header.misc of a build id that tells its own length (perf 5.12 on).
_MISC_BUILD_ID_SIZE = 1 << 15
_BUILD_ID_BYTES = 20
_NEVER_NS = 1 << 62
"""The year 2116: half of what differences of times may be."""


class Feature(IntEnum):
    BUILD_ID = 2
    HOSTNAME = 3
    OSRELEASE = 4
    VERSION = 5
    ARCH = 6
    NRCPUS = 7
    CMDLINE = 11
    EVENT_DESC = 12
    SAMPLE_TIME = 21
    CLOCKID = 23
    DIR_FORMAT = 24
    COMPRESSED = 27
    CLOCK_DATA = 29


class EventDescription(Struct, frozen=True):
    """An event as `perf record` was told to record it."""

    name: str
    attr: Attr
    ids: tuple[int, ...]


class ClockReading(Struct, frozen=True):
    """Two clocks at one instant, read by `perf record -k`."""

    clock_id: int
    wall_ns: int
    clock_ns: int


class Features(Struct):
    """Grows as sections are read; empty where the file does not say."""

    hostname: str = ""
    release: str = ""
    version: str = ""
    architecture: str = ""
    cores: int | None = None
    """Those on line."""
    numbered_cores: int | None = None
    """How many there are, from 0 on, where all of them are on line."""
    command: tuple[str, ...] = ()
    events: tuple[EventDescription, ...] = ()
    build_ids: dict[str, bytes] = field(default_factory=dict)
    """By path, the kernel's as `[kernel.kallsyms]`; of several at one path the first."""
    same_path: dict[str, list[bytes]] = field(default_factory=dict)
    """All of them, in the file's order: containers have other files at the same path."""
    sample_time: tuple[int, int] | None = None
    """First and last, as perf saw them."""
    clock: ClockReading | None = None
    is_directory: bool = False
    """Of `perf record --threads`: what the threads wrote lies beside it."""
    is_compressed: bool = False

    def add(self, number: int, data: bytes) -> None:
        """ValueError where a section is not what its number says. Others are passed over."""
        try:
            self._add(number, data)
        except (struct.error, IndexError, OverflowError) as error:
            raise ValueError(f"section {number} of the header is cut off or damaged") from error

    def _add(self, number: int, data: bytes) -> None:
        match number:
            case Feature.HOSTNAME:
                self.hostname = _string(data, 0)[0]
            case Feature.OSRELEASE:
                self.release = _string(data, 0)[0]
            case Feature.VERSION:
                self.version = _string(data, 0)[0]
            case Feature.ARCH:
                self.architecture = _string(data, 0)[0]
            case Feature.NRCPUS:
                present, self.cores = struct.unpack_from("<II", data)
                self.numbered_cores = present if present == self.cores else None
            case Feature.CMDLINE:
                self.command = _strings(data)
            case Feature.EVENT_DESC:
                self.events = _events(data)
            case Feature.BUILD_ID:
                self.add_build_ids(data)
            case Feature.SAMPLE_TIME:
                self.sample_time = struct.unpack_from("<QQ", data)
            case Feature.DIR_FORMAT:
                self.is_directory = True
            case Feature.COMPRESSED:
                self.is_compressed = True
            case Feature.CLOCK_DATA:
                version, clock_id, wall, clock = struct.unpack_from("<IIQQ", data)
                if max(wall, clock) >= _NEVER_NS:
                    raise OverflowError
                if version == 1:
                    self.clock = ClockReading(clock_id, wall, clock)

    def cut_off(self) -> str:
        """What it means that no more of the sections is there."""
        unknown = [] if self.hostname else ["which machine it is of"]
        unknown += [] if self.command else ["by which command it was made"]
        unknown += [] if self.clock else ["what its clock means"]
        lacks = f": it does not say {', '.join(unknown)}; --name and --offset tell"
        return "what stands behind its data is cut off" + (lacks if unknown else "")

    def add_build_ids(self, data: bytes) -> None:
        """Records of (header, pid, build id, path), one after the other."""
        at = 0
        while at + 36 <= len(data):
            _, misc, size = struct.unpack_from("<IHH", data, at)
            if size < 36:
                break
            length = data[at + 12 + _BUILD_ID_BYTES] if misc & _MISC_BUILD_ID_SIZE else 0
            build_id = data[at + 12 : at + 12 + min(length or _BUILD_ID_BYTES, _BUILD_ID_BYTES)]
            path = data[at + 36 : at + size].split(b"\0", 1)[0].decode("utf-8", "replace")
            if path and any(build_id):
                # Kernel and guest may both be there; the kernel's own comes first.
                self.build_ids.setdefault(path, build_id)
                self.same_path.setdefault(path, []).append(build_id)
            at += size


def _string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, at)
    if length > len(data) - at - 4:
        raise IndexError("string")
    text = data[at + 4 : at + 4 + length].split(b"\0", 1)[0]
    return text.decode("utf-8", "replace"), at + 4 + length


def _strings(data: bytes) -> tuple[str, ...]:
    (count,) = struct.unpack_from("<I", data)
    found, at = [], 4
    for _ in range(min(count, len(data) // 4)):
        text, at = _string(data, at)
        found.append(text)
    return tuple(found)


def _events(data: bytes) -> tuple[EventDescription, ...]:
    count, attr_bytes = struct.unpack_from("<II", data)
    found, at = [], 8
    for _ in range(min(count, _MAX_EVENTS)):
        attr = attr_of(data[at : at + attr_bytes])
        at += attr_bytes
        (ids,) = struct.unpack_from("<I", data, at)
        name, at = _string(data, at + 4)
        if ids > _MAX_IDS:
            raise IndexError("ids")
        found.append(EventDescription(name, attr, struct.unpack_from(f"<{ids}Q", data, at)))
        at += 8 * ids
    return tuple(found)


def attr_of(data: bytes) -> Attr:
    """perf_event_attr of any age: what it lacks is zero, what we don't know is left out."""
    if len(data) < 48:
        raise IndexError("attr")
    size = ctypes.sizeof(Attr)
    return Attr.from_buffer_copy(data[:size].ljust(size, b"\0"))
