"""What the hypotheses look at, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from exhume.model.case import Actions, Confidence, Outcome, Party, Role, Symptom, Tests
from exhume.model.finding import Figure
from exhume.model.observation import CloseUp, Observation
from exhume.model.occupancy import Occupant
from exhume.model.window import Window


class Stall(Struct, frozen=True):
    """One time that the harm was done."""

    symptom: Symptom
    window: Window
    core: int | None
    close_up: CloseUp | None

    @property
    def holder(self) -> Occupant | None:
        """Who had most of the core in these seconds, if anybody had at least half.

        A thread that was held inside a call holds itself up, whoever else had a turn there.
        """
        there = () if self.close_up is None else self.close_up.during.occupants
        if self.symptom.kind == "held-thread":
            return next((one for one in there if one.comm == self.symptom.victim.comm), None)
        return there[0] if there and there[0].share_of_window >= 0.5 else None


class Usage(Struct, frozen=True):
    """Of processes of one name: seconds of core time a second spent on something."""

    comm: str
    during: float
    """While harm was done."""
    usual: float | None
    """In a quiet stretch beside it; None where there is none."""

    @property
    def rise(self) -> float:
        return max(0.0, self.during - (self.usual or 0.0))


class Crowding(Struct, frozen=True):
    """Processes of one name while harm was done, where cores were full."""

    comm: str
    share: float
    """Of what the core, or all of them, had to give."""
    usual: float | None
    """The same in a quiet stretch beside it; None where there is none."""
    processes: int


class Scene(Struct, frozen=True):
    seen: Observation
    symptom: Symptom
    """The one to explain."""
    like: tuple[Symptom, ...]
    """It and all others of its kind with the same victim."""
    others: tuple[Symptom, ...]
    """Every other symptom of the window."""
    stalls: tuple[Stall, ...]
    """Those of `like` that were looked at closely."""
    core: int | None
    place: Outcome
    """Is it known that the victim waited on that core, or was that only inferred?"""
    place_claim: str
    presence: Mapping[str, tuple[Window, ...]] = field(default_factory=dict)
    """By process name: the seconds in which it had a good part of that core."""
    senders: tuple[Usage, ...] = ()
    """Who sent to the network, where that core was busy receiving."""
    crowds: tuple[Crowding, ...] = ()
    """Who took the cores, where all of them were full."""


class Proof(Struct, frozen=True):
    """Evidence in the making: it gets its id when the case is written down."""

    signal: str
    """What it was seen by: `samples`, `counters`, `events`, `log`. Two are independent only if
    these differ."""
    claim: str
    figures: dict[str, Figure]
    window: Window
    check: str


class Step(Struct, frozen=True):
    """A link of the chain in the making."""

    claim: str
    role: Role
    tests: Tests
    proofs: tuple[Proof, ...]


class Suspicion(Struct, frozen=True):
    """What one hypothesis makes of the scene."""

    kind: str
    culprit: Party
    summary: str
    steps: tuple[Step, ...]
    """From the mechanism next to the symptom up to the root cause."""
    depth: int
    """How far up the causal chain it reaches: of two that fit, the higher one wins."""
    payer: Party | None = None
    victim: Party | None = None
    details: dict[str, Figure] = field(default_factory=dict)
    actions: Actions = field(default_factory=Actions)
    contradiction: str = ""
    """Why it can't be, where something speaks against it."""
    at_most: Confidence = "high"
    """No higher grade than this, whatever the tests say: for who is likely to be a payer only."""
    missing: tuple[str, ...] = ()
    """What would have to be recorded to be sure."""


def party_of(occupant: Occupant, core: int | None = None) -> Party:
    return Party(
        comm=occupant.comm or None,
        pid=occupant.pid if occupant.pid > 0 else None,
        unit=occupant.unit or None,
        container=occupant.container or None,
        pod=occupant.pod or None,
        cgroup=occupant.cgroup or None,
        core=core,
    )
