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
from pathlib import Path

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
    hint = _about_imports(common.data_dir(args))
    if args.json:
        common.print_json(status)
    else:
        from exhume.cli.render.status import render

        common.show(common.console(), render(status, view, is_of_imports=bool(hint)))
    if not hint and status.state == "never":
        hint = of_the_system(common.data_dir(args))
    if hint:
        common.tell_problems([hint])
    return RECORDS if status.state == "running" else RECORDS_NOT


def _about_imports(root: Path) -> str:
    """Where recordings are below it, or one has only begun to be made of files."""
    if inside := recordings_inside(root):
        return elsewhere(inside)
    return f"{UNFINISHED}; {GOES_ON}" if is_unfinished_import(root) else ""


def _cannot_tell(what: str, todo: str = "") -> int:
    print(f"exhume: can't tell: {printable(what)}", file=sys.stderr)
    for line in todo.splitlines():
        print(f"  {printable(line)}", file=sys.stderr)
    return CANNOT_TELL
