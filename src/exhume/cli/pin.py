"""Keep a stretch longer than the rest: Friday's incident is read on Monday.

Pinned stretches, with ten minutes before and after, outlive --keep and --max-bytes of the
recorder, up to its --max-pinned-bytes. Without a window the pins are listed.

Examples:
  exhume pin --at 03:14:00 --for 2m --reason "ENA reset, job 4711"
  exhume pin
  exhume pin --remove 1794773460000000000-1794773465000000000-9f86d081
"""

from __future__ import annotations

import argparse

from msgspec import Struct

from exhume.cli import common
from exhume.cli.safe import printable
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.window import Window


class PinRow(Struct, frozen=True):
    id: str
    window: Window
    reason: str


class Pins(Struct, frozen=True):
    """What is kept longer than the rest."""

    pins: tuple[PinRow, ...]


ANSWER = Pins


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="10m", default_for="1m", without="the pins are listed.")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for whoever reads it")
    parser.add_argument("--remove", metavar="ID", help="let a pin go")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.store import pins
    from exhume.store.absent import no_recording, recordings_inside

    root, view = common.data_dir(args), common.viewpoint_on(args)
    if not root.is_dir() or recordings_inside(root):
        raise no_recording(root)
    if args.remove is not None:
        if not pins.unpin(root, args.remove):
            raise ExhumeError(
                f"there is no pin {args.remove}",
                todo="`exhume pin` lists them",
                exit_code=EXIT_USAGE,
            )
    elif any(value is not None for value in (args.last, args.at, args.start)):
        pins.pin(root, common.window_of(args, view), args.reason)
    answer = Pins(tuple(PinRow(p.id, p.window, p.reason) for p in pins.pins(root)))
    if args.json:
        common.print_json(answer)
        return 0
    if not answer.pins:
        print("Nothing is pinned.")
    for row in answer.pins:
        print(f"{row.id}  {view.show_window(row.window)}  {printable(row.reason)}")
    return 0
