"""What this node is and runs, in a form that can be compared.

Kernel, command line, sysctls, modules, network cards, units with a hash of their text, cron,
packages, images, mounts, processor, limits and configuration files. Each field has a class
(identity, volatile, config, state, load) and a hash. Secrets are left out, or are four hex digits:
enough to see that two differ. Nothing is sent anywhere and no network is asked, unless --cloud.

The recorder keeps one whenever something changes: 'exhume diff --at T1 --at T2' compares those.

Examples:
  exhume fingerprint -o node.json                  for 'exhume diff' and 'exhume compare'
  exhume fingerprint -o n.json --label zone=a --label pool=gpu
  exhume fingerprint --json | jq .fields.sysctl
"""

from __future__ import annotations

import argparse
import re

from exhume.cli import common
from exhume.cli.output import opened
from exhume.cli.progress import step
from exhume.host import Host
from exhume.model.fingerprint import Fingerprint

ANSWER = Fingerprint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")
    parser.add_argument(
        "--label", action="append", default=[], metavar="K=V", help="zone=a; more than once"
    )
    parser.add_argument("--node", default="", metavar="NAME", help="instead of the host name")
    parser.add_argument(
        "--cloud", action="store_true", help="ask the cloud's metadata service (IMDSv2) too"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    labels = parse_labels(args.label)
    from exhume.fleet import codec, fingerprint
    from exhume.fleet.collect import cloud
    from exhume.fleet.collect.found import Found

    def ask_cloud(_: Host) -> Found:
        return cloud.collect()

    with step("looking around"):
        extra = (("cloud", ask_cloud),) if args.cloud else ()
        found = fingerprint.fingerprint(Host(), labels, node=args.node, extra=extra)
    if args.output is not None:
        with opened(args.output) as file:
            file.write(fingerprint.packed(codec.encode(found), args.output))
    if args.output == "-":
        return 0
    if args.json:
        common.print_json(found)
    else:
        from exhume.cli.render.fingerprint import render

        screen = common.console()
        common.show(screen, render(found, common.viewpoint(args), args.output))
    return 0


def parse_labels(given: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[\w./-]{1,100}", name):
            raise common.usage(f"'{text}' is not a label", "write --label zone=a")
        if labels.setdefault(name, value) != value:
            raise common.usage(f"the label {name} is given twice", "give it once")
    return labels
