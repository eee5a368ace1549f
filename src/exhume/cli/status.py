"""What is recorded, since when, what is missing and why, and what it costs.

Exit codes: 0 it records, 1 it doesn't, 2 can't tell.

Examples:
  exhume status
  exhume status --data /var/lib/exhume --json
  exhume status > /dev/null || echo "nobody records this node"
"""

from __future__ import annotations

import argparse
import sys

from exhume.cli import common
from exhume.cli.safe import printable
from exhume.errors import ExhumeError
from exhume.model.status import Status
from exhume.record.status import read
from exhume.store.absent import elsewhere, recordings_inside

ANSWER = Status
RECORDS, RECORDS_NOT, CANNOT_TELL = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    try:
        status = read(common.data_dir(args))
    except (ExhumeError, OSError) as error:
        print(f"exhume: can't tell: {printable(str(error))}", file=sys.stderr)
        return CANNOT_TELL
    if args.json:
        common.print_json(status)
    else:
        from exhume.cli.render.status import render

        common.show(common.console(), render(status, view))
    if inside := recordings_inside(common.data_dir(args)):
        common.tell_problems([elsewhere(inside)])
    return RECORDS if status.state == "running" else RECORDS_NOT
