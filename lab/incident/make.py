"""All files of the incident in one folder, and the truth about them in a folder below."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from lab.incident import copies, job, kernel_log, mpstat, perf_pieces
from lab.incident.plan import Incident

TRUTH = Path("truth") / "truth.json"


def make(folder: Path, incident: Incident, say: Callable[[str], None] = lambda _: None) -> None:
    (folder / TRUTH.parent).mkdir(parents=True, exist_ok=True)
    say("mpstat")
    mpstat.write(folder / "mpstat-P-ALL-1.txt", incident)
    say("perf script")
    samples = perf_pieces.write_all(folder, incident)
    say("logs and copies")
    kernel_log.write(folder / "dmesg.txt", incident)
    job.write(folder / f"job-driver-{incident.job}.log", incident)
    copies.write_interrupts(folder / "proc_interrupts.log", incident)
    copies.write_cgroups(folder / "proc_cgroups.log", folder / "memory_cgroups.csv", incident)
    copies.write_docker(folder / "docker_ps.log", incident)
    copies.write_units(folder / "systemctl.log", incident)
    (folder / TRUTH).write_text(json.dumps(truth(incident, samples), indent=1) + "\n")


def truth(incident: Incident, samples: int) -> dict[str, Any]:
    bursts = [
        {
            **to_builtins(burst),
            "start_epoch_s": incident.epoch_s(burst.start_s),
            "end_epoch_s": incident.epoch_s(burst.end_s),
            "reset_epoch_s": None if burst.reset_s is None else incident.epoch_s(burst.reset_s),
        }
        for burst in incident.bursts
    ]
    return {
        "root_cause": {
            "kind": "zombie-cgroups",
            "culprit": {"unit": incident.unit, "container": incident.container},
            "details": {
                "payer": incident.payer,
                "victim": incident.job,
                "core": incident.hot_core,
                "queue": incident.queue_cores.index(incident.hot_core),
                "interface": incident.interface,
            },
        },
        "host": incident.host,
        "seed": incident.seed,
        "cores": incident.cores,
        "began_epoch_s": incident.began_s,
        "seconds": incident.seconds,
        "zombies": [incident.zombies_at(0), incident.zombies_at(incident.seconds)],
        "live_cgroups": incident.live_cgroups,
        "restarts": len(incident.restarts_s),
        "samples": samples,
        "bursts": bursts,
        "failures_epoch_s": [
            incident.epoch_s(job.failed_s(incident, burst.reset_s))
            for burst in incident.resets
            if burst.reset_s is not None
        ],
        "innocent": [incident.trainer],
    }
