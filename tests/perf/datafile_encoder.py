"""Writes perf.data as perf does, as a file and as a pipe: what the reader must read back.

Layout: tools/perf/Documentation/perf.data-file-format.txt. Numbers are spelled out here and not
imported from exhume, so that one wrong constant cannot hide on both sides.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import zstandard
from msgspec import Struct, field

from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Bit, Shape

HOSTNAME, OSRELEASE, ARCH, NRCPUS, CMDLINE = 3, 4, 6, 7, 11
BUILD_ID, EVENT_DESC, SAMPLE_TIME, CLOCK_DATA = 2, 12, 21, 29
FLAG_FREQ, FLAG_SAMPLE_ID_ALL, FLAG_COMM_EXEC = 1 << 10, 1 << 18, 1 << 24
FLAG_USE_CLOCKID = 1 << 25
BITS = int(Bit.IP | Bit.TID | Bit.TIME | Bit.CPU | Bit.PERIOD | Bit.CALLCHAIN)
SHAPE = Shape(BITS)
FINISHED_ROUND = enc.record(68, 0, b"")


class Event(Struct, frozen=True):
    shape: Shape = SHAPE
    type: int = 1
    config: int = 0
    value: int = 97
    """Frequency, or period where `flags` lack FREQ."""
    flags: int = FLAG_FREQ | FLAG_SAMPLE_ID_ALL | FLAG_COMM_EXEC
    ids: tuple[int, ...] = ()
    clock_id: int = 0
    attr_bytes: int = 128

    def attr(self) -> bytes:
        shape = self.shape
        full = struct.pack(
            "<IIQQQQQIIQQQQIiQ", self.type, self.attr_bytes, self.config, self.value,
            shape.sample_type, shape.read_format, self.flags, 0, 0, 0, 0, shape.branch_type,
            shape.regs_user, 0, self.clock_id, shape.regs_intr,
        )  # fmt: skip
        return full.ljust(self.attr_bytes, b"\0")[: self.attr_bytes]


class Capture(Struct, frozen=True):
    records: Sequence[bytes] = ()
    events: Sequence[Event] = (Event(),)
    features: Mapping[int, bytes] = field(default_factory=dict)

    def file(self, *, is_closed: bool = True) -> bytes:
        ids = b"".join(enc.words(*event.ids) for event in self.events)
        attr_size = max(len(event.attr()) for event in self.events) + 16
        attrs_at = 104 + len(ids)
        attrs, at = [], 104
        for event in self.events:
            own = 8 * len(event.ids)
            attrs.append(event.attr().ljust(attr_size - 16, b"\0") + enc.words(at, own))
            at += own
        data_at = attrs_at + len(b"".join(attrs))
        data = b"".join(self.records)
        bits = sum(1 << number for number in self.features) if is_closed else 0
        header = struct.pack(
            "<8s8Q", b"PERFILE2", 104, attr_size, attrs_at, data_at - attrs_at, data_at,
            len(data) if is_closed else 0, 0, 0,
        ) + bits.to_bytes(32, "little")  # fmt: skip
        behind = self._sections(data_at + len(data)) if is_closed else b""
        return header + ids + b"".join(attrs) + data + behind

    def injected(self) -> bytes:
        """As perf inject makes a file of a pipe, since 6.12: ids and attributes come last."""
        data = b"".join(self.records)
        behind = self._sections(104 + len(data))
        at = 104 + len(data) + len(behind)
        ids = b"".join(enc.words(*event.ids) for event in self.events)
        attrs_at, attr_size = at + len(ids), max(len(event.attr()) for event in self.events) + 16
        attrs = b""
        for event in self.events:
            attrs += event.attr().ljust(attr_size - 16, b"\0") + enc.words(at, 8 * len(event.ids))
            at += 8 * len(event.ids)
        header = struct.pack(
            "<8s8Q", b"PERFILE2", 104, attr_size, attrs_at, len(attrs), 104, len(data), 0, 0
        ) + sum(1 << number for number in self.features).to_bytes(32, "little")
        return header + data + behind + ids + attrs

    def _sections(self, at: int) -> bytes:
        numbers = sorted(self.features)
        begin = at + 16 * len(numbers)
        table, body = b"", b""
        for number in numbers:
            table += enc.words(begin + len(body), len(self.features[number]))
            body += self.features[number]
        return table + body

    def pipe(self) -> bytes:
        out = [struct.pack("<8sQ", b"PERFILE2", 16)]
        out += [enc.record(64, 0, e.attr() + enc.words(*e.ids)) for e in self.events]
        for number, data in self.features.items():
            out.append(enc.record(80, 0, enc.words(number) + data))
        return b"".join([*out, *self.records])


def string(text: str) -> bytes:
    data = text.encode() + b"\0"
    data += bytes(-len(data) % 64)
    return struct.pack("<I", len(data)) + data


def command(*words: str) -> bytes:
    return struct.pack("<I", len(words)) + b"".join(map(string, words))


def build_id(path: str, id_: bytes, *, tells_size: bool = True) -> bytes:
    name = path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    body = struct.pack("<i20sB3x", -1, id_, len(id_)) + name
    return struct.pack("<IHH", 67, (1 << 15) | 2 if tells_size else 2, 8 + len(body)) + body


def event_names(events: Sequence[tuple[str, Event]]) -> bytes:
    out = struct.pack("<II", len(events), len(events[0][1].attr()))
    for name, event in events:
        out += event.attr() + struct.pack("<I", len(event.ids)) + string(name)
        out += enc.words(*event.ids)
    return out


def clock_data(clock_id: int, wall_ns: int, clock_ns: int) -> bytes:
    return struct.pack("<IIQQ", 1, clock_id, wall_ns, clock_ns)


def compressed(data: bytes, portions: int, *, kind: int = 81) -> list[bytes]:
    """Records of one zstd stream. Each is flushed, as perf does, wherever its portion ends."""
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    step = max(1, -(-len(data) // portions))
    out = []
    for at in range(0, len(data), step):
        squeezed = stream.compress(data[at : at + step])
        squeezed += stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        if kind == 83:
            body = enc.words(len(squeezed)) + squeezed
            out.append(enc.record(83, 0, body + bytes(-len(body) % 8)))
        else:
            out.append(enc.record(81, 0, squeezed))
    return out


def old_mmap(
    shape: Shape,
    pid: int,
    start: int,
    length: int,
    offset: int,
    path: bytes,
    who: enc.Who = enc.NOBODY,
) -> bytes:
    """PERF_RECORD_MMAP, the first version."""
    name = path + bytes(8 - len(path) % 8)
    body = struct.pack("<iiQQQ", pid, pid, start, length, offset) + name
    misc = enc.MISC_KERNEL if pid == -1 else enc.MISC_USER
    return enc.record(1, misc, body + enc.trailer(shape, who))
