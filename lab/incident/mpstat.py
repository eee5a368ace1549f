"""`mpstat -P ALL 1` of the whole night."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from lab.incident.load import chunks, usage
from lab.incident.plan import Incident
from lab.incident.words import KERNEL

_COLUMNS = "%usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"
_PERCENT = [f"{value:8.2f}" for value in range(101)]
_ZERO = _PERCENT[0]


def write(path: Path, incident: Incident) -> None:
    began = time.strftime("%m/%d/%y", time.gmtime(incident.began_s))
    cores = [f"{core:>8}" for core in range(incident.cores)]
    head = f"{'CPU':>8}" + "".join(f"{name:>8}" for name in _COLUMNS.split())
    with open(path, "w", encoding="ascii") as file:
        file.write(
            f"Linux {KERNEL} ({incident.host}) \t{began} \t_x86_64_\t({incident.cores} CPU)\n"
        )
        for chunk in chunks(incident):
            load = usage(incident, chunk)
            idle = 100 - load.user - load.system - load.softirq - load.iowait
            fields = (load.user, load.system, load.iowait, load.softirq, idle)
            means = [np.mean(values, axis=1).tolist() for values in fields]
            rows = [values.tolist() for values in fields]
            for second in range(len(load.user)):
                at = load.first_s + second
                before, now = _clock(incident, at), _clock(incident, at + 1)
                all_cores = [f"{mean[second]:8.2f}" for mean in means]
                lines = [f"\n{before}{head}\n", now, f"{'all':>8}", _row(*all_cores)]
                for core, u, s, w, q, i in zip(cores, *(r[second] for r in rows), strict=True):
                    lines += (
                        now, core, _PERCENT[u], _ZERO, _PERCENT[s], _PERCENT[w], _ZERO,
                        _PERCENT[q], _ZERO, _ZERO, _ZERO, _PERCENT[i], "\n",
                    )  # fmt: skip
                file.write("".join(lines))


def _row(user: str, system: str, iowait: str, softirq: str, idle: str) -> str:
    return f"{user}{_ZERO}{system}{iowait}{_ZERO}{softirq}{_ZERO * 3}{idle}\n"


def _clock(incident: Incident, at_s: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(incident.began_s + at_s))
