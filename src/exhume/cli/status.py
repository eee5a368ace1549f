"""What is recorded, since when, what is missing and why, and what it costs.

Exit codes: 0 it records, 1 it doesn't, 2 can't tell.

Examples:
  exhume status
  exhume status --data /var/lib/exhume --json
  exhume status > /dev/null || echo "nobody records this node"
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from exhume.cli import common
from exhume.cli.safe import printable
from exhume.errors import ExhumeError, ParseError
from exhume.model.jsonable import from_jsonable
from exhume.model.status import Disk, Status
from exhume.record import lock
from exhume.store.usage import look

ANSWER = Status
STATUS_FILE = "status.json"
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
    return RECORDS if status.state == "running" else RECORDS_NOT


def read(directory: Path) -> Status:
    """What the recorder last wrote about itself."""
    path = directory / STATUS_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Status("never", str(directory), Disk(None, None))
    except UnicodeDecodeError:
        raise ParseError(str(path), "the start", "UTF-8") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ParseError(str(path), "the start", "JSON") from None
    status = from_jsonable(Status, data, path=str(path))
    if status.state == "running" and lock.holder(directory) is None:
        # It was killed, or the machine went down: nobody was left to say so.
        status = replace(status, state="stopped", pid=None, since_wall_ns=status.updated_wall_ns)
    return replace(status, disk=look(directory, status.disk))
