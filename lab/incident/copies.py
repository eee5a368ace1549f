"""Copies by hand, with the time above each: interrupts, cgroups, containers, units."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lab.incident import words
from lab.incident.plan import Incident

_CONTROLLERS = (
    "cpuset", "cpu", "cpuacct", "blkio", "memory", "devices", "freezer", "net_cls", "perf_event",
    "net_prio", "hugetlb", "pids", "rdma",
)  # fmt: skip
INTERRUPTS_EVERY_S, CGROUPS_EVERY_S, DOCKER_EVERY_S, UNITS_EVERY_S = 300, 60, 30, 120
_DOCKER_COLUMNS = ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES")
_DOCKER_GAP = 3
_LIVES_S = 2.6
"""How long the container of the crash loop lives."""


def looks(incident: Incident, every_s: int, first_s: float) -> Iterator[tuple[float, str]]:
    """Instants of the night, and the mark above a copy."""
    at = first_s
    while at < incident.seconds:
        wall = incident.epoch_s(at)
        iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(wall))
        yield (
            at,
            f"### {wall:.3f} {iso}.{wall % 1 * 1000:03.0f}Z uptime={incident.uptime_s(at):.2f}\n",
        )
        at += every_s


def write_interrupts(path: Path, incident: Incident) -> None:
    """Which core serves which queue shows in which column grows."""
    rng = np.random.default_rng([incident.seed, 3])
    width = incident.cores
    names = [f"{incident.interface}-Tx-Rx-{q}" for q in range(len(incident.queue_cores))]
    lines = [("ena-mgmnt@pci:" + incident.pci, (incident.queue_cores[0] + 1) % width, 1)]
    lines += [(name, core, 900) for name, core in zip(names, incident.queue_cores, strict=True)]
    lines += [(f"nvme0q{n}", n * 5 % width, 4) for n in range(min(8, width))]
    counts = (
        rng.integers(1, 900, (len(lines), 1))
        * np.eye(width, dtype=np.int64)[[core for _, core, _ in lines]]
    )
    shared = rng.integers(10**6, 10**8, (3, width))
    head = " " * 5 + "".join(f"{f'CPU{core}':>11}" for core in range(width)) + "\n"
    with open(path, "w", encoding="ascii") as file:
        for _, mark in looks(incident, INTERRUPTS_EVERY_S, 4.0):
            file.write(mark + head)
            for number, (name, core, rate) in enumerate(lines):
                counts[number, core] += int(rng.poisson(rate * INTERRUPTS_EVERY_S))
                columns = "".join(f"{value:11}" for value in counts[number].tolist())
                file.write(
                    f"{24 + number:3}: {columns}   PCI-MSI {524288 + number}-edge      {name}\n"
                )
            for row, (name, text, rate) in enumerate(_EVERY_CORE):
                shared[row] += rng.poisson(rate * INTERRUPTS_EVERY_S, width)
                columns = "".join(f"{value:11}" for value in shared[row].tolist())
                file.write(f"{name:>3}: {columns}   {text}\n")


_EVERY_CORE = (
    ("LOC", "Local timer interrupts", 250),
    ("RES", "Rescheduling interrupts", 40),
    ("TLB", "TLB shootdowns", 12),
)


def write_cgroups(path: Path, table: Path, incident: Incident) -> None:
    """/proc/cgroups, and beside it what `find` counted at the same moment."""
    rng = np.random.default_rng([incident.seed, 4])
    with open(path, "w", encoding="ascii") as file, open(table, "w", encoding="ascii") as counts:
        counts.write("epoch,memory_cgroups,live_dirs\n")
        for at, mark in looks(incident, CGROUPS_EVERY_S, 7.0):
            live = incident.live_cgroups + int(rng.integers(-3, 4))
            tracked = live + incident.zombies_at(at)
            file.write(f"{mark}#subsys_name\thierarchy\tnum_cgroups\tenabled\n")
            for number, name in enumerate(_CONTROLLERS, 2):
                count = tracked if name == "memory" else incident.live_cgroups - number
                file.write(f"{name}\t{number}\t{count}\t1\n")
            counts.write(f"{incident.epoch_s(at):.3f},{tracked},{live}\n")


def write_docker(path: Path, incident: Incident) -> None:
    """`docker ps -a`: the agent is removed and run anew each time, so its id never stays."""
    pods = [
        (_id(incident, f"pod {n}"), f"k8s_worker_{incident.job.lower()[-8:]}-{n}_ray")
        for n in range(3)
    ]
    with open(path, "w", encoding="ascii") as file:
        for at, mark in looks(incident, DOCKER_EVERY_S, 11.0):
            rows = [_DOCKER_COLUMNS, *_agent(incident, at)]
            for n, (id_, name) in enumerate(pods):
                old = f"{n + 5 + int(at // 3600)} hours"
                image, command = "rayproject/ray:2.9-gpu", '"ray start --block"'
                rows.append((id_, image, command, f"{old} ago", f"Up {old}", "", name))
            file.write(mark + docker_table(rows))


def _agent(incident: Incident, at: float) -> Iterator[tuple[str, ...]]:
    started = max((start for start in incident.restarts_s if start <= at), default=None)
    if started is None:
        return
    age = at - started
    status = f"Up {_ago(age)} (health: starting)"
    if age > _LIVES_S:
        status = f"Exited (5) {_ago(age - _LIVES_S)} ago"
    id_, made = _id(incident, started), f"{_ago(age)} ago"
    yield id_, incident.image, '"/agent"', made, status, "", incident.container


def docker_table(rows: Sequence[Sequence[str]]) -> str:
    """As docker lays it out: each column as wide as its widest cell in this very table."""
    widths = [max(map(len, cells)) + _DOCKER_GAP for cells in zip(*rows, strict=True)]
    lines = ("".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def write_units(path: Path, incident: Incident) -> None:
    """`systemctl list-units`: the loop waits to be started again, and nothing is called failed."""
    others = [(name, "active", "running", text) for name, text in words.OTHER_UNITS]
    others.append((f"{incident.payer}.service", "active", "running", "Node agent"))
    with open(path, "w", encoding="ascii") as file:
        for at, mark in looks(incident, UNITS_EVERY_S, 17.0):
            started = max((start for start in incident.restarts_s if start <= at), default=None)
            state = ("activating", "auto-restart")
            if started is not None and at - started <= _LIVES_S:
                state = ("active", "running")
            rows = sorted([*others, (incident.unit, *state, "Container agent of the base image")])
            file.write(f"{mark}  {'UNIT':40} LOAD   ACTIVE     SUB          DESCRIPTION\n")
            for name, active, sub, text in rows:
                file.write(f"  {name:40} loaded {active:10} {sub:12} {text}\n")
            file.write(f"\n{len(rows)} loaded units listed.\n")


def _id(incident: Incident, what: object) -> str:
    return f"{np.random.default_rng([incident.seed, 5, *str(what).encode()]).integers(16**12):012x}"


def _ago(seconds: float) -> str:
    whole = int(seconds)
    return "Less than a second" if whole < 1 else f"{whole} second{'s' * (whole > 1)}"
