"""A made-up fleet of fingerprints and cases with a known cause, to try 'exhume compare' on.

Zones, images, drift, noise and unread values; the cause hides behind a zone that separates exactly
as well. `single`: a unit crash-loops on the ill nodes only. `absence`: a unit runs on all but the
ill. `threshold`: a setting is too low on them. `none`: nothing was planted, the ill are drawn by
lot.

Examples:
  exhume lab fleet --nodes 200 --cause single -o /tmp/fleet
  exhume compare /tmp/fleet --ill cases
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.fleet import codec, table
from exhume.fleet.cohort import UNKNOWN, CaseFacts, Fleet
from exhume.fleet.fingerprint import write_file
from exhume.model.fingerprint import AREA, VERSION, Field, Fingerprint, hash_of_fields
from lab.fleet_model import CAUSES, Settings, Simulated, simulate

FILES_UP_TO = 300
"""More nodes than this become one Parquet file unless asked otherwise."""
_TIME_NS = 1_800_000_000_000_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=200, metavar="N", help="6 to 100,000")
    parser.add_argument("--cause", choices=CAUSES, default="single", help="what is planted")
    parser.add_argument("--attributes", type=int, default=600, metavar="N", help="fields in all")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the same fleet again")
    parser.add_argument(
        "--form", choices=("files", "parquet"),
        help=f"one file a node (up to {FILES_UP_TO} nodes the default), or one for all",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where to")


def run(args: argparse.Namespace) -> int:
    if not 6 <= args.nodes <= 100_000 or not 20 <= args.attributes <= 20_000:
        raise ExhumeError(
            "a fleet has 6 to 100,000 nodes and 20 to 20,000 attributes",
            todo="exhume lab fleet --nodes 200 -o DIR",
            exit_code=EXIT_USAGE,
        )
    if args.output.exists() and any(args.output.iterdir()):
        raise ExhumeError(
            f"{args.output} is not empty", todo="name a new directory", exit_code=EXIT_USAGE
        )
    made = simulate(Settings(args.nodes, args.cause, args.seed, args.attributes))
    form = args.form or ("files" if args.nodes <= FILES_UP_TO else "parquet")
    write(made, args.output, form)
    planted = made.cause_key or "nothing"
    print(
        f"{args.nodes:,} nodes, {int(made.ill.sum()):,} ill, planted: {planted}; "
        f"try: exhume compare {args.output} --ill cases"
    )
    return 0


def write(made: Simulated, folder: Path, form: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        table.write(made.fleet, folder / "fleet.parquet")
    else:
        for one in fingerprints(made.fleet):
            write_file(folder / f"{one.node}.json.zst", codec.encode(one))
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as file:
        for place, cases in sorted(made.fleet.cases.items()):
            for facts in cases:
                line = {"node": made.fleet.nodes[place], "case": case_json(facts)}
                file.write(json.dumps(line) + "\n")


def fingerprints(fleet: Fleet) -> Iterator[Fingerprint]:
    """Each node's own, as if it had been collected there."""
    inventories = {column.area for column in fleet.columns if AREA[column.area].is_inventory}
    for place, node in enumerate(fleet.nodes):
        fields: dict[str, dict[str, Field]] = {area: {} for area in inventories}
        unread: dict[str, list[str]] = {}
        known: set[str] = set()
        for column in fleet.columns:
            code = int(column.codes[place])
            if code == UNKNOWN:
                unread.setdefault(column.area, []).append(column.name)
                continue
            known.add(column.area)
            value = column.values[code]
            if value is not None:
                fields.setdefault(column.area, {})[column.name] = Field.of(column.kind, value)
        missing: dict[str, str] = {}
        for area, names in unread.items():
            if area in known:
                missing |= {f"{area}/{name}": "Input/output error" for name in names}
            else:
                fields.pop(area, None)
                missing[area] = f"{area} did not answer within 5 s"
        yield Fingerprint(
            fingerprint=VERSION,
            node=node,
            wall_ns=_TIME_NS,
            exhume="lab",
            cpu_seconds=0.0,
            fields=fields,
            missing=missing,
            hash=hash_of_fields(fields),
        )


def case_json(facts: CaseFacts) -> dict[str, Any]:
    """As `exhume why --json` writes it, as far as a comparison looks."""
    cause = {"kind": facts.kind, "culprit": dict(facts.culprits), "details": {}}
    return {
        "symptom": {"kind": "network-reset", "time": _TIME_NS / 1e9, "victim": "eth0",
                    "source": "kernel-log"},
        "verdict": {"status": facts.status, "summary": "", "confidence": "medium",
                    "root_cause": cause},
        "chain": [], "suspects": [cause], "rejected": [], "risks": [], "evidence": [],
        "actions": {"now": "", "for_good": "", "undo": "", "verify": ""}, "gaps": [],
    }  # fmt: skip
