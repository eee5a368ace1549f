"""`mpstat -P ALL 1`, as text or as JSON → what each core spent its time on, as counters.

Its times are local and its zone is not told: they are taken as UTC unless somebody tells, or the
other files only fit another zone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec.structs import replace

from exhume.ingest import also_in, mpstat_header, mpstat_json
from exhume.ingest.context import Context
from exhume.ingest.line_prefix import chunks, plain, prefix_of
from exhume.ingest.log_reader import newest_ns
from exhume.ingest.mpstat_clock import day_clock
from exhume.ingest.mpstat_columns import layout_of
from exhume.ingest.mpstat_header import HEADER, Header, LocalClaim, local_claim, told_zone
from exhume.ingest.mpstat_json import JsonScanner
from exhume.ingest.mpstat_table import COLUMNS, Counters, Lines
from exhume.ingest.mpstat_text import TextScanner
from exhume.ingest.piece import ClockKind, Facts, Hints, Piece
from exhume.ingest.streams import Source, problem_of
from exhume.model.series import Block

_ALL_ONLY = (
    "it has only the mean over all cores: record it with `mpstat -P ALL 1` to see single ones"
)
_NO_SOFTIRQ = (
    "its time in interrupts and softirqs is part of %system, as sar has it: `sar -u ALL -P ALL` or "
    "`mpstat -P ALL` tell them apart"
)


def is_text(head: bytes) -> bool:
    head = plain(head)
    found = HEADER.search(head[:4096])
    lines = head[found.end() if found else 0 :].split(b"\n")[: 40 if found else 3]
    return any(layout_of(line) is not None for line in lines)


def host_of(head: bytes) -> str:
    head = plain(head)
    found = HEADER.search(head[:4096])
    return mpstat_header.parse(found).hints.node if found else mpstat_json.host_of(head)


def read(source: Source, context: Context) -> Iterator[Piece]:
    zone, by = told_zone(source.head(), context.clock.zone)
    header, scanner = _scanner(source, zone)
    said = local_claim(header, source.path.name, zone, by)
    counters = Counters()
    with source.open(context.progress) as stream:
        for lines in _lines(chunks(stream, prefix_of(source.head())), scanner):
            for blocks in counters.add(lines):
                yield _piece(header, scanner, said, blocks)
        broken = problem_of(stream)
    for blocks in counters.finish():
        yield _piece(header, scanner, said, blocks)
    facts = _facts(header, scanner, counters, said, broken)
    others = also_in.in_mpstat(source.head())
    yield Piece(
        header.hints, ClockKind.OWN, None, facts=replace(facts, notes=(*facts.notes, *others))
    )


def _scanner(source: Source, zone: tzinfo | None) -> tuple[Header, TextScanner | JsonScanner]:
    head = source.head()
    if mpstat_json.is_json(head):
        header = dated(mpstat_json.header_of(head), source.path)
        return header, JsonScanner(day_clock(header, zone))
    found = HEADER.search(plain(head)[:4096])
    header = dated(mpstat_header.parse(found), source.path) if found else undated(source.path)
    return header, TextScanner(day_clock(header, zone))


def _lines(data: Iterator[bytes], scanner: TextScanner | JsonScanner) -> Iterator[Lines]:
    for chunk in data:
        yield from scanner.read(chunk)
    yield from scanner.read(b"", at_end=True)


def _piece(
    header: Header,
    scanner: TextScanner | JsonScanner,
    said: LocalClaim,
    blocks: tuple[Block, ...],
) -> Piece:
    if scanner.clock.is_epoch:
        return Piece(header.hints, ClockKind.WALL, None, blocks=blocks, is_filler=True)
    return Piece(
        header.hints, ClockKind.OWN, said.claim, blocks=blocks, is_filler=True, guesses=said.guesses
    )


def undated(path: Path) -> Header:
    """Without the line that has the date: the day in its name, or on which it was last written."""
    day = datetime.fromtimestamp(newest_ns(path) // 10**9, UTC).date()
    return Header(Hints(), (day,), "")


def dated(header: Header, path: Path) -> Header:
    """Some locales count other years (2569 in Thailand), or call months as nobody here does."""
    return header if header.days else replace(header, days=undated(path).days, date_text="")


def not_dated(header: Header) -> str:
    return (
        f"its date is not told, or in no known form: taken as {header.days[0]}, by its name or its "
        "file's time"
    )


def _facts(
    header: Header,
    scanner: TextScanner | JsonScanner,
    counters: Counters,
    said: LocalClaim,
    broken: str,
) -> Facts:
    notes, problems = [*said.notes], [broken] if broken else []
    if not header.date_text and not scanner.clock.is_epoch:
        notes.append(not_dated(header))
    clock = scanner.clock
    if scanner.all_only and not counters.cores:
        notes.append(_ALL_ONLY)
    if scanner.without_length and not counters.cores:
        notes.append(
            "it has averages since boot, and no interval to tell of: `mpstat -P ALL 1` tells of "
            "seconds"
        )
    if isinstance(scanner, JsonScanner) and scanner.is_alone:
        notes.append("how long its only interval was is not told: taken as a second")
    if counters.cores and not counters.known[COLUMNS.index("%soft")]:
        notes.append(_NO_SOFTIRQ)
    if counters.gaps:
        notes.append(f"it stopped and went on {counters.gaps} times; nothing is known in between")
    if clock.set_back:
        notes.append(
            f"its clock was set back {clock.set_back} times; what follows is moved on in time "
            "(where summer time ended, --zone with a name as Europe/Berlin puts it right)"
        )
    if clock.odd_halves:
        notes.append("whether its times are am or pm is in an unknown language: taken as am")
    if scanner.odd_lines:
        where = f", the first after line {scanner.first_odd}" if scanner.first_odd else ""
        problems.append(f"{scanner.odd_lines} lines are not as they should be{where}; left out")
    return Facts(cores=tuple(sorted(counters.cores)), notes=tuple(notes), problems=tuple(problems))
