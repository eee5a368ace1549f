"""python -m lab.incident FOLDER --seed 7: the files of the incident. See `lab.incident`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from lab.incident.make import make
from lab.incident.plan import plan


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.incident", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go; made if it is not there")
    parser.add_argument("--seed", type=int, required=True, help="decides about everything random")
    parser.add_argument("--hours", type=float, default=12.0, help="default: 12")
    parser.add_argument("--cores", type=int, default=96, help="default: 96")
    parser.add_argument(
        "--hz", type=float, default=97.0, help="of the pieces with a reset (default: 97)"
    )
    args = parser.parse_args(arguments)
    if not (0.1 <= args.hours <= 48 and 4 <= args.cores <= 512 and 1 <= args.hz <= 1000):
        parser.error("6 minutes to 48 hours, 4 to 512 cores, 1 to 1000 Hz")
    if args.folder.exists() and any(args.folder.iterdir()):
        parser.error(f"{args.folder} is not empty")
    began = time.monotonic()
    make(args.folder, plan(args.seed, args.hours, args.cores, args.hz), _say)
    _say(f"done in {time.monotonic() - began:.0f} s")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
