"""perf.data, as a file or as a pipe was written to one: its header, its events, its records.

file: "PERFILE2" size attr_size {attrs} {data} {event_types} features[256 bits]
      ids, attrs, data, features; where perf inject makes a file of a pipe (since 6.12) ids and
      attrs come last
pipe: "PERFILE2" 16, then records; events and features come as records too
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from msgspec import Struct

from exhume.errors import ParseError
from exhume.perf.attr import Attr, Flag, SampleType
from exhume.perf.datafeatures import MAX_SECTION_BYTES, Features, attr_of
from exhume.perf.datastream import Readable, RecordStream, Special, UserRecord
from exhume.perf.eventnames import attr_name
from exhume.perf.forward import read, skip
from exhume.perf.native import Gathering, Walked, Walker

MAGICS = (b"PERFILE2", b"PERFFILE")
"""The second is of the first perf versions; all that we read of it is the same."""
SWAPPED_MAGICS = (b"2ELIFREP", b"ELIFFREP")
_HEADER = struct.Struct("<8sQQQQQQQQ32s")
_PIPE_HEADER_BYTES = 16
_SECTION = struct.Struct("<QQ")
_MAX_ATTRS = 1 << 16
_EVENT_UPDATE_NAME = 2
_BRANCH_CALL_STACK = 1 << 11
CHUNK_BYTES = 16 << 20
"""Of records that are handed on together: of fewer the same is named more often."""
DUMPS_CHUNK_BYTES = 8 << 20
"""Where stacks come as copies of memory, which are kept until they can be unwound."""
STEP_BYTES = 1 << 20
"""Read at a time, and walked: what the processor's cache holds."""
_LEAST_CHUNK_BYTES = 1 << 16
# arch/x86/include/uapi/asm/perf_regs.h; perf asks for all but segment registers that are not used.
_REGS_X86_64 = 0xFF0FFF
_IP, _SP, _BP = 8, 7, 6
_UNWIND_REGS = 1 << _IP | 1 << _SP | 1 << _BP
_DUMP_REGS = _IP | _SP << 8 | _BP << 16
_PASSING = 0.125
"""To pass over samples takes so much of the time that it takes to name them."""

Opener = Callable[[], BinaryIO]


class PerfEvent(Struct, frozen=True):
    name: str
    attr: Attr
    ids: tuple[int, ...]


class Share(Struct, frozen=True):
    """What one of several processes takes of a file that they read at once.

    A stretch of its samples. All else it reads from the start on: who was who is told only once.
    """

    number: int = 0
    of: int = 1

    @property
    def is_last(self) -> bool:
        return self.number == self.of - 1

    def cuts(self, begin: int, end: int) -> tuple[int, ...]:
        """Where the stretches of all end, but for the last: so that all take as long.

        Who comes later has to pass over what the others take, and takes less.
        """
        sizes = [(1 - _PASSING) ** number for number in range(self.of)]
        return tuple(
            begin + int((end - begin) * (sum(sizes[:number]) / sum(sizes)))
            for number in range(1, self.of)
        )


WHOLE = Share()


