"""A case: a symptom, what led to it, and who is to blame. The contract of `exhume why --json`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from exhume.model.finding import Figure
from exhume.model.window import Window

Outcome = Literal["passed", "failed", "untested"]
Role = Literal["symptom", "mechanism", "root_cause"]
Status = Literal["found", "suspected", "unknown", "healthy"]
Confidence = Literal["high", "medium", "low"]

KINDS = (
    "zombie-cgroups", "realtime-hog", "userspace-hog", "kernel-hog", "softirq-flood",
    "page-fault-storm", "memory-reclaim", "cpu-throttling", "cpu-steal", "crash-loop",
    "fork-storm", "periodic-job", "lock-contention", "out-of-memory", "io-stall",
    "interrupt-imbalance", "hardware", "network-limit", "unknown",
)  # fmt: skip
"""What a root cause can be: the mechanism, never a name."""


class Party(Struct, frozen=True):
    """Somebody who takes part, by all that is known of it."""

    comm: str | None = None
    pid: int | None = None
    unit: str | None = None
    container: str | None = None
    pod: str | None = None
    cgroup: str | None = None
    exe: str | None = None
    core: int | None = None

    @property
    def known(self) -> str | None:
        """Whom to look for: the most telling of its names, if it has any."""
        return self.unit or self.container or self.pod or self.comm or self.exe or self.cgroup

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        if self.known:
            return self.known
        return f"CPU {self.core}" if self.core is not None else "somebody unknown"


class Symptom(Struct, frozen=True):
    """Harm to a victim, or the user's question."""

    kind: str
    wall_ns: int
    victim: Party
    source: str
    """Where it was seen: the kernel's line, the job's log, a counter, samples."""
    window: Window
    """From when the harm began, as far as is known, to when it ended."""
    count: int = 1
    """How many like it there are in the window asked for."""
    text: str = ""
    event_class: str = ""
    """The class of the log line's signature, where one told of it."""
    is_late: bool = True
    """The victim waited. Where it was refused at once nobody kept it waiting."""
    file: str = ""
    """The log that tells of it, where the recording does not."""


class Tests(Struct, frozen=True):
    """The four tests that a link between cause and effect can pass."""

    order: Outcome = "untested"
    """The cause was there first."""
    place: Outcome = "untested"
    """On the same core, in the same cgroup, at the same device."""
    dose: Outcome = "untested"
    """More of the cause, more of the effect."""
    counterfactual: Outcome = "untested"
    """Quiet while the cause is quiet."""

    def outcomes(self) -> tuple[Outcome, Outcome, Outcome, Outcome]:
        return self.order, self.place, self.dose, self.counterfactual


class Evidence(Struct, frozen=True):
    id: str
    claim: str
    figures: dict[str, Figure]
    window: Window
    check: str
    """The command that shows it."""


class Link(Struct, frozen=True):
    claim: str
    role: Role
    tests: Tests
    evidence: tuple[str, ...]
    """Ids. A link without evidence can't be: `diagnose.build` refuses it."""


class RootCause(Struct, frozen=True):
    kind: str
    """One of KINDS."""
    culprit: Party
    """Who must be stopped."""
    details: dict[str, Figure | dict[str, Figure]] = field(default_factory=dict)
    """At least `payer` and `victim` where there are any."""


class Suspect(Struct, frozen=True):
    kind: str
    culprit: Party
    details: dict[str, Figure | dict[str, Figure]]
    confidence: Confidence
    summary: str


class Rejected(Struct, frozen=True):
    kind: str
    culprit: Party
    details: dict[str, Figure | dict[str, Figure]]
    confidence: Confidence
    summary: str
    reason: str


class Verdict(Struct, frozen=True):
    status: Status
    summary: str
    confidence: Confidence | None
    root_cause: RootCause | None


class Actions(Struct, frozen=True):
    now: tuple[str, ...] = ()
    for_good: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()


class Risk(Struct, frozen=True):
    """What harms nobody yet, as far as can be told."""

    kind: str
    claim: str
    subject: str
    figures: dict[str, Figure]
    check: str


class SinceFix(Struct, frozen=True):
    """Before and after the user's fix: the same harm to the same victim."""

    fix_wall_ns: int
    status: Literal["gone", "better", "not-gone", "too-early", "unknown"]
    text: str
    before: int
    after: int
    before_seconds: float
    after_seconds: float
    chance: float
    """That so few come after it if it changed nothing."""
    wait_seconds: float | None
    """How much longer none must come until that is no chance; None where there is nothing to wait
    for."""


class Case(Struct, frozen=True):
    window: Window
    """What was looked at."""
    node: str
    kernel: str
    symptom: Symptom | None
    verdict: Verdict
    chain: tuple[Link, ...]
    """From the symptom to the root cause."""
    suspects: tuple[Suspect, ...]
    """The likeliest first: the root cause, if one is named."""
    rejected: tuple[Rejected, ...]
    risks: tuple[Risk, ...]
    evidence: tuple[Evidence, ...]
    actions: Actions
    gaps: tuple[str, ...]
    """What is missing, how that weakens the answer, and what to record."""
    symptoms: tuple[Symptom, ...] = ()
    """All of the window, the worst first; `symptom` is the one explained."""
    since_fix: SinceFix | None = None
    meanwhile: tuple[Risk, ...] = ()
    """Seen while the harm was done, and tied to it by nothing. Only where no root cause is named:
    there it is what to look at next."""

    @property
    def other_suspects(self) -> tuple[Suspect, ...]:
        """Without the root cause, which stands first among them."""
        return self.suspects[1:] if self.verdict.root_cause is not None else self.suspects
