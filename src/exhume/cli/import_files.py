"""Turn files you already have into a recording like any other.

Takes perf.data (of `perf record`, as a file, written by a pipe, or the folder that --threads makes,
compressed or not), the text of `perf script`, and beside them what gives names: a copy of
/proc/kallsyms, and perf-PID.map files of JIT compilers. Takes mpstat (-P ALL, text or JSON) and
pidstat -u; copies of files of /proc (stat, softirqs, interrupts, schedstat, pressure, meminfo,
vmstat, cgroups, loadavg, softnet_stat) and cgroup.stat, counts of live cgroup directories and
tables of `docker ps -a` and `systemctl`, with their time above each, best as `### EPOCH …`, or one
without; CSV with a column of times; kernel logs, journals, syslog, and logs of programs. All may be
compressed (gzip, xz, zstd, bzip2). What a file is shows in what is in it, not in its name. Folders,
archives (tar, zip) and patterns stand for the files in them, and `**` in a pattern for all folders
below; what is nothing of the kind there is passed over, and named. A pipe is read to its end.
docs/import.md says what to collect.

Takes logs, too: of the kernel (dmesg in all its forms, consoles, netconsole), of the journal
(journalctl -o short to verbose, json, export), of syslog, and of programs and supervisors, whose
lines have a time stamp or are JSON with one. What is quoted, grepped or broken by a terminal counts
as well. `exhume events` shows what was found in them; most lines mean nothing.

All files end up on one time axis. perf's times count from about boot; their wall time comes from
clocks that were recorded (`perf record -k`), from marks of wall time and uptime in copies of /proc
files, from the time in a file's name (perf-HOST-20250102-03-04-05-120s.data, or as perf record
--switch-output names them), or from --offset, and the summary says which. Times without a zone, as
mpstat's, are local and taken as UTC, unless --zone tells, or the other files only fit another zone.
Where copies of /proc/stat and mpstat tell of the same second, the copies count. Samples of the idle
loop itself are not kept, as in any recording.

Of a log with lines of many machines those of the node that the other files are of are taken, or of
the one that --name says, else of the first; how many were left out is told.

Files of several nodes become a recording each. One that does not say which node it is of belongs to
the one whose name is in its own or its folder's.

An import that was interrupted goes on where it stopped when it is called again. Afterwards ask it
with --data DIR: without a window of your own, commands answer for all of it, and 03:14 is the last
time the clock showed that before its end.

Examples:
  exhume import perf.data
  exhume import /mnt/incident --into incident        a folder of captures and kallsyms
  exhume import evidence.tar.gz                      what somebody sent
  exhume import 'perf-*.data' kallsyms --name gpu-7   pieces of a night, the kernel's names
  exhume import dmesg.txt journal.json train.log      what the logs say
  exhume import out.perf.txt.gz --offset 1794773712.007
  perf script | exhume import -                      what another program writes
  exhume why --data incident                         what was it?
  exhume top --data incident --at 03:14:02           who ran then?
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from exhume.cli import common
from exhume.cli.safe import printable
from exhume.errors import EXIT_DATA, EXIT_INTERRUPTED, ExhumeError
from exhume.ingest.report import ImportReport
from exhume.ingest.tuning import tune

if TYPE_CHECKING:
    from exhume.ingest.importing import Watch

ANSWER = ImportReport
DEFAULT_INTO = Path("exhume-import")
SOME_FAILED = 1
_REFRESH_SECONDS = 0.1
_LOOKING, _READING, _WRITING = "looking", "importing", "writing"
"""What the files are; what is in them; the segments of what was read last."""
_TELLING_SHARE = 0.02
"""From here on the time that is left is told."""
_MOST_JOBS = 4
"""Unless more are asked for: together they stay within 500 MiB, also on a node of 96 cores."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="files, folders, archives or patterns; - for a pipe",
    )
    parser.add_argument(
        "--into",
        "--data",
        dest="into",
        type=Path,
        default=DEFAULT_INTO,
        metavar="DIR",
        help="the recording's directory; files of several nodes get one each below it "
        f"(default: {DEFAULT_INTO})",
    )
    parser.add_argument(
        "--name",
        "--node",
        dest="name",
        default="",
        metavar="NODE",
        help="the node they are of (default: as they say)",
    )
    parser.add_argument(
        "--offset", metavar="S", help="seconds to add to perf's times for wall time since 1970"
    )
    parser.add_argument(
        "--zone", metavar="Z",
        help="of local times that do not say it, as mpstat's: +02:00, Europe/Berlin (default: "
        "UTC, unless the other files only fit another one)",
    )  # fmt: skip
    parser.add_argument(
        "--symfs",
        type=Path,
        metavar="DIR",
        help="the root of the recorded machine, or a copy: programs are looked up below it",
    )
    parser.add_argument(
        "--event", default="", metavar="NAME",
        help="the event whose samples are wanted, of several (default: what measures time best)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=min(os.cpu_count() or 1, _MOST_JOBS), metavar="N",
        help=f"processes (default: one a core, {_MOST_JOBS} at most: each takes 100 to 200 MiB)",
    )  # fmt: skip
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    tune()
    from exhume.host import Host
    from exhume.ingest.importing import Options
    from exhume.ingest.importing import run as run_import

    if args.jobs < 1:
        raise common.usage(f"--jobs {args.jobs} is too few", "at least 1")
    options = Options(
        files=tuple(args.files),
        into=args.into,
        node=args.name,
        offset_ns=_nanoseconds(args.offset),
        zone=_zone(args.zone),
        symfs=args.symfs,
        event=args.event,
        jobs=args.jobs,
    )
    try:
        with _bar() as watch:
            report = run_import(options, Host(), watch, _tell)
    except KeyboardInterrupt:
        what = "interrupted; what was read is kept, and the same command goes on from there"
        raise ExhumeError(what, exit_code=EXIT_INTERRUPTED) from None
    if args.json:
        common.print_json(report)
    else:
        from exhume.cli.render.imported import render

        screen = common.console()
        common.show(screen, render(report, common.viewpoint(args), common.look_of(screen)))
    return _exit_code(report)


