"""Samples and series of a window in the formats of other tools.

- folded: `process;frame;frame count`, for flamegraph.pl, inferno and speedscope
- speedscope: samples in order of time, for speedscope
- pprof: samples added up, with labels for who and where, for `go tool pprof` and Grafana
- firefox: a track a core and a thread, markers for events, for profiler.firefox.com
- svg: a flame graph in one file, zoom and search inside, for any browser
- csv: a field over time (--field), or the map of core × time, for spreadsheets, pandas, DuckDB

The file goes to standard output, or to FILE, which is replaced only when all is written; a FILE
that ends in .gz is compressed. A line on standard error says what went into it. firefox and
speedscope hold every sample, so their windows are limited; the others add up. docs/export.md says
more about each.

Examples:
  exhume export --format svg --at 03:14:02 --for 5s --core 39 -o burst.svg
  exhume export --format firefox --from 03:13 --to 03:16 -o incident.firefox.json.gz
  exhume export --format pprof --last 1h -o node.pb.gz && go tool pprof -http : node.pb.gz
  exhume export --format speedscope --at 03:14:02 --by core -o burst.speedscope.json
  exhume export --format folded --last 1m | flamegraph.pl > flame.svg
  exhume export --format csv --field softnet.squeezed --last 12h -o squeezed.csv
  exhume export --format csv --last 12h --step 10s -o cores.csv
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterable, Sequence
from typing import IO

from exhume.cli import common
from exhume.cli.figures import count, size
from exhume.cli.output import opened
from exhume.cli.progress import step
from exhume.cli.safe import printable
from exhume.cli.series import field_of
from exhume.cli.times import parse_duration
from exhume.errors import ExhumeError

FORMATS = ("folded", "speedscope", "pprof", "firefox", "svg", "csv")
_BY = ("process", "thread", "core")
_WIDTHS = 300, 20_000
# Which options speak of which format only.
_OF_FORMAT = {
    "mark_kernel": ("--mark-kernel", "folded"),
    "by": ("--by", "speedscope"),
    "width": ("--width", "svg"),
    "title": ("--title", "svg"),
    "field": ("--field", "csv"),
    "instance": ("--instance", "csv"),
    "raw": ("--raw", "csv"),
    "step": ("--step", "csv"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", required=True, choices=FORMATS, help="see above")
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
    common.add_data(parser)
    common.add_window(parser, default="1m")
    common.add_filter(parser)
    group = parser.add_argument_group("of one format only")
    group.add_argument(
        "--mark-kernel", action="store_true", help="folded: kernel frames end in _[k]"
    )
    group.add_argument(
        "--by", choices=_BY, help="speedscope: a profile for each (default: process)"
    )
    group.add_argument("--width", type=int, metavar="N", help="svg: in pixels (default: 1200)")
    group.add_argument("--title", metavar="TEXT", help="svg: (default: the node and the window)")
    group.add_argument(
        "--field", metavar="ID", help="csv: irq.count, memcg.zombies, …; see 'exhume fields'"
    )
    group.add_argument(
        "--instance", action="append", default=[], metavar="NAME",
        help="csv: some of the field's, also with * and ?; may be given more than once",
    )  # fmt: skip
    group.add_argument("--raw", action="store_true", help="csv: counters, not their rate")
    group.add_argument(
        "--step", metavar="D",
        help="csv: how long a column of the map of cores is (default: 1s); it begins at a multiple "
        "of D, so the first and the last reach beyond the window",
    )  # fmt: skip
    parser.add_argument("--utc", action="store_true", help="times in UTC instead of the local zone")


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window, chosen = common.window_of(args, view), common.filter_of(args)
    _check(args)
    from exhume import export

    options = export.Options(
        by=args.by or "process",
        mark_kernel=args.mark_kernel,
        width=args.width or export.Options().width,
        title=args.title or "",
        field=field_of(args.field) if args.field else None,
        instances=tuple(args.instance),
        raw=args.raw,
        step_ns=parse_duration(args.step or "1s"),
    )
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        common.need_cores(recording, chosen.cores)
        made = export.make(args.format, recording, window, chosen, options)
        if not made.count:
            common.need_sampled(recording, window, chosen)
            raise _nothing_to_write(args.format, (*recording.problems(window), *made.notes))
    with step("writing"):
        written = _write(made.pieces, args.output, already_gzip=args.format == "pprof")
    common.tell_problems(tuple(dict.fromkeys((*recording.problems(window), *made.notes))))
    amount = count(made.count, made.noun)
    seconds = (made.window or window).seconds
    _tell(f"{amount}, {seconds:g} s, {size(written)}", args.output)
    return 0


def _nothing_to_write(name: str, why: Sequence[str]) -> ExhumeError:
    """A file without anything would be taken for an idle machine by whoever reads it."""
    what = "; ".join(dict.fromkeys(why)) or "there is nothing of that in this window"
    shows = "'exhume fields' and 'exhume status' tell what is recorded"
    todo = shows if name == "csv" else "'exhume top' of the same window shows what there is"
    return ExhumeError(f"nothing is written: {what}", todo=todo)


def _check(args: argparse.Namespace) -> None:
    for name, (option, only) in _OF_FORMAT.items():
        if getattr(args, name) not in (None, False, []) and args.format != only:
            raise common.usage(f"{option} is of --format {only}", f"not of {args.format}")
    if args.width is not None and not _WIDTHS[0] <= args.width <= _WIDTHS[1]:
        raise common.usage(f"--width {args.width}", f"from {_WIDTHS[0]} to {_WIDTHS[1]}")
    if args.format == "csv" and args.instance and not args.field:
        raise common.usage("--instance goes with --field", "name the field: --field irq.count")
    if args.format == "csv" and args.step and args.field:
        raise common.usage("--step is of the map of cores", "a --field has its own readings")
    if args.format == "pprof" and args.output is None and sys.stdout.isatty():
        raise common.usage(
            "a terminal can't show pprof, which is binary", "write a file: -o profile.pb.gz"
        )


def _write(pieces: Iterable[bytes], output: str | None, *, already_gzip: bool) -> int:
    """The number of bytes written."""
    with opened(output) as file:
        written = _Counted(file)
        if output is not None and output.endswith(".gz") and not already_gzip:
            with gzip.GzipFile(filename="", mode="wb", fileobj=written, mtime=0) as packed:
                for piece in pieces:
                    packed.write(piece)
        else:
            for piece in pieces:
                written.write(piece)
        return written.bytes


class _Counted:
    """A file that counts what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.bytes = 0

    def write(self, piece: bytes) -> int:
        self.bytes += len(piece)
        return self._file.write(piece)

    def flush(self) -> None:
        self._file.flush()


def _tell(amount: str, output: str | None) -> None:
    """On stderr: the file itself may be on stdout."""
    where = "" if output in (None, "-") else f" → {printable(output)}"
    print(f"exhume: {amount}{where}", file=sys.stderr)
