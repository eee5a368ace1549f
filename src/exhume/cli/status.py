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
from exhume.store.absent import (
    GOES_ON,
    UNFINISHED,
    elsewhere,
    is_unfinished_import,
    of_the_system,
    recordings_inside,
)

ANSWER = Status
RECORDS, RECORDS_NOT, CANNOT_TELL = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    try:
        status = read(common.data_dir(args))
    except ExhumeError as error:
        return _cannot_tell(error.what, error.todo)
    except PermissionError as error:
        return _cannot_tell(f"no permission: {error.filename}", "ask as root, or as who records")
    except OSError as error:
        return _cannot_tell(f"{error.filename}: {error.strerror}")
    if args.json:
        common.print_json(status)
    else:
        from exhume.cli.render.status import render

        common.show(common.console(), render(status, view))
    if inside := recordings_inside(common.data_dir(args)):
        common.tell_problems([elsewhere(inside)])
    elif is_unfinished_import(common.data_dir(args)):
        common.tell_problems([f"{UNFINISHED}; {GOES_ON}"])
    elif status.state == "never" and (hint := of_the_system(common.data_dir(args))):
        common.tell_problems([hint])
    return RECORDS if status.state == "running" else RECORDS_NOT


def _cannot_tell(what: str, todo: str = "") -> int:
    print(f"exhume: can't tell: {printable(what)}", file=sys.stderr)
    for line in todo.splitlines():
        print(f"  {printable(line)}", file=sys.stderr)
    return CANNOT_TELL