def _tell(what: str) -> None:
    print(f"exhume: {printable(what)}", file=sys.stderr, flush=True)


def _exit_code(report: ImportReport) -> int:
    states = {one.state for one in report.inputs}
    if not report.recordings or not states & {"imported", "known", "same"}:
        return EXIT_DATA
    return SOME_FAILED if "failed" in states else 0


def _nanoseconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        value = Decimal(text)
        if not value.is_finite() or abs(value) > 1 << 33:
            raise InvalidOperation
    except InvalidOperation:
        raise common.usage(
            f"--offset {text} is no number of seconds", "as 1794773712.007"
        ) from None
    return int(value * 1_000_000_000)


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if found := re.fullmatch(r"([+-])(\d\d):?(\d\d)", text):
        minutes = int(found[2]) * 60 + int(found[3])
        if minutes <= 18 * 60:
            return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    else:
        with suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(text)
    raise common.usage(f"--zone {text} is no time zone", "as +02:00 or Europe/Berlin")


@contextmanager
def _bar() -> Iterator[Watch | None]:
    """Bytes read, how fast, and how long it will take; only where somebody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    class _Remaining(TimeRemainingColumn):
        def render(self, task: Task) -> Text:
            """The first files are small, and their pace says nothing of the night's pieces; how
            long the last segments take nobody knows."""
            total = task.total or 0
            if total * _TELLING_SHARE <= task.completed < total:
                return super().render(task)
            return Text("-:--:--", style="progress.remaining")

    with Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=30), DownloadColumn(),
        TransferSpeedColumn(), _Remaining(),
        console=Console(file=sys.stderr, highlight=False), transient=True,
        auto_refresh=False,  # it would be done by a thread, and with one this process can't fork
    ) as progress:  # fmt: skip
        bar = progress.add_task(_LOOKING, total=None)
        shown = 0.0

        def watch(done: int, total: int) -> None:
            nonlocal shown
            is_due = time.monotonic() - shown >= _REFRESH_SECONDS
            if is_due:
                shown = time.monotonic()
            what = _LOOKING if not done else _READING if done < total else _WRITING
            progress.update(bar, description=what, completed=done, total=total, refresh=is_due)

        yield watch
