"""Copies of /proc files and listings, with a mark above each that tells the time, or without.

    ### 1794773717.630 2026-11-15T20:15:17.629Z uptime=5.579
    cpu  16 0 325 316 0 0 1 0 0 0
    …

Where marks tell wall time and uptime together, they tie the kernel's clock to wall time too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median_low
from typing import BinaryIO

from msgspec import Struct

from exhume.errors import ParseError
from exhume.ingest.blocks import BlockTable
from exhume.ingest.clocks import name_time_ns
from exhume.ingest.context import Context
from exhume.ingest.piece import SLOT_NS, Claim, ClockKind, Facts, Hints, Piece, Trust
from exhume.ingest.snapshots_edge import edge_of
from exhume.ingest.snapshots_parse import Looks, Moment
from exhume.ingest.snapshots_sections import Section, first_kind, sections
from exhume.ingest.snapshots_time import instant_ns
from exhume.ingest.streams import Inflated, Source
from exhume.ingest.systemctl import SHOW_PATH

# `### EPOCH`, `### EPOCH ISO uptime=SECONDS`, `### EPOCH /proc/stat`, `### ISO …`
MARK = re.compile(
    rb"^### ?(?P<at>\d{9,10}(?:\.\d{1,9})?|\d{13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)"
    rb"(?P<rest>[ \t][^\n]*)?\n",
    re.MULTILINE,
)
_UPTIME = re.compile(rb"\buptime=(\d{1,9})(?:\.(\d{1,9}))?")
# Other files have lines `Type=…` too.
_SHOWN = re.compile(rb"^(?:Id=\S+\.service|NRestarts=\d+)\r?$", re.MULTILINE)
_HEAD_BYTES = 4096
_READ_BYTES = 4 << 20
MAX_BLOCK_BYTES = 32 << 20
_MAX_OFFSETS = 1 << 17
_MOST_PROBLEMS = 3
_CORE_TIME = "cpu.idle"
_BARE = frozenset(
    {
        *("stat", "softirqs", "interrupts", "schedstat", "pressure", "meminfo", "vmstat"),
        *("cgroups", "softnet_stat", "docker ps", "systemctl list-units", "systemctl show"),
    }
)
"""What tells itself without a mark; a number alone may be anything."""


def is_marked(head: bytes) -> bool:
    """Does it begin with a mark, or nearly, and is there something known below one?"""
    head = _plain(head)
    marks = list(MARK.finditer(head))
    if not marks or marks[0].start() > _HEAD_BYTES:
        return False
    return any(_UPTIME.search(mark["rest"] or b"") for mark in marks) or any(
        next(sections(head[mark.end() : following]), None) is not None
        for mark, following in zip(
            marks, [*(mark.start() for mark in marks[1:]), len(head)], strict=True
        )
    )


def is_bare(head: bytes) -> bool:
    kind = first_kind(_plain(head))
    is_sure = kind != SHOW_PATH or _SHOWN.search(head) is not None
    return MARK.search(head) is None and kind in _BARE and is_sure


class _Block(Struct, frozen=True):
    mark: re.Match[bytes] | None
    text: bytes
    line: int
    """Of the file, at which its text begins."""
    is_whole: bool
    """False at the end of a file that ends within a line."""


def read(source: Source, context: Context) -> Iterator[Piece]:
    reader = _Reader(source)
    with source.open(context.progress) as stream:
        for block in _blocks(stream, reader):
            yield from reader.add(block)
        if isinstance(stream, Inflated) and stream.problem:
            reader.problems.append(stream.problem)
    yield from reader.finish()


def read_bare(source: Source, context: Context) -> Iterator[Piece]:
    """One copy, at a time that only its name, its date or other files can tell."""
    reader = _Reader(source)
    with source.open(context.progress) as stream:
        text = b""
        while len(text) <= MAX_BLOCK_BYTES and (data := stream.read(_READ_BYTES)):
            text += data
    text = _plain(text)
    if not text.endswith(b"\n"):
        text += b"\n"
        reader.problems.append("it does not end with a line: its last number may be cut off")
    at = name_time_ns(source.path.name)
    claim = Claim(0, Trust.FILE_NAME, "by the time in its name, taken as UTC")
    if at is None:
        at = source.path.stat().st_mtime_ns
        claim = Claim(0, Trust.FILE_TIME, "guessed: when the file was last written")
    reader.look(_Block(None, text, 1, is_whole=True), Moment(at, None, source.path.name))
    blocks, events = reader.table.take()
    edge = edge_of(source.path.name) if claim.trust == Trust.FILE_TIME else ""
    yield Piece(
        Hints(), ClockKind.OWN, claim, blocks=blocks, events=events, facts=reader.facts(), edge=edge
    )


class _Reader:
    def __init__(self, source: Source) -> None:
        self._name = source.path.name
        self.table = BlockTable()
        self.problems: list[str] = []
        self._looks = Looks()
        self._kinds: dict[str, int] = {}
        self._cores: set[str] = set()
        self._torn = 0
        self._unknown = 0
        self._offsets: list[int] = []
        self._last_ns: int | None = None

    def add(self, block: _Block) -> Iterator[Piece]:
        moment = self._moment(block)
        if moment is None:
            return
        last, self._last_ns = self._last_ns, moment.wall_ns
        # Ten minutes a piece, so that few are in memory at once; and none goes back in time.
        if last is not None and (
            moment.wall_ns < last or moment.wall_ns // SLOT_NS != last // SLOT_NS
        ):
            yield from self._pieces()
        self.look(block, moment)

    def _moment(self, block: _Block) -> Moment | None:
        if block.mark is None:
            return None
        at = instant_ns(block.mark["at"].decode())
        if at is None:
            self._unknown += 1
            return None
        rest = block.mark["rest"] or b""
        uptime_ns = None
        if found := _UPTIME.search(rest):
            uptime_ns = int(found[1]) * 10**9 + int((found[2] or b"0").ljust(9, b"0"))
            if len(self._offsets) < _MAX_OFFSETS:
                self._offsets.append(at - uptime_ns)
        return Moment(at, uptime_ns, f"{rest.decode('utf-8', 'replace')} {self._name}")

    def look(self, block: _Block, moment: Moment) -> None:
        found = list(sections(block.text))
        if not found and block.text.strip():
            self._unknown += 1
        for number, section in enumerate(found):
            if number == len(found) - 1 and not block.is_whole:
                self._note_torn(block, section, "an end of the line")
                continue
            try:
                alike = [one for one in found if one.kind == section.kind]
                readings, events = self._looks.look(section, moment, alike)
            except ParseError as error:
                self._note_torn(block, section, error.expected, error.where)
                continue
            self._kinds[section.kind] = self._kinds.get(section.kind, 0) + 1
            self.table.add(moment.wall_ns, readings)
            self._cores.update(*(one.instances for one in readings if one.field == _CORE_TIME))
            self.table.events += events

    def _note_torn(
        self, block: _Block, section: Section, expected: str, where: int | str = ""
    ) -> None:
        self._torn += 1
        line = block.line + block.text.count(b"\n", 0, section.at)
        line += where - 1 if isinstance(where, int) else 0
        if self._torn <= _MOST_PROBLEMS:
            self.problems.append(
                f"line {line}: a copy of {section.kind} is not whole, expected {expected}; left out"
            )

    def finish(self) -> Iterator[Piece]:
        yield from self._pieces()
        claim = None
        if self._offsets:
            how = f"by {len(self._offsets)} readings of wall time and uptime in {self._name}"
            claim = Claim(median_low(self._offsets), Trust.UPTIME, how)
        yield Piece(Hints(), ClockKind.KERNEL_LOG, claim, facts=self.facts())

    def _pieces(self) -> Iterator[Piece]:
        if self.table:
            blocks, events = self.table.take()
            yield Piece(Hints(), ClockKind.WALL, None, blocks=blocks, events=events)

    def facts(self) -> Facts:
        notes = []
        if self._kinds:
            kinds = ", ".join(f"{count} of {kind}" for kind, count in self._kinds.items())
            notes.append(f"copies: {kinds}")
        if self._looks.guessed:
            notes.append("which pressure is which was told by their order")
        for kind, count in self._looks.passed_over.items():
            notes.append(f"{count} of {kind} passed over: neither mark nor name say of what")
        if self._unknown:
            notes.append(f"{self._unknown} blocks are nothing known, and were passed over")
        problems = self.problems
        if self._torn > _MOST_PROBLEMS:
            problems = [*problems, f"{self._torn} copies in all are not whole, and were left out"]
        cores = tuple(sorted(map(int, self._cores)))
        return Facts(cores=cores, notes=tuple(notes), problems=tuple(problems))


def _plain(text: bytes) -> bytes:
    """With the line ends of this system."""
    return text.replace(b"\r", b"") if b"\r" in text else text


def _blocks(stream: BinaryIO, reader: _Reader) -> Iterator[_Block]:
    """What lies between one mark and the next."""
    mark: re.Match[bytes] | None = None
    rest, line = b"", 1
    while data := stream.read(_READ_BYTES):
        text = rest + _plain(data)
        begin = 0
        for found in MARK.finditer(text):
            body = text[begin : found.start()]
            yield _Block(mark, body, line, is_whole=True)
            line += text.count(b"\n", begin, found.end())
            mark, begin = found, found.end()
        rest = text[begin:]
        if len(rest) > MAX_BLOCK_BYTES:
            reader.problems.append(
                f"line {line}: no mark within {MAX_BLOCK_BYTES >> 20} MiB; left out up to the next"
            )
            line += rest.count(b"\n")
            mark, rest = None, rest[rest.rfind(b"\n") + 1 :][-_READ_BYTES:]
    yield _Block(mark, rest, line, rest.endswith(b"\n"))
