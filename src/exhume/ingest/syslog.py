"""System logs as text: kern.log and syslog (RFC 3164 and 5424), journalctl in its short forms.

Kernel lines in them are those whose tag is `kernel`, unless a priority says otherwise. rsyslog
leaves the kernel's own time in the text, which ties the two clocks together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from exhume.derive.stamps import (
    CTIME,
    ISO,
    NS,
    STYLES,
    SYSLOG,
    WITH_YEAR,
    Stamp,
    StampFinder,
    Years,
    fraction_ns,
    some_years,
)
from exhume.ingest import kernel_lines
from exhume.ingest.clocks import written_ns
from exhume.ingest.context import Context
from exhume.ingest.kernel_pairs import KernelPairs
from exhume.ingest.lines import head_lines, lines_of, unpasted
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import Entry
from exhume.ingest.log_hosts import only_host
from exhume.ingest.log_objects import of_object
from exhume.ingest.log_reader import LogParser, newest_ns, pieces
from exhume.ingest.piece import Claim, ClockKind, Hints, Piece, Trust
from exhume.ingest.streams import Source
from exhume.ingest.told_times import followed, passed_on, told_times

_EPOCH = STYLES[-1]
_STYLES = (ISO, STYLES[1], CTIME, SYSLOG, *WITH_YEAR, _EPOCH)
# `<3>`, `<3>1 ` and `1 ` of RFC 5424, the day of the week
_BEFORE = re.compile(
    r"(?:<(?P<priority>\d{1,3})>)?(?P<version>1 (?=\d{4}-))?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?"
)
# ` host kernel: [  298.261679] text`, ` host systemd[1]: text`, busybox: ` host kern.err kernel: `
_FACILITY = (
    r"(?P<facility>kern|user|mail|daemon|auth|authpriv|syslog|lpr|news|uucp|cron|ftp|local\d)"
    r"\.(?P<level>emerg|panic|alert|crit|err|error|warn|warning|notice|info|debug) "
)
_PROGRAM = r"(?P<program>[^\s\[\]:]{1,64})(?:\[(?P<pid>\d{1,10})\])?:[ \t]?(?P<text>.*)"
# syslog-ng puts the name of its source before the host: ` s_sys@host kernel: text`. Who shows a log
# to others often strikes the host out: ` ** kernel: text`, ` <host> kernel: text`
_STRUCK_OUT = (
    r"\*{1,64}|[<\[{$]{1,2}[\w.-]{0,32}(?i:host|node|name|server|redacted|masked|ip)[\w.-]{0,32}"
    r"[>\]}]{0,2}"
)
_TAGGED = re.compile(
    rf"[ \t](?:(?:[\w.-]{{1,64}}@)?(?P<host>[\w.:-]{{1,255}})|{_STRUCK_OUT})[ \t]"
    rf"(?:{_FACILITY})?{_PROGRAM}",
    re.DOTALL,
)
# Without a host: ` kern.err kernel: text` of OpenWrt's logread, ` kernel: text`
_OWN = re.compile(rf" {_FACILITY}{_PROGRAM}", re.DOTALL)
_PROCESS_ALONE = re.compile(
    r" (?P<program>[^\s\[\]:]{1,64})\[(?P<pid>\d{1,10})\]: ?(?P<text>.*)", re.DOTALL
)
_KERNEL_ALONE = re.compile(r" (?P<program>kernel): ?(?P<text>.*)", re.DOTALL)
# A console whose every line was stamped: `] [  298.261679] text`
_CONSOLE = re.compile(
    r"[\]:]?\s{1,4}(?:std(?:out|err) [FP] )?(?P<text>\[ {0,7}\d{1,8}\.\d{6}\] .*)", re.DOTALL
)
# RFC 5424: ` host program pid message-id [data] text`
_5424 = re.compile(
    r" (?P<host>\S{1,255}) (?P<program>\S{1,64}) (?:-|(?P<pid>\d{1,10})|\S{1,128}) \S{1,64} "
    r"(?:-|(?:\[[^\]]{0,4096}\]){1,8}) ?(?:\ufeff)?(?P<text>.*)",
    re.DOTALL,
)
# What netconsole sent, as a log server keeps it: ` host 3,339,5140900,-,caller=C0;text`
_NETCONSOLE = re.compile(
    r" (?P<host>[\w.:-]{1,255}) (?:\d[\w.+~-]{1,63},)?"
    r"(?P<record>\d{1,4}),\d{1,19},(?P<micros>\d{1,16}),[^;]{0,64};(?P<text>.*)",
    re.DOTALL,
)
# What passes a log on puts its own time before each line, and the stream or the machine. Of `aws
# logs tail`: `2026-11-15T20:20:11.000Z ip-10-0-0-7 Nov 15 20:20:10 ip-10-0-0-7 kernel: text`; of a
# container runtime: ` stdout F `
_PASSED_ON = re.compile(
    r"[ \t]{1,4}(?:std(?:out|err) [FP] |\S{1,255}[ \t]{1,4})?"
    r"(?=<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}-\d\d-\d\d[T ]\d\d:)"
)
# `talosctl dmesg`: `10.0.0.7: kern: warning: [2026-11-15T20:20:10.123456789Z]: text`
_TALOS = re.compile(
    r"(?:(?P<host>[\w.:-]{1,255}): )? {0,8}(?P<facility>[a-z]{1,8}\d?): {1,8}"
    r"(?P<level>[a-z]{3,7}): \[(?=\d{4}-)"
)
_KERNEL_TIME = re.compile(rf"\[ {{0,8}}(\d{{1,9}})\.(\d{{6}})\]{kernel_lines.CALLER} ?")
_REPEATED = re.compile(r"message repeated \d{1,9} times: \[ ?(?P<text>.*)\]$", re.DOTALL)
_LEVEL_WORDS = frozenset(
    {"TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "CRITICAL", "FATAL"}
)


def is_system_log(head: bytes, path: Path) -> bool:
    lines = head_lines(head)
    if kernel_lines.is_monotonic(lines):
        return True
    reader = SystemLog(path, some_years())
    stamps = StampFinder(some_years())
    known: list[Entry] = []
    others = 0
    for line in lines:
        entry = reader.entry(line)
        if entry is not None and entry.host.upper() not in _LEVEL_WORDS:
            known.append(entry)
        else:
            others += stamps.find(line) is not None
    # Many logs have two words and a colon behind the time: somebody must say who he is.
    # Where nobody names the machine, it is a job's log, unless the kernel speaks.
    has_host = any(entry.host for entry in known)
    speaks = any(
        entry.program == "kernel" or (has_host and entry.pid is not None) for entry in known
    )
    # Lines without a stamp belong to those before them: a terminal breaks one into three or four.
    return speaks and len(known) >= others and 5 * len(known) >= len(lines)


def host_of(head: bytes) -> str:
    reader = SystemLog(Path(), some_years())
    hosts = []
    for line in head_lines(head):
        if (found := kernel_lines.MONOTONIC.match(line)) is not None:
            hosts.append(found["host"])
        elif (entry := reader.entry(line)) is not None:
            hosts.append(entry.host)
    return only_host(hosts)


def read(source: Source, context: Context) -> Iterator[Piece]:
    is_monotonic = kernel_lines.is_monotonic(head_lines(source.head()))
    if is_monotonic:
        yield from pieces(source, context, MonotonicLog(source.path, context.clock.offset_ns))
    else:
        newest = newest_ns(source.path)
        own = told_times(source.head(), newest)
        times = LocalTimes(context.clock.zone, own=own, follow=followed(own))
        years = Years(own.newest_ns(newest))
        yield from pieces(source, context, SystemLog(source.path, years, times))


class SystemLog(Struct, LogParser):
    path: Path
    years: Years
    times: LocalTimes = field(default_factory=LocalTimes)
    _pairs: KernelPairs = field(default_factory=KernelPairs)
    _finder: StampFinder | None = None
    _within: StampFinder | None = None
    """Of stamps that do not begin their line: who passed it on had a stamp of his own."""

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        last: Entry | None = None
        for line in lines_of(stream):
            entry = self.entry(line)
            if entry is not None:
                last = entry
                yield entry
            elif last is not None and line.strip() and not line.startswith("-- "):
                yield Entry(
                    last.time_ns, line, last.is_kernel, last.level, last.host, last.program,
                    last.pid, is_rest=True,
                )  # fmt: skip

    def entry(self, line: str) -> Entry | None:
        line = unpasted(line)
        if line.startswith("{"):
            return self._of_object(line)
        if (talos := _TALOS.match(line)) is not None:
            return self._of_talos(talos)
        before = _BEFORE.match(line)
        start = before.end() if before is not None else 0
        if self._finder is None:
            self._finder = StampFinder(self.years, _STYLES)
        rest = line[start:] if start else line
        rest = rest.removeprefix("[")
        stamp = self._finder.find(rest)
        if stamp is None or stamp.start != 0:
            return None
        priority = int(before["priority"]) if before is not None and before["priority"] else None
        is_5424 = before is not None and bool(before["version"])
        is_5424 |= priority is not None
        sent = _NETCONSOLE.match(rest, stamp.end)
        found = sent or _tagged(rest[stamp.end :], may_be_5424=is_5424)
        if found is None:
            return self._passed_on(stamp, rest[stamp.end :])
        stamp = self.times.saw(stamp, rest[stamp.end :])
        # rsyslog's ISO times have microseconds, the classic ones whole seconds.
        step = 1 if stamp.time_ns % NS else NS
        if sent is not None:
            at = self._pairs.place(stamp.time_ns, int(sent["micros"]) * 1000, step)
            number = int(sent["record"])
            return Entry(at, sent["text"], number < 8, number & 7, sent["host"], "kernel")
        return self._of(found.groupdict(), stamp.time_ns, step, priority)

    def _finder_within(self) -> StampFinder:
        if self._within is None:
            self._within = StampFinder(self.years, _STYLES)
        return self._within

    def _of_talos(self, before: re.Match[str]) -> Entry | None:
        line = before.string[before.end() :]
        stamp = self._finder_within().find(line)
        if stamp is None or stamp.start or not line.startswith("]: ", stamp.end):
            return None
        program = "kernel" if before["facility"] == "kern" else before["facility"]
        said = {**before.groupdict(), "program": program, "text": line[stamp.end + 3 :]}
        return self._of(said, self.times.saw(stamp).time_ns, 1, None)

    def _of_object(self, line: str) -> Entry | None:
        """What `aws logs` and a container's log have: a line as text, with the time it came."""
        found = of_object(line)
        if found is None or found[0].is_kernel:
            return None  # the last is a journal's
        at_ns, text = found[0].time_ns, " " + found[0].text
        passed_on = self._passed_on(Stamp(at_ns, 0, 0, has_zone=found[1], has_year=True), text)
        console = _CONSOLE.match(text)
        if passed_on is not None or console is None:
            return passed_on
        return self._of(console.groupdict(), self.times.saw_time(at_ns, found[1]), 1, None)

    def _passed_on(self, outer: Stamp, rest: str) -> Entry | None:
        before = _PASSED_ON.match(rest)
        line = rest[before.end() :] if before is not None else ""
        head = _BEFORE.match(line)
        if not line or head is None:
            return None
        line = line[head.end() :]
        stamp = self._finder_within().find(line)
        found = (
            None if stamp is None or stamp.start else _tagged(line[stamp.end :], may_be_5424=False)
        )
        if stamp is None or found is None:
            return None
        if outer.has_zone and outer.has_year and not (stamp.has_zone and stamp.has_year):
            stamp = passed_on(stamp, outer.time_ns) or stamp
        stamp = self.times.saw(stamp)
        priority = int(head["priority"]) if head["priority"] else None
        return self._of(found.groupdict(), stamp.time_ns, 1 if stamp.time_ns % NS else NS, priority)

    def _of(
        self, found: Mapping[str, str | None], at: int, step_ns: int, priority: int | None
    ) -> Entry:
        text, program = found["text"] or "", found.get("program") or "kernel"
        facility, pid = found.get("facility"), found.get("pid")
        is_kernel = program == "kernel" and pid is None and (priority or 0) < 8
        is_kernel &= facility in (None, "kern")
        if is_kernel and (own := _KERNEL_TIME.match(text)) is not None:
            text = text[own.end() :]
            at = self._pairs.place(at, int(own[1]) * NS + fraction_ns(own[2]), step_ns)
        if text.startswith("message repeated"):
            repeated = _REPEATED.match(text)
            text = repeated["text"] if repeated else text
        level = 6 if priority is None else priority & 7
        if facility is not None:
            level = kernel_lines.level_number(found.get("level") or "")
        return Entry(
            at, text, is_kernel, level, found.get("host") or "", program, int(pid) if pid else None
        )

    def hints(self) -> Hints:
        # Its daemon runs in the node's own zone; programs in containers mostly in UTC.
        east_ns = self.times.own.east_ns
        return Hints(zone_ns=None if east_ns is None else -east_ns)

    def kernel_claim(self) -> Claim | None:
        # Of a year or a zone that is not sure nothing follows for other files.
        return self._pairs.claim() if self.clock == ClockKind.WALL else None