class PerfData:
    """Reads the stream twice: what stands behind the data first, then the data."""

    def __init__(self, opener: Opener, path: str, beside: int = 0) -> None:
        """`beside`: so many processes read others at the same time."""
        self._opener = opener
        self._path = path
        self._beside = beside
        self.features = Features()
        self.events: list[PerfEvent] = []
        self.problems: list[str] = []
        self.is_pipe = self.is_cut = False
        self._data: tuple[int, int | None] = (0, None)
        with opener() as stream:
            self._read_header(stream)

    @property
    def is_in_parts(self) -> bool:
        """What the threads of `perf record --threads` wrote lies beside it, or may."""
        is_open = not self.is_pipe and self._data[1] is None  # what it is, is written last
        return self.features.is_directory or is_open

    @property
    def tells_exec(self) -> bool:
        """Since 3.16 a COMM record says whether it comes from an exec."""
        return any(event.attr.flags & Flag.COMM_EXEC for event in self.events)

    @property
    def is_overwritten(self) -> bool:
        """`--overwrite`: of each buffer there is what it held last, however old that is."""
        return any(event.attr.flags & Flag.WRITE_BACKWARD for event in self.events)

    @property
    def has_copies(self) -> bool:
        """Copies of programs' stacks instead of call chains, whether they can be unwound or not."""
        return any(event.attr.sample_type & SampleType.STACK_USER for event in self.events)

    @property
    def has_deferred(self) -> bool:
        """Call chains of programs that come in records of their own, after their samples."""
        return any(event.attr.flags & Flag.DEFER_CALLCHAIN for event in self.events)

    @property
    def has_kept_calls(self) -> bool:
        """Of programs the calls that the processor kept, instead of call chains."""
        return any(event.attr.branch_sample_type & _BRANCH_CALL_STACK for event in self.events)

    @property
    def has_dumps(self) -> bool:
        """Copies of programs' stacks, with the registers of x86-64 that unwinding takes."""
        wanted = SampleType.STACK_USER | SampleType.REGS_USER
        masks = [
            event.attr.sample_regs_user
            for event in self.events
            if event.attr.sample_type & wanted == wanted
        ]
        if self.features.architecture == "x86_64":
            return any(mask & _UNWIND_REGS == _UNWIND_REGS for mask in masks)
        return not self.features.architecture and _REGS_X86_64 in masks

    @property
    def clock_id(self) -> int | None:
        """The clock of its times; None for perf's own, which is the kernel log's too."""
        for event in self.events:
            if event.attr.flags & Flag.USE_CLOCKID:
                return int(event.attr.clockid)
        return None

    @property
    def data_bytes(self) -> int | None:
        """How much of it can be read in shares; None where it can't be.

        What was compressed would have to be inflated by everyone, and samples without times follow
        from those before them.
        """
        has_times = all(event.attr.sample_type & SampleType.TIME for event in self.events)
        is_plain = has_times and not self.features.is_compressed and not self.is_in_parts
        return self._data[1] if is_plain else None

    def walks(self, share: Share = WHOLE) -> Iterator[Walked]:
        """The records, decoded. Each walk's numbers of stacks count from 0."""
        yield from self._walks(self._opener, *self._data, share=share)

    def part_walks(self, opener: Opener, parts: int) -> Iterator[Walked]:
        """The records of one of `parts` files that lie beside it: nothing but records."""
        # All of them are read at the same time, and each holds a chunk or two.
        chunk_bytes = max(_LEAST_CHUNK_BYTES, CHUNK_BYTES // (4 * parts))
        yield from self._walks(opener, 0, None, chunk_bytes)

    def _walks(
        self, opener: Opener, offset: int, size: int | None, chunk_bytes: int = 0,
        share: Share = WHOLE,
    ) -> Iterator[Walked]:  # fmt: skip
        with opener() as stream:
            skip(stream, offset)
            cuts = share.cuts(offset, offset + (size or 0))
            chunk_bytes = chunk_bytes or (DUMPS_CHUNK_BYTES if self.has_dumps else CHUNK_BYTES)
            if share.of + self._beside > 2:
                chunk_bytes //= 2  # they hold a chunk or two each, all at the same time
            step_bytes = min(STEP_BYTES, chunk_bytes)
            records = RecordStream(cast(Readable, stream), offset, size, step_bytes, cuts)
            steps = -(-chunk_bytes // step_bytes)
            marks = 0
            for part, walked in self._gathered(records, steps, share.number):
                yield walked
                # Two marks behind its end nothing is told any more that concerns the share.
                if part > share.number:
                    marks += int((walked.records.type == UserRecord.FINISHED_ROUND).sum())
                if marks >= 2:
                    break
            # Where what it is compressed with ends too early, all else follows from that.
            broken = getattr(stream, "problem", "")
            self.problems += [broken] if broken else records.problems
            self.is_cut |= records.is_cut or bool(broken)

    def _gathered(
        self, records: RecordStream, steps: int, own: int
    ) -> Iterator[tuple[int, Walked]]:
        """Of so many steps what they hold, and the part they are of; samples only of our `own`."""
        walker: Walker | None = None
        held: Gathering | None = None
        part = 0
        for item in records:
            if held is not None and (
                isinstance(item, Special) or item.part != part or not held.has_room(item.bounds)
            ):
                yield part, held.walked()
                held = None
            if isinstance(item, Special):
                if self._learn(item):
                    walker = None
                continue
            if walker is None:
                walker = self._walker()
            if held is None:
                held = Gathering(walker, item.bounds, steps)
                part = item.part
            held.add(item.buffer, with_samples=part == own)
        if held is not None:
            yield part, held.walked()

    def _walker(self) -> Walker:
        if not self.events:
            raise ParseError(
                self._path, f"offset {self._data[0]}", "a description of its events",
                todo="it was cut off at the front, or is no perf.data of Linux",
            )  # fmt: skip
        ids = {id_: number for number, event in enumerate(self.events) for id_ in event.ids}
        layouts = [event.attr.layout() for event in self.events]
        if self.has_dumps:
            for layout in layouts:
                layout.dump_regs = _DUMP_REGS
        return Walker(layouts, ids)

    def _read_header(self, stream: BinaryIO) -> None:
        head = read(stream, _HEADER.size)
        magic = head[:8]
        if magic in SWAPPED_MAGICS:
            raise ParseError(
                self._path, "offset 0", "perf.data of a machine with this one's byte order",
                todo="it was recorded with the other (s390, big-endian ARM or POWER): "
                "import the text of `perf script` instead",
            )  # fmt: skip
        if magic not in MAGICS or len(head) < _PIPE_HEADER_BYTES:
            raise ParseError(self._path, "offset 0", "perf.data (PERFILE2)")
        (size,) = struct.unpack_from("<Q", head, 8)
        if size == _PIPE_HEADER_BYTES:
            self.is_pipe = True
            self._data = (_PIPE_HEADER_BYTES, None)
            return
        if len(head) < _HEADER.size:
            raise ParseError(
                self._path, f"offset {len(head)}", "the rest of the header",
                todo="the file is cut off: copy it again",
            )  # fmt: skip
        _, _, attr_size, attrs_at, attrs_size, data_at, data_size, _, _, bits = _HEADER.unpack(head)
        # Written last: while perf still records it is zero, and all up to the end is data.
        self._data = (data_at, data_size or None)
        position = self._read_attrs(stream, attr_size, attrs_at, attrs_size)
        if not data_size:
            self.problems.append(
                "it was not closed (perf was still recording, or was killed): "
                "it does not say which machine it is of; there `exhume import FILE /proc/kallsyms "
                "--symfs /` finds the names that are missing"
            )
            return
        self._read_features(stream, position, data_at + data_size, int.from_bytes(bits, "little"))

    def _read_attrs(self, stream: BinaryIO, attr_size: int, at: int, size: int) -> int:
        """The position of the stream afterwards. Ids lie before the attrs that point to them."""
        if not 48 + _SECTION.size <= attr_size <= 4096 or size // attr_size > _MAX_ATTRS:
            raise ParseError(
                self._path, "offset 16", f"descriptions of events, not of {attr_size} bytes each",
                todo="the file is damaged",
            )  # fmt: skip
        data_end = self._data[0] + (self._data[1] or 0)
        is_last = at >= data_end > self._data[0]
        base, end = data_end if is_last else _HEADER.size, at + size
        if (size and at < base) or end - base > MAX_SECTION_BYTES:
            raise ParseError(
                self._path, "offset 24", "descriptions of events near the start",
                todo="the file is damaged, or not of perf record",
            )  # fmt: skip
        if is_last:
            with self._opener() as other:
                skip(other, base)
                head = read(other, end - base)
        else:
            head = read(stream, end - base)
        for begin in range(at, at + size - attr_size + 1, attr_size):
            entry = head[begin - base : begin - base + attr_size]
            if len(entry) < attr_size:
                raise ParseError(
                    self._path, f"offset {begin}", "a description of an event",
                    todo="the file is cut off: copy it again",
                )  # fmt: skip
            ids_at, ids_size = _SECTION.unpack_from(entry, attr_size - _SECTION.size)
            has_ids = base <= ids_at and ids_at - base + ids_size <= len(head)
            ids = head[ids_at - base : ids_at - base + ids_size] if has_ids else b""
            attr = attr_of(entry[: -_SECTION.size])
            self.events.append(PerfEvent(attr_name(attr), attr, _ids(ids)))
        return _HEADER.size if is_last else max(end, _HEADER.size)

    def _read_features(self, stream: BinaryIO, position: int, at: int, bits: int) -> None:
        numbers = [bit for bit in range(256) if bits >> bit & 1]
        skip(stream, at - position)
        table = read(stream, len(numbers) * _SECTION.size)
        position = at + len(table)
        if len(table) < len(numbers) * _SECTION.size:
            self.problems.append(self.features.cut_off())
            return
        sections = [_SECTION.unpack_from(table, i * _SECTION.size) for i in range(len(numbers))]
        # In the order they lie in: a compressed stream goes forward only.
        for number, (begin, size) in sorted(
            zip(numbers, sections, strict=True), key=lambda s: s[1]
        ):
            if begin < position or size > MAX_SECTION_BYTES:
                continue
            skip(stream, begin - position)
            data = read(stream, size)
            position = begin + len(data)
            if len(data) < size:
                self.problems.append(self.features.cut_off())
                break
            try:
                self.features.add(number, data)
            except ValueError as error:
                self.problems.append(str(error))
        self._take_names()

    def _learn(self, record: Special) -> bool:
        """What a record of a pipe says; True where the events are others now."""
        body = record.body
        try:
            if record.type == UserRecord.HEADER_ATTR:
                attr = attr_of(body)
                size = attr.size if 48 <= attr.size <= len(body) else 64
                self.events.append(PerfEvent(attr_name(attr), attr, _ids(body[size:])))
                return True
            if record.type == UserRecord.HEADER_FEATURE:
                (number,) = struct.unpack_from("<Q", body)
                self.features.add(number, body[8:])
                self._take_names()
            elif record.type == UserRecord.HEADER_BUILD_ID:
                header = struct.pack("<IHH", record.type, 0, 8 + len(body))
                self.features.add_build_ids(header + body)
            elif record.type == UserRecord.EVENT_UPDATE:
                self._update(body)
        except (ValueError, IndexError, struct.error):
            self.problems.append(f"a record of type {record.type} is damaged")
        return False

    def _update(self, body: bytes) -> None:
        kind, id_ = struct.unpack_from("<QQ", body)
        if kind == _EVENT_UPDATE_NAME:
            name = body[16:].split(b"\0", 1)[0].decode("utf-8", "replace")
            self.events = [
                PerfEvent(name, event.attr, event.ids) if id_ in event.ids else event
                for event in self.events
            ]

    def _take_names(self) -> None:
        """Events as `perf record` was told them, `cycles:ppp` and not a number."""
        names = {id_: event.name for event in self.features.events for id_ in event.ids}
        in_order = [event.name for event in self.features.events]
        self.events = [
            PerfEvent(
                names.get(event.ids[0], event.name)
                if event.ids
                else (in_order[number] if len(in_order) == len(self.events) else event.name),
                event.attr,
                event.ids,
            )
            for number, event in enumerate(self.events)
        ]


def _ids(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])
