"""Ask why again: of a run that was kept, or of the 96-core incident, whose files are made, imported
and asked. Nothing is harmed, and root is not needed. Exit code: 0 the answer was right, 1 it was
not.

Examples:
  exhume lab replay incident --seed 7
  exhume lab replay incident --hours 2 --keep /tmp/incident
  exhume lab replay /tmp/zombies                what `lab run --keep` left there
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exhume.errors import EXIT_DATA, EXIT_USAGE, ExhumeError
from lab.commands.run_fault import complain, show
from lab.expected import Cause, Expected, weigh
from lab.run import RECORDING, RUN_FILE, Run, ask_why

INCIDENT = "incident"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="incident, or the folder of a kept run")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of the incident: another one (default: 1)"
    )
    parser.add_argument(
        "--hours", type=float, default=12.0, metavar="H", help="of the incident (default: 12)"
    )
    parser.add_argument(
        "--cores", type=int, default=96, metavar="N", help="of the incident (default: 96)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the files and the recording there"
    )


def run(args: argparse.Namespace) -> int:
    if args.name == INCIDENT:
        if not (0.1 <= args.hours <= 48 and 4 <= args.cores <= 512):
            raise ExhumeError(
                "an incident has 6 minutes to 48 hours and 4 to 512 cores", exit_code=EXIT_USAGE
            )
        done = _incident(args)
    else:
        done = again(Path(args.name))
    show(done)
    return 0 if done.weighed.mark in ("first", "silent") else 1


def again(folder: Path) -> Run:
    """What a kept run's recording says today."""
    try:
        kept: dict[str, Any] = json.loads((folder / RUN_FILE).read_text())
        causes = [cause_of(cause) for cause in kept["expected"]["causes"]]
        fault, healthy, seed = str(kept["fault"]), bool(kept["healthy"]), int(kept["seed"])
        troubles = tuple((float(a), float(b)) for a, b in kept["troubles"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExhumeError(
            f"{folder} holds no kept run: {error}",
            todo=f"name 'incident' or a folder that `exhume lab run --keep` made ({RUN_FILE})",
            exit_code=EXIT_DATA,
        ) from None
    return _asked(fault, healthy, seed, Expected(tuple(causes)), troubles, folder / RECORDING)


def cause_of(kept: Mapping[str, Any]) -> Cause:
    return Cause(
        kind=str(kept["kind"]),
        culprits=tuple(kept["culprits"]),
        payers=tuple(kept["payers"]),
        victims=tuple(kept["victims"]),
        core=kept["core"],
    )


def _incident(args: argparse.Namespace) -> Run:
    from lab.incident.make import TRUTH, make
    from lab.incident.plan import plan

    with tempfile.TemporaryDirectory(prefix="exhume-lab-") as temporary:
        folder = args.keep or Path(temporary)
        files, data = folder / "files", folder / RECORDING
        if folder.exists() and any(folder.iterdir()):
            raise ExhumeError(f"{folder} is not empty", todo="name a new one", exit_code=EXIT_USAGE)
        make(files, plan(args.seed, args.hours, args.cores), complain)
        complain("import")
        for problem in import_all(files, data):
            complain(f"import: {problem}")
        truth = json.loads((files / TRUTH).read_text())
        cause, details = truth["root_cause"], truth["root_cause"]["details"]
        named = tuple(name for name in cause["culprit"].values() if name)
        expected = Expected(
            (Cause(cause["kind"], named, (details["payer"],), core=details["core"]),)
        )
        recording = next((path.parent for path in data.glob("*/segments")), data)
        began = truth["began_epoch_s"]
        window = ("--from", str(began), "--to", str(began + truth["seconds"]))
        return _asked(INCIDENT, False, args.seed, expected, (), recording, *window)


def import_all(files: Path, data: Path) -> list[str]:
    """What was wrong with files that were read even so: part of the evidence is missing then."""
    inputs = [str(path) for path in sorted(files.iterdir()) if path.is_file()]
    command = [sys.executable, "-m", "exhume", "import", "--json", "--into", str(data), *inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    read = json.loads(done.stdout)["inputs"] if done.stdout else []
    problems = [
        f"{Path(one['path']).name}: {problem}" for one in read for problem in one["problems"]
    ]
    if done.returncode:
        raise ExhumeError("; ".join(["the import failed", *problems, done.stderr.strip()]))
    return problems


def _asked(
    fault: str,
    healthy: bool,
    seed: int,
    expected: Expected,
    troubles: tuple[tuple[float, float], ...],
    data: Path,
    *window: str,
) -> Run:
    began = time.monotonic()
    case = ask_why(data, *window)
    took = round(time.monotonic() - began, 2)
    return Run(fault, healthy, seed, expected, troubles, weigh(case, expected), took, case)