def _tagged(body: str, *, may_be_5424: bool) -> re.Match[str] | None:
    found = _KERNEL_ALONE.match(body) or _OWN.match(body) or _TAGGED.match(body)
    if found is None and may_be_5424:
        found = _5424.match(body)
    return found or _PROCESS_ALONE.match(body) or _CONSOLE.match(body)


class MonotonicLog(Struct, LogParser):
    """journalctl -o short-monotonic: some milliseconds off the kernel log's clock."""

    path: Path
    offset_ns: int | None = None
    times: LocalTimes = field(default_factory=LocalTimes)
    _last: Entry | None = None

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        for line in lines_of(stream):
            found = kernel_lines.MONOTONIC.match(line)
            if found is not None:
                at = int(found["seconds"]) * NS + fraction_ns(found["fraction"])
                program, pid = found["program"], found["pid"]
                is_kernel = program == "kernel" and pid is None
                self._last = Entry(
                    at, found["text"], is_kernel, 6, found["host"], program,
                    int(pid) if pid else None,
                )  # fmt: skip
                yield self._last
            elif (last := self._last) is not None and line.strip() and not line.startswith("-- "):
                yield Entry(
                    last.time_ns, line, last.is_kernel, last.level, last.host, last.program,
                    last.pid, is_rest=True,
                )  # fmt: skip

    @property
    def clock(self) -> ClockKind:
        return ClockKind.KERNEL_LOG

    def claim(self, last_ns: int) -> Claim | None:
        if self.offset_ns is not None:
            return Claim(self.offset_ns, Trust.TOLD, f"--offset {self.offset_ns / NS:.9g}")
        how = "guessed: its last line was new when the file was written; --offset sets it"
        return Claim(written_ns(self.path) - last_ns, Trust.NONE, how)

    def notes(self) -> list[str]:
        return ["its clock is taken for the kernel log's"]
