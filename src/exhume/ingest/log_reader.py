"""What all readers of logs have in common: entries in, pieces out."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from exhume.derive.stamps import StampFinder, some_years
from exhume.ingest import also_in
from exhume.ingest.clocks import written_ns
from exhume.ingest.context import Context
from exhume.ingest.kernel_lines import unsaid
from exhume.ingest.lines import head_lines
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import CHUNK_EVENTS, Entry, LogEvents
from exhume.ingest.log_hosts import wanted_host
from exhume.ingest.piece import Claim, ClockKind, Facts, Hints, Piece, clock_pieces
from exhume.ingest.streams import Source, problem_of

NS = 1_000_000_000
_SHOWN_HOSTS = 5
# app.log, app.log.1, app.log.gz, syslog-20261116, app.2026-11-15.log, driver_20261115-201517.txt
_ENDING = re.compile(
    r"(?:[._-](?:log|txt|out|err|(?:nd)?jsonl?|gz|xz|zst|old|\d{1,3}"
    r"|\d{4}-?\d\d-?\d\d(?:[-_T.]?[\d:-]{4,8}Z?)?))+$"
)
_NAME_DAY = re.compile(r"(?<!\d)(20\d\d)-?(\d\d)-?(\d\d)(?!\d)")


class LogParser:
    """One form of log. Abstract: Struct, which they all are too, leaves no room for ABCMeta."""

    __slots__ = ()

    times: LocalTimes
    """What its stamps leave out."""

    @abstractmethod
    def entries(self, stream: BinaryIO) -> Iterator[Entry]: ...

    @property
    def clock(self) -> ClockKind:
        """What the times of its entries are of, once some were read."""
        return self.times.clock

    def claim(self, last_ns: int) -> Claim | None:  # noqa: ARG002 - some logs go by their end
        """What is known of that clock; None on wall time. Told the time of the last entry."""
        return self.times.claim()

    def kernel_claim(self) -> Claim | None:
        """Where lines have both times: what that says of the kernel's clock."""
        return None

    def boot_claims(self, name: str) -> list[tuple[Claim, int]]:  # noqa: ARG002 - few have any
        """Where lines have wall time and time since the boot, boot by boot. `name`: of the file."""
        return []

    def hints(self) -> Hints:
        return Hints()

    def notes(self) -> list[str]:
        return []


def pieces(source: Source, context: Context, parser: LogParser) -> Iterator[Piece]:
    host = wanted_host(source, parser, context.nodes)
    log = LogEvents(log_name(source.path, context.nodes), host)
    with source.open(context.progress) as stream:
        for entry in parser.entries(stream):
            log.add(entry)
            if log.held >= CHUNK_EVENTS:
                yield _piece(parser, log)
        broken = problem_of(stream)
    yield _piece(parser, log)
    yield from clock_pieces(parser.boot_claims(source.path.name))
    # On a piece of its own: what is known of the clock counts for all that is on it.
    claim = parser.kernel_claim()
    facts = Facts(
        notes=(
            *parser.times.notes(),
            *parser.notes(),
            f"{log.known} of {log.lines} lines mean something",
            *((said,) if not log.known and (said := unsaid(head_lines(source.head()))) else ()),
            *also_in.in_log(source.head()),
        ),
        problems=tuple(_problems(log, broken, () if host else context.nodes)),
    )
    clock = parser.clock if claim is None else ClockKind.KERNEL_LOG
    yield Piece(parser.hints(), clock, claim, facts=facts)


def _piece(parser: LogParser, log: LogEvents) -> Piece:
    events, blocks = log.take()
    said = parser.hints()
    first, last = log.first_ns or 0, log.last_ns or 0
    return Piece(
        Hints(log.host or said.node, said.kernel, zone_ns=said.zone_ns),
        parser.clock,
        parser.claim(last),
        blocks=blocks,
        events=events,
        guesses=parser.times.guesses(last),
        told_ns=None if log.is_of_units else (first, last),
    )


def _problems(log: LogEvents, broken: str, missed: Sequence[str]) -> Iterator[str]:
    """`missed`: nodes whose lines were wanted, where none are there."""
    if broken:
        yield broken
    if log.others:
        names = [name for name in log.others if name]
        shown = ", ".join(names[:_SHOWN_HOSTS]) + (", …" if len(names) > _SHOWN_HOSTS else "")
        count = sum(log.others.values())
        if missed:
            yield (
                f"no line is of {' or '.join(missed[:_SHOWN_HOSTS])}: those of {log.host} were "
                "taken in its place, because they come first"
            )
        yield (
            f"{count} lines are of other machines than {log.host}, and are left out: {shown}; "
            "--name chooses one of them"
        )
    if log.left_out:
        yield f"{log.left_out} lines are too many or too far apart in time, and are left out"


def log_name(path: Path, nodes: Sequence[str] = ()) -> str:
    """Whose log it is, as far as its name says: `gpu-7.app.log` is app's, where gpu-7 is a node."""
    name = path.name
    spellings = {short for one in nodes for short in (one, one.partition(".")[0])} - {""}
    for node in sorted(spellings, key=len, reverse=True):  # with its domain before its first part
        # A machine without a number may be called like the first word of any program.
        apart = r"[._-]" if re.search(r"\d", node) else r"\."
        spelled = re.escape(node)
        rest = re.sub(rf"(?i)^{spelled}{apart}|{apart}{spelled}(?=\.|$)", "", name, count=1)
        name = rest if _has_name(rest) else name
    return _ENDING.sub("", name) or name


def _has_name(rest: str) -> bool:
    return _ENDING.fullmatch(f".{rest}") is None


def newest_ns(path: Path) -> int:
    """A time by which the log was written: by the day in its name, else by the file's own time."""
    named = _NAME_DAY.search(path.name)
    if named is not None:
        text = f"{named[1]}-{named[2]}-{named[3]} 23:59:59"
        stamp = StampFinder(some_years()).find(text)
        if stamp is not None:
            return stamp.time_ns
    return written_ns(path)
