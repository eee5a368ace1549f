"""Cases made up by hand: a node with a known fault, and names nobody would choose."""

from __future__ import annotations

from typing import Any

from exhume.model.case import (
    Actions,
    Case,
    Evidence,
    Link,
    Party,
    Rejected,
    Risk,
    RootCause,
    Suspect,
    Symptom,
    Tests,
    Verdict,
)
from exhume.model.window import Window
from tests.cli.made_up import NOW_NS

NS = 1_000_000_000
WINDOW = Window(NOW_NS - 600 * NS, NOW_NS)
STALL = Window(NOW_NS - 120 * NS, NOW_NS - 114 * NS)
_ALL = Tests("passed", "passed", "passed", "passed")
_NO_DOSE = Tests("passed", "passed", "failed", "passed")
RISK = Risk(
    "crash-loop", "unit agent.service was started 30 times", "agent.service", {"starts": 30},
    "exhume units --last 1h",
)  # fmt: skip


def healthy(*risks: Risk) -> Case:
    verdict = Verdict("healthy", "nobody was harmed in this window", None, None)
    return Case(
        WINDOW, "node-7", "5.4.0", None, verdict, (), (), (), risks, (), Actions(), ()
    )  # fmt: skip


def found(name: str = "agent.service", walker: str = "statsd") -> Case:
    """A unit that dies leaves zombies; a walker of them keeps a victim waiting."""
    victim = Party(comm="health", core=39)
    symptom = Symptom(
        "job-failure", STALL.end_ns, victim, "job log", STALL, 3, "health check timed out"
    )
    cause = RootCause(
        "zombie-cgroups", Party(unit=name), {"payer": {"name": walker, "comm": walker, "pid": 12}}
    )
    summary = f"{name} leaves a dead cgroup behind each time; {walker} walks them all"
    first = Suspect(cause.kind, cause.culprit, cause.details, "high", summary)
    return Case(
        WINDOW,
        "node-7",
        "5.4.0",
        symptom,
        Verdict("found", summary, "high", cause),
        (
            Link("health check timed out", "symptom", Tests(place="passed"), ("e1",)),
            Link(f"{walker} had CPU 39 in the kernel for 97 % of it", "mechanism", _ALL, ("e2",)),
            Link(f"{name} was started 30 times", "root_cause", _NO_DOSE, ("e3",)),
        ),
        (first, Suspect("kernel-hog", Party(comm=walker), {}, "medium", f"{walker} hogs CPU 39")),
        (
            rejected(Party(core=39), "only 0.0 % was stolen then", "cpu-steal"),
            rejected(Party(comm="trainer", pid=1), "had 0.0 % of CPU 39", "userspace-hog"),
            rejected(Party(comm="trainer", pid=2), "had 0.1 % of CPU 39", "userspace-hog"),
            rejected(Party(comm="sidecar"), "it came later", "kernel-hog", "medium"),
        ),
        (),
        (
            evidence(
                "e1", "job log: health check timed out", "exhume events --at 1714533480 --for 9s"
            ),
            evidence(
                "e2", f"{walker} had CPU 39",
                "exhume top --at 1714533480.000 --for 6.0s --core 39",
                function="memcg_numa_stat_show", share_percent=97.0,
            ),
            evidence(
                "e3", f"{name} was started 30 times",
                "exhume units --from 1714533000 --to 1714533600",
            ),
        ),
        Actions(
            (f"systemctl stop {name}",), ("repair it",), ("start it again",),
            ("exhume zombies --last 1h: the count stays flat", "exhume why --since-fix TIME"),
        ),
        ("most of this window has no stack samples",),
        (symptom,),
    )  # fmt: skip


def evidence(name: str, claim: str, check: str, **figures: Any) -> Evidence:
    return Evidence(name, claim, figures, STALL, check)


def rejected(party: Party, reason: str, kind: str, confidence: Any = "low") -> Rejected:
    return Rejected(kind, party, {}, confidence, "", reason)
