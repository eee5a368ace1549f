"""One fault, for real, on this machine: it is recorded, `exhume why` is asked, and its answer is
compared with what is true. Names, cores, rates and times are drawn anew each time.

It starves processes, fills cgroups and kills what it started. Everything is taken away again when
it ends, also when it is killed; what was left even so goes with the next run. Exit code: 0 the
answer was right (or silent, of a healthy twin), 1 it was not.

Examples:
  exhume lab run realtime-hog --yes-break-this-machine
  exhume lab run zombies --seed 7 --keep /tmp/zombies --yes-break-this-machine
  exhume lab run zombies --healthy --yes-break-this-machine    its twin, which harms nobody
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from msgspec import to_builtins

from exhume.cli.safe import printable
from exhume.errors import EXIT_USAGE, ExhumeError
from lab.faults import FAULTS
from lab.run import CONSENT, RECORDING, RUN_FILE, Run, keep, play

_MOST_SEED = 10**6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fault", choices=tuple(FAULTS), metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument(
        "--healthy", action="store_true", help="its twin: looks alike and harms nobody"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="the same names and times again")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR",
        help=f"keep the recording ({RECORDING}/) and all that was said ({RUN_FILE}) there",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="all of it as JSON")
    parser.add_argument(
        CONSENT, dest="consent", action="store_true", help="this machine may be harmed for a minute"
    )


def run(args: argparse.Namespace) -> int:
    if not args.consent:
        raise ExhumeError(
            f"{args.fault} harms this machine on purpose: others on it will wait, or be killed",
            todo=f"on a machine that you may break, add {CONSENT}",
            exit_code=EXIT_USAGE,
        )
    seed = args.seed if args.seed is not None else secrets.randbelow(_MOST_SEED)
    folder = args.keep or Path(tempfile.mkdtemp(prefix="exhume-lab-data-"))
    if args.keep is not None and folder.exists() and any(folder.iterdir()):
        raise ExhumeError(f"{folder} is not empty", todo="name a new one", exit_code=EXIT_USAGE)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = play(
            args.fault, healthy=args.healthy, seed=seed, data=folder / RECORDING, say=complain
        )
        if args.keep is not None:
            keep(done, folder / RUN_FILE)
    finally:
        if args.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps(to_builtins(done), indent=2))
    else:
        show(done)
        if args.keep is not None:
            print(f"\nkept: exhume why --data {printable(str(folder / RECORDING))}")
    return 0 if done.weighed.mark in ("first", "silent") else 1


def show(done: Run) -> None:
    weighed = done.weighed
    twin = ", its healthy twin" if done.healthy else ""
    print(f"{done.fault}{twin}, seed {done.seed}")
    for cause in done.expected.causes:
        where = f" on CPU {cause.core}" if cause.core is not None else ""
        victims = f", harms {' or '.join(cause.victims)}" if cause.victims else ""
        print(f"  true:   {cause.kind} by {' or '.join(cause.culprits)}{where}{victims}")
    if not done.expected.causes:
        print("  true:   nobody is harmed")
    print(f"  said:   {printable(weighed.said)} (confidence: {weighed.confidence or 'none'})")
    for what, right in weighed.details.items():
        print(f"  {what + ':':<8}{'right' if right else 'wrong'}")
    print(f"  weighed: {weighed.mark}; exhume why took {done.answer_seconds:.1f} s")


def complain(text: str) -> None:
    print(f"lab: {printable(text)}", file=sys.stderr)
