"""Record this node until stopped: every core, every second.

Needs root, or CAP_PERFMON and a few more for everything; says what it does without.

Examples:
  exhume record
  exhume record --hz 49 --keep 3d --max-bytes 20G
  exhume record --data /mnt/nvme/exhume --no-samples
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.times import parse_duration
from exhume.errors import EXIT_USAGE, ExhumeError

if TYPE_CHECKING:
    from exhume.record.session import Settings

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MOST_HZ = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    parser.add_argument(
        "--hz", type=float, default=97.0, help="samples a second and core (default: 97)"
    )
    parser.add_argument("--no-samples", action="store_true", help="counters only, no stacks")
    parser.add_argument(
        "--keep", default="24h", metavar="D", help="drop what is older (default: 24h)"
    )
    parser.add_argument(
        "--max-bytes", default="4G", metavar="SIZE", help="and what does not fit (default: 4G)"
    )
    parser.add_argument(
        "--max-pinned-bytes",
        default="2G",
        metavar="SIZE",
        help="for pinned stretches beyond that (default: 2G)",
    )
    parser.add_argument(
        "--budget", type=float, metavar="PERCENT",
        help="of one core that the recorder may take before it lowers its rate "
        "(default: 1, or 0.03 %% of a machine with more than 32 cores)",
    )  # fmt: skip
    parser.add_argument(
        "--follow", action="append", type=Path, default=[], metavar="FILE",
        help="a job's log whose failures to note (may be given more than once)",
    )  # fmt: skip
    parser.add_argument(
        "--signatures",
        type=Path,
        metavar="FILE",
        help="log signatures of your own (TOML), beside the built-in ones",
    )
    parser.add_argument(
        "--trust-user-kmsg", action="store_true",
        help="believe kernel log lines that a program wrote, too: to try out what a fault would "
        "look like, never where others may write to /dev/kmsg",
    )  # fmt: skip
    parser.add_argument("--segment", default="10m", metavar="D", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    from exhume.host import Host
    from exhume.record import session

    session.record(settings(args), Host())
    return 0


def settings(args: argparse.Namespace) -> Settings:
    from exhume.record.budget import default_budget_percent
    from exhume.record.recorder import Options
    from exhume.record.report import Retention
    from exhume.record.session import Settings
    from exhume.sources.log_files import load_signatures

    if not 1 <= args.hz <= MOST_HZ:
        raise ExhumeError(f"--hz {args.hz:g}: expected 1 to {MOST_HZ}", exit_code=EXIT_USAGE)
    budget = args.budget if args.budget is not None else default_budget_percent(os.cpu_count() or 1)
    return Settings(
        options=Options(
            data=common.data_dir(args),
            rate_hz=args.hz,
            budget_percent=budget,
            segment_ns=parse_duration(args.segment),
            trust_user_kmsg=args.trust_user_kmsg,
            follow=tuple(path.absolute() for path in args.follow),
            extra_signatures=load_signatures(args.signatures) if args.signatures else (),
        ),
        retention=Retention(
            keep_ns=parse_duration(args.keep),
            max_bytes=parse_size(args.max_bytes),
            pinned_max_bytes=parse_size(args.max_pinned_bytes),
        ),
        with_samples=not args.no_samples,
    )


def parse_size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ExhumeError(
            f"{text!r} is not a size",
            todo="write 500M, 4G or a number of bytes",
            exit_code=EXIT_USAGE,
        )
    return int(float(match[1]) * _UNITS[match[2].upper()])
