"""Captures for the import bench: recorded here, then made as large as wanted."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from exhume.model.arrays import U8
from exhume.perf.attr import RecordType, SampleType
from exhume.perf.datafile import PerfData
from exhume.perf.datastream import UserRecord

_TRAILER = (
    SampleType.TID, SampleType.TIME, SampleType.ID, SampleType.CPU, SampleType.IDENTIFIER,
)  # fmt: skip
_BEFORE_TIME = (SampleType.IDENTIFIER, SampleType.IP, SampleType.TID)
_HEADER_DATA_SIZE_AT = 48


def repeated(path: Path, out: Path, times: int, gap_ns: int = 1_000_000, *, first: int = 0) -> None:
    """The same records again and again, each time later: what perf would have gone on to record.

    `first`: how often they came before. Of a file of `perf record` with one layout for all its
    events and a sample_id trailer.
    """
    raw = path.read_bytes()
    data_at, data_size = struct.unpack_from("<QQ", raw, _HEADER_DATA_SIZE_AT - 8)
    data = raw[data_at : data_at + data_size]
    sample_type = PerfData(lambda: path.open("rb"), str(path)).events[0].attr.sample_type
    again: U8 = np.frombuffer(_recorded_later(data, sample_type), np.uint8)
    places = np.array(_time_places(again.tobytes(), sample_type), np.int64)
    cells = places[:, None] + np.arange(8)
    times_ns = np.ascontiguousarray(again[cells]).view(np.uint64).reshape(-1)
    step = int(times_ns.max() - times_ns.min()) + gap_ns
    with open(out, "wb") as file:
        file.write(raw[:data_at] + (data if not first else _recorded_before(data, sample_type)))
        for number in range(max(1, first), first + times):
            copy = again.copy()
            moved = times_ns + np.uint64(number * step)
            copy[cells] = moved[:, None].view(np.uint8).reshape(-1, 8)
            file.write(copy.tobytes())
        end = file.tell()
        file.write(_features(raw, data_at + data_size, end - data_at - data_size))
        file.seek(_HEADER_DATA_SIZE_AT)
        file.write(struct.pack("<Q", end - data_at))


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    at = 0
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield at, kind, size
        at += size


def _recorded_later(data: bytes, sample_type: int) -> bytes:
    """Without what perf writes once: what was there before has the time 0."""
    kept = []
    for at, kind, size in _records(data):
        places = _places_of(at, kind, size, sample_type)
        is_new = any(data[place : place + 8] != bytes(8) for place in places)
        if is_new or kind == UserRecord.FINISHED_ROUND:
            kept.append(data[at : at + size])
    return b"".join(kept)


def _recorded_before(data: bytes, sample_type: int) -> bytes:
    """What perf writes once, at the start: what was there already."""
    kept = []
    for at, kind, size in _records(data):
        places = _places_of(at, kind, size, sample_type)
        if all(data[place : place + 8] == bytes(8) for place in places):
            kept.append(data[at : at + size])
    return b"".join(kept)


def _time_places(data: bytes, sample_type: int) -> list[int]:
    return [
        place
        for at, kind, size in _records(data)
        for place in _places_of(at, kind, size, sample_type)
    ]


def _places_of(at: int, kind: int, size: int, sample_type: int) -> list[int]:
    """Where in the data the times of a record stand."""
    if kind == RecordType.SAMPLE:
        return [at + 8 + 8 * sum(bool(sample_type & bit) for bit in _BEFORE_TIME)]
    if kind >= UserRecord.HEADER_ATTR:
        return []
    trailer = 8 * sum(bool(sample_type & bit) for bit in _TRAILER)
    own = [at + 24] if kind in (RecordType.FORK, RecordType.EXIT) else []
    return [*own, at + size - trailer + 8]


def _features(raw: bytes, at: int, moved: int) -> bytes:
    """The sections behind the data, with the table that tells where they are."""
    count = int.from_bytes(raw[72:104], "little").bit_count()
    sections = [struct.unpack_from("<QQ", raw, at + 16 * i) for i in range(count)]
    table = b"".join(struct.pack("<QQ", begin + moved, size) for begin, size in sections)
    return table + raw[at + 16 * count :]
