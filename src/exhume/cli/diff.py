"""What differs between two nodes, or between two times of one.

A and B are files of 'exhume fingerprint' or directories of recordings, whose newest fingerprint
counts; one alone is compared with this node now. With --at twice: what changed on this node between
two times, from what its recorder kept. What runs comes first, then modules, unit files, packages
and settings, labels last. Which node it is, what changes by itself and the load of the moment are
left out unless --all.

Exit code: 0 nothing of class config differs, 1 something does, 2 it can't be told, because parts
are missing, nothing was kept of that time, or the versions can't be compared.

Examples:
  exhume diff good.json bad.json
  exhume diff golden-image.json             against this node now
  exhume diff --at 2026-11-01 --at now      what changed on this node?
"""

from __future__ import annotations

import argparse
from pathlib import Path

from exhume.cli import common
from exhume.cli.figures import duration
from exhume.cli.progress import step
from exhume.cli.times import Viewpoint, parse_time
from exhume.errors import ExhumeError
from exhume.fleet.diff import Diff, diff
from exhume.host import Host
from exhume.model.fingerprint import Fingerprint

ANSWER = Diff
EXIT = {"same": 0, "differs": 1, "unknown": 2}
EXIT_CANNOT_TELL = 2
_STALE_NS = 2 * 3600 * 1_000_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sides", nargs="*", type=Path, metavar="A B", help="file or recording")
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="T",
        help="twice: 03:14, 2h ago, now",
    )
    common.add_data(parser)
    parser.add_argument("--all", action="store_true", help="every field of every class")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.fleet.codec import OtherVersionError

    view = common.viewpoint_on(args) if args.at else common.viewpoint(args)
    notes: list[str] = []
    try:
        with step("reading fingerprints"):
            one, two = _both(args, view, notes)
    except OtherVersionError as error:
        raise _unknown(error.what, error.todo) from error
    answer = diff(one[1], two[1], (one[0], two[0]), everything=args.all)
    if one[1].exhume != two[1].exhume:
        notes.append(
            f"collected by exhume {one[1].exhume} and {two[1].exhume}: a field that only one of "
            "them knows shows as a difference"
        )
    from msgspec.structs import replace

    answer = replace(answer, notes=tuple(notes))
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.diff import render

        screen = common.console()
        common.show(screen, render(answer, view, everything=args.all))
    return EXIT[answer.verdict]


def _both(
    args: argparse.Namespace, view: Viewpoint, notes: list[str]
) -> tuple[tuple[str, Fingerprint], tuple[str, Fingerprint]]:
    if args.at:
        if args.sides or len(args.at) != 2:
            raise common.usage(
                "--at is given twice, and without files",
                "exhume diff --at 03:00 --at now compares this node with itself",
            )
        first, second = sorted(parse_time(text, view) for text in args.at)
        data = common.data_dir(args)
        return _at(data, first, view, notes), _at(data, second, view, notes)
    if not 1 <= len(args.sides) <= 2:
        raise common.usage(
            f"{len(args.sides)} given, two are compared", "exhume diff A B, or --at T1 --at T2"
        )
    one = _side(args.sides[0])
    if len(args.sides) == 2:
        return one, _side(args.sides[1])
    from exhume.fleet.fingerprint import fingerprint

    return one, ("this node now", fingerprint(Host()))


def _side(path: Path) -> tuple[str, Fingerprint]:
    from exhume.fleet import codec
    from exhume.store import fingerprints

    if path.is_dir():
        stored = fingerprints.stored(path)
        if not stored:
            raise _unknown(
                f"there is no fingerprint in {path}",
                "a recorder keeps them there; or name a file of 'exhume fingerprint -o FILE'",
            )
        return str(path), codec.read(stored[-1].path)
    return str(path), codec.read(path)


def _at(data: Path, wall_ns: int, view: Viewpoint, notes: list[str]) -> tuple[str, Fingerprint]:
    from exhume.fleet import codec
    from exhume.store import fingerprints

    held = fingerprints.in_force(data, wall_ns)
    shown = view.show(wall_ns, with_date=True)
    if held is None:
        stored = fingerprints.stored(data)
        what = f"no fingerprint of {shown} in {data}"
        if stored:
            first = view.show(stored[0].wall_ns, with_date=True)
            raise _unknown(f"{what}; the first is of {first}", "ask for a later time")
        raise _unknown(what, "'exhume up' keeps them; --data DIR names another recording")
    checked = held.checked_wall_ns()
    if wall_ns - checked > _STALE_NS:
        notes.append(
            f"{shown} is {duration(wall_ns - checked)} after the recorder last looked, at "
            f"{view.show(checked, with_date=True)}: changes since are not known"
        )
    return shown, codec.read(held.path)


def _unknown(what: str, todo: str) -> ExhumeError:
    return ExhumeError(what, todo=todo, exit_code=EXIT_CANNOT_TELL)
