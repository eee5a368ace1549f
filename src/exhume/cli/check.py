"""What may hurt this node later: loops, zombies, crowded cores, unknown agents.

Looks at the last hour recorded, where this node records, and at the node itself: systemd's
services, what is enabled and by whom it was brought, containers, memory cgroups, interrupts, the
kernel. Nothing is changed, and a machine image can be checked before it is rolled out. An agent is
unknown where no package brought it, or, with --known, where that file does not name it. With an
imported recording as --data it looks at the last hour of that, and not at this machine.

Exit code: 0 clean, 1 risks, 2 can't tell (something that should be there could not be seen). That
is also what node-problem-detector asks of a custom plugin; --npd prints its one line.

Examples:
  exhume check
  exhume check --json | jq '.risks[].claim'
  exhume check --npd
  exhume check --known units.txt      one name or pattern a line; any other enabled unit is a risk
  exhume check || exit 1              in the CI of an image, on a node that has just booted
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.progress import step
from exhume.cli.safe import printable
from exhume.inquiry.runnable import on_data, risks_on_data
from exhume.model.check import CheckAnswer
from exhume.model.window import Ended

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = CheckAnswer
EXIT_CODES = {"clean": 0, "risks": 1, "unknown": 2}
NPD_BYTES = 80
"""node-problem-detector cuts a longer message, wherever that is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    parser.add_argument(
        "--npd", action="store_true", help="one line for node-problem-detector's custom plugin"
    )
    parser.add_argument(
        "--known", type=Path, metavar="FILE", help="the units that may be enabled: all else is told"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    if args.npd and args.json:
        raise common.usage("--npd and --json exclude each other", "give one of them")
    view = common.viewpoint_on(args)
    with step("looking at the node"):
        answer = ask(args, view.ended)
    if args.npd:
        print(npd_line(answer))
    elif args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.check import render

        screen = common.console()
        screen.print(render(answer, view, screen.width), crop=False)
    return EXIT_CODES[answer.status]


def ask(args: argparse.Namespace, ended: Ended | None) -> CheckAnswer:
    from msgspec.structs import replace

    from exhume.host import Host
    from exhume.inquiry.check import check, check_imported

    known = None if args.known is None else read_known(args.known)
    if ended is None:
        answer = check(_recording(args), Host(), known)
    elif known is None:
        answer = check_imported(common.open_recording(args), ended)
    else:
        raise common.usage("--known is about this node, not about imported files", "without --data")
    harmed = on_data(answer.harmed, args.data)
    return replace(answer, risks=risks_on_data(answer.risks, args.data), harmed=harmed)


def read_known(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise common.usage(
            f"--known {path} can't be read: {error}", "give a text file: one unit or pattern a line"
        ) from error
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def _recording(args: argparse.Namespace) -> Recording | None:
    """None where nobody records: a look is possible all the same."""
    if args.data is None and not common.data_dir(args).is_dir():
        return None
    return common.open_recording(args)


def npd_line(answer: CheckAnswer) -> str:
    if answer.status == "clean":
        said = "no risks seen"
    elif answer.status == "unknown":
        said = f"can't tell: {answer.missing[0]}"
    else:
        many = f"{len(answer.risks)} risks: " if len(answer.risks) > 1 else ""
        said = many + "; ".join(one.claim for one in answer.risks)
    line = printable(said).encode("utf-8", "replace")
    if len(line) > NPD_BYTES:
        line = line[: NPD_BYTES - 3].rstrip() + b"..."
    return line.decode("utf-8", "ignore")
