"""What separates ill nodes from well ones.

Every field of the fingerprints is tested for whether it goes with the illness, present or absent,
as a value, a threshold or a version. Attributes that divide the nodes in the same way are one
class; of a class what runs comes before what is set, and that before where it stands. A class that
the diagnosis of the ill nodes names as well is the answer. What could not be read on a node is not
counted as absent there.

Who is ill: two sets of files, or one directory and an expression over labels, fields, levels and
cases ('exhume why --json' beside the fingerprints, as NODE.case.json or {"node", "case"} lines in
cases.jsonl). Within one node: minutes with an event against minutes without.

Exit code: 0 something separates, 1 nothing does, or only levels (of load, memory, zombies), which
may be the illness itself, 2 it can't be told: too few nodes.

Examples:
  exhume compare --ill a/*.json --well b/*.json
  exhume compare fleet/ --ill zone==a
  exhume compare fleet/ --ill 'cases.zombie-cgroups>0' --well 'not cases'
  exhume compare fleet/ --ill 'zombies>1000'
  exhume compare --within /var/lib/exhume --event ena.tx_paused --last 12h
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from exhume.cli import common
from exhume.cli.progress import step
from exhume.errors import ExhumeError
from exhume.fleet.cohort import Fleet
from exhume.fleet.comparison import Comparison
from exhume.model.arrays import Bool

ANSWER = Comparison
EXIT = {"separates": 0, "nothing": 1, "unknown": 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "fleet", nargs="*", type=Path, metavar="DIR", help="fingerprints, for --ill EXPRESSION"
    )
    parser.add_argument("--ill", nargs="+", metavar="X", help="files, directories or an expression")
    parser.add_argument(
        "--well", nargs="+", metavar="X", help="the same (default, with an expression: all others)"
    )
    parser.add_argument("--within", type=Path, metavar="DIR", help="one node's recording")
    parser.add_argument(
        "--event",
        metavar="NAME",
        help="with --within: a signature, kind or subject, as 'exhume events' shows them",
    )
    parser.add_argument(
        "--case", type=Path, metavar="FILE", help="with --within: the symptom of a case"
    )
    parser.add_argument(
        "--each",
        default="1m",
        metavar="D",
        help="with --within: how long a window is (default: 1m)",
    )
    common.add_window(
        parser, default="24h", default_for="1h",
        without="with --within: --last 24h; of an imported recording, all of it.",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="every class and member")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from exhume.fleet.compare import compare

    if args.within is not None:
        from exhume.cli.compare_within import within

        answer = within(args)
    else:
        if args.event or args.case:
            raise common.usage("--event and --case go with --within", "name the recording")
        with step("reading fingerprints"):
            fleet, ill, well, used = _groups(args)
        with step("comparing"):
            answer = compare(fleet, ill, well, leave_out=used)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.compare import render

        screen = common.console()
        common.show(screen, render(answer, everything=args.all))
    return EXIT[answer.verdict]


def _groups(args: argparse.Namespace) -> tuple[Fleet, Bool, Bool, set[str]]:
    from exhume.fleet.loading import load

    if not args.ill:
        raise common.usage("nobody is said to be ill", "--ill FILES, or DIR --ill EXPRESSION")
    if args.fleet:
        fleet = load(args.fleet)
        return (fleet, *_by_expression(args, fleet))
    for text in (*args.ill, *(args.well or ())):
        if not Path(text).exists():
            raise common.usage(
                f"there is no file {text}", "or say of which fleet: exhume compare DIR --ill EXPR"
            )
    if not args.well:
        raise common.usage("--ill names files, and --well none", "give --well FILES too")
    ill_paths, well_paths = [Path(p) for p in args.ill], [Path(p) for p in args.well]
    ill_nodes, well_nodes = load(ill_paths).nodes, load(well_paths).nodes
    both = set(ill_nodes) & set(well_nodes)
    if both:
        raise ExhumeError(
            f"the node {sorted(both)[0]} is both ill and well",
            todo="put it in one group, or collect with 'exhume fingerprint --node NAME'",
        )
    fleet = load([*ill_paths, *well_paths])
    ill = np.isin(np.array(fleet.nodes), ill_nodes)
    return fleet, ill, ~ill, set()


def _by_expression(args: argparse.Namespace, fleet: Fleet) -> tuple[Bool, Bool, set[str]]:
    from exhume.fleet.expression import evaluate

    asked = evaluate(" ".join(args.ill), fleet)
    ill = asked.truth.holds & asked.truth.known
    well = ~asked.truth.holds & asked.truth.known
    used = set(asked.used)
    if args.well:
        others = evaluate(" ".join(args.well), fleet)
        well = others.truth.holds & others.truth.known
        used |= others.used
        if (ill & well).any():
            node = fleet.nodes[int(np.argmax(ill & well))]
            raise common.usage(f"the node {node} is both ill and well", "make the two exclude")
    for group, word in ((ill, "ill"), (well, "well")):
        if not group.any():
            raise ExhumeError(
                f"none of the {len(fleet.nodes):,} nodes is {word} by that",
                todo="look at what there is: exhume fingerprint, or the labels given",
            )
    return ill, well, used
