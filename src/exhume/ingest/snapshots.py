"""Copies of /proc files and listings, with a mark above each that tells the time, or without.

    ### 1794773717.630 2026-11-15T20:15:17.629Z uptime=5.579
    cpu  16 0 325 316 0 0 1 0 0 0
    …

Where marks tell wall time and uptime together, they tie the kernel's clock to wall time too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.ingest import also_in
from exhume.ingest.blocks import BlockTable
from exhume.ingest.boot_times import BootTimes
from exhume.ingest.clocks import copied_ns, says_zone, written_ns
from exhume.ingest.context import Context
from exhume.ingest.line_prefix import LinePrefix, chunks, indent_of
from exhume.ingest.lines import without_colours
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_reader import newest_ns
from exhume.ingest.mpstat_header import HEADER
from exhume.ingest.piece import (
    Claim,
    ClockKind,
    Facts,
    Hints,
    Piece,
    Trust,
    clock_pieces,
    with_facts,
)
from exhume.ingest.row_table import SLOT_NS
from exhume.ingest.snapshots_edge import edge_of
from exhume.ingest.snapshots_marks import ASKED_FOR, Mark, MarkForm, form_of
from exhume.ingest.snapshots_marks import TODO as MARK_TODO
from exhume.ingest.snapshots_parse import Looks, Moment, counted, uptime_ns
from exhume.ingest.snapshots_sections import (
    Section,
    ends_whole,
    first_kind,
    sections,
)
from exhume.ingest.snapshots_stamped import StampedLines, stamps_of
from exhume.ingest.snapshots_wrapped import unwrapped, whole_lines
from exhume.ingest.streams import Source, problem_of
from exhume.ingest.systemctl import SHOW_PATH
from exhume.ingest.uptime_ties import UptimeTies

# Other files have lines `Type=…` too.
_SHOWN = re.compile(rb"^(?:Id=\S+\.service|NRestarts=\d+)\r?$", re.MULTILINE)
_READ_BYTES = 4 << 20
MAX_BLOCK_BYTES = 32 << 20
_MOST_PROBLEMS = 3
_CORE_TIME = "cpu.idle"
_BARE = frozenset(
    {
        *("stat", "softirqs", "interrupts", "schedstat", "pressure", "meminfo", "vmstat"),
        *("cgroups", "cgroup.stat", "cpu.stat", "softnet_stat", "docker ps"),
        *("systemctl list-units", "systemctl show", "ethtool -S"),
    }
)
"""What tells itself without a mark; a number alone may be anything."""
_ONCE = frozenset(
    {"stat", "softirqs", "interrupts", "schedstat", "meminfo", "vmstat", "cgroups", "softnet_stat"}
)
"""Of which a node has one, not one for each resource, cgroup, unit or engine."""

_ANY_DAY_NS = 1_700_000_000_000_000_000
"""For whoever asks only whether there are times."""


def is_marked(head: bytes, name: str = "") -> bool:
    """Does it begin with a mark, or nearly, and is there something known below one?"""
    return _form(head, name) is not None


def _form(
    head: bytes, name: str, newest_ns: int = _ANY_DAY_NS
) -> tuple[MarkForm, LinePrefix | None] | None:
    """Which form its marks have, and what stands before every line."""
    for text, prefix in _read_as(head, newest_ns):
        if form := form_of(text, lambda block, mark: _is_known(block, mark, name)):
            return replace(form, is_below=_is_below(text, form)), prefix
    return None


def _is_below(text: bytes, form: MarkForm) -> bool:
    """Above the first mark there is as much as between it and the next."""
    marks = list(islice(form.marks(text), 2))
    if len(marks) < 2 or form.is_inline:
        return False
    first, second = marks
    above, below = (
        [one.kind for one in sections(whole_lines(part))]
        for part in (text[: first.start], text[first.end : second.start])
    )
    is_from_start = first_kind(text) == first_kind(text[first.end :])
    return is_from_start and bool(above) and above == below


def _read_as(
    head: bytes, newest_ns: int = _ANY_DAY_NS
) -> Iterator[tuple[bytes, LinePrefix | None]]:
    """As it is, and without what all of it is indented by, or what stands before each line."""
    text = _plain(head)
    yield text, None
    for prefix in (indent_of(text), stamps_of(text, newest_ns)):
        if prefix is not None:
            yield prefix.stripped(text), prefix


def _is_known(text: bytes, mark: Mark, name: str) -> bool:
    if mark.is_asked_for and mark.uptime_ns is not None:
        return True
    found = list(sections(whole_lines(text)))
    # Any log may have a number on a line.
    return any(one.kind != "count" for one in found) or bool(
        found and (mark.is_asked_for or counted(f"{found[0].hint} {mark.rest} {name}"))
    )


def is_bare(head: bytes) -> bool:
    return any(_is_bare(text) for text, _ in _read_as(head))


def _is_bare(text: bytes) -> bool:
    kind = first_kind(unwrapped(text))
    is_sure = kind != SHOW_PATH or _SHOWN.search(text) is not None
    return ASKED_FOR.search(text) is None and kind in _BARE and is_sure


class _Block(Struct, frozen=True):
    mark: Mark | None
    text: bytes
    line: int
    """Of the file, at which its text begins."""
    is_whole: bool
    """False at the end of a file that ends within a line."""


def read(source: Source, context: Context) -> Iterator[Piece]:
    found = _form(source.head(), source.path.name, newest_ns(source.path))
    if found is None:
        return
    form, prefix = found
    reader = _Reader(source, context)
    reader.is_below = form.is_below
    reader.times.without_year = isinstance(prefix, StampedLines) and prefix.without_year
    with source.open(context.progress) as stream:
        for block in _blocks(chunks(stream, prefix), form, reader):
            yield from reader.add(block)
        if broken := problem_of(stream):
            reader.problems.append(broken)
    yield from reader.finish()


def read_bare(source: Source, context: Context) -> Iterator[Piece]:
    """One copy, at a time that only its name, its date or other files can tell."""
    reader = _Reader(source, context)
    with source.open(context.progress) as stream:
        text = b""
        while len(text) <= MAX_BLOCK_BYTES and (data := stream.read(_READ_BYTES)):
            text += data
        broken = problem_of(stream)
    text = _plain(text)
    prefix = next((prefix for head, prefix in _read_as(source.head()) if _is_bare(head)), None)
    if prefix is not None:
        text = prefix.stripped(text)
    if broken:
        reader.problems.append(broken)
    if not ends_whole(text):
        text += b"\n"
        reader.problems.append("it does not end with a line: its last number may be cut off")
    zone = context.clock.zone
    edge = edge_of(source.path.name)
    named = copied_ns(source.path, zone or UTC)
    if named is not None and (named[1] == "name" or not edge):
        at, whose = named
        how = f"by the time in its {whose}"
        name = source.path.name if whose == "name" else source.path.absolute().parent.name
        if not says_zone(name):
            how += ", taken as UTC" if zone is None else ", in the zone told"
        claim, edge = Claim(0, Trust.FILE_NAME, how), ""
    else:
        at = written_ns(source.path)
        claim = Claim(0, Trust.FILE_TIME, "guessed: when the file was last written")
    reader.look(_Block(None, text, 1, is_whole=True), Moment(at, None, source.path.name))
    blocks, events = reader.table.take()
    reader.note_untimed()
    copy = Piece(Hints(), ClockKind.OWN, claim, blocks=blocks, events=events, edge=edge)
    yield from with_facts([*reader.of_clock(), copy], reader.facts())


class _Reader:
    def __init__(self, source: Source, context: Context) -> None:
        self._name = source.path.name
        self._head = source.head()
        self.times = LocalTimes(context.clock.zone)
        self.table = BlockTable()
        self.problems: list[str] = []
        self._looks = Looks()
        self._kinds: dict[str, int] = {}
        self._cores: set[str] = set()
        self._torn = 0
        self._unknown = 0
        self._tables = 0
        self._ties = UptimeTies()
        self._boot_times = BootTimes()
        self._last_ns: int | None = None
        self.is_below = False

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
        mark = block.mark
        if mark is None:
            return None
        at = self.times.saw_time(mark.at.ns, mark.at.has_zone)
        if mark.uptime_ns is not None:
            self._ties.add(at, mark.uptime_ns)
        return Moment(at, mark.uptime_ns, f"{mark.rest} {self._name}")

    def look(self, block: _Block, moment: Moment) -> None:
        found = list(sections(whole_lines(block.text)))
        self._tables += HEADER.search(block.text) is not None
        if not found and block.text.strip():
            self._unknown += 1
        for number, section in enumerate(found):
            if number == len(found) - 1 and not block.is_whole:
                self._note_torn(block, section, "an end of the line")
                continue
            try:
                readings, events = self._looks.look(section, moment, found)
            except ParseError as error:
                self._note_torn(block, section, error.expected, error.where)
                continue
            if section.kind == "uptime" and block.mark is not None:
                self._ties.add(moment.wall_ns, uptime_ns(section.text))
            if section.kind == "stat":
                is_timed = block.mark is not None and block.mark.at.has_zone
                self._boot_times.look(section.text, moment.wall_ns if is_timed else None)
            self._kinds[section.kind] = self._kinds.get(section.kind, 0) + 1
            self.table.add(moment.wall_ns, readings)
            self._cores.update(*(one.instances for one in readings if one.field == _CORE_TIME))
            self.table.events += events
        self.table.add(moment.wall_ns, self._looks.gathered())

    def note_untimed(self) -> None:
        """At one time nothing has two states: where there are more copies, time passed between."""
        again = [f"{n} of {kind}" for kind, n in self._kinds.items() if n > 1 and kind in _ONCE]
        if again:
            self.problems.append(
                f"it has copies ({', '.join(again)}) and no line that says when they were made: "
                f"only the first counts; {MARK_TODO}"
            )

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
        yield from with_facts(self.of_clock(), self.facts())

    def of_clock(self) -> list[Piece]:
        ties = self._ties.claims(self.times, self._name)
        return clock_pieces([*self._boot_times.claims(self._name), *ties])

    def _pieces(self) -> Iterator[Piece]:
        if self.table:
            blocks, events = self.table.take()
            last = self._last_ns or 0
            yield Piece(
                Hints(), self.times.clock, self.times.claim(), blocks=blocks, events=events,
                guesses=self.times.guesses(last),
            )  # fmt: skip

    def facts(self) -> Facts:
        notes = []
        if self._kinds:
            kinds = ", ".join(f"{count} of {kind}" for kind, count in self._kinds.items())
            notes.append(f"copies: {kinds}")
        if self.is_below:
            notes.append("its times stand below what they are of, as it begins with a copy")
        if self._looks.guessed:
            notes.append(
                "which pressure is which is guessed by their order, taken for cpu, io, memory as "
                "`cat /proc/pressure/*` has them: `grep . /proc/pressure/*` tells"
            )
        for (kind, why), count in self._looks.passed_over.items():
            notes.append(f"{count} of {kind} passed over: {why}")
        if self._tables:
            notes.append(
                f"{self._tables} blocks have tables of mpstat, pidstat or the like, which are not "
                "read among copies: import them as a file of their own"
            )
        if self._unknown:
            notes.append(f"{self._unknown} blocks are nothing known, and were passed over")
        notes += also_in.in_copies(self._head)
        problems = self.problems
        if self._torn > _MOST_PROBLEMS:
            problems = [*problems, f"{self._torn} copies in all are not whole, and were left out"]
        cores = tuple(sorted(map(int, self._cores)))
        return Facts(cores=cores, notes=tuple(notes), problems=tuple(problems))


def _plain(text: bytes) -> bytes:
    """With the line ends of this system, and without colours."""
    text = without_colours(text)
    return text.replace(b"\r", b"") if b"\r" in text else text


def _blocks(chunks: Iterator[bytes], form: MarkForm, reader: _Reader) -> Iterator[_Block]:
    """What lies between one mark and the next."""
    mark: Mark | None = None
    rest, line = b"", 1
    for data in chunks:
        text = rest + _plain(data)
        begin = 0
        for found in form.marks(text):
            body = text[begin : found.start]
            yield _Block(found if form.is_below else mark, body, line, is_whole=True)
            line += text.count(b"\n", begin, found.end)
            mark, begin = found, found.end
        rest = text[begin:]
        if len(rest) > MAX_BLOCK_BYTES:
            reader.problems.append(
                f"line {line}: no mark within {MAX_BLOCK_BYTES >> 20} MiB; left out up to the next"
            )
            line += rest.count(b"\n")
            mark, rest = None, rest[rest.rfind(b"\n") + 1 :][-_READ_BYTES:]
    yield _Block(None if form.is_below else mark, rest, line, ends_whole(rest))
