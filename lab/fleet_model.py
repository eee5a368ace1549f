"""A made-up fleet with a known cause: zones, images, drift, noise, and values nobody could read.

The cause hides behind its zone, as it did in the story: every node of one zone has it and no other
does, so the zone separates exactly as well. Noise is independent of it. What the illness brings
about (zombies, load) separates too, and must not be taken for the cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from msgspec import Struct, field

from exhume.fleet.cohort import UNKNOWN, CaseFacts, Column, Fleet
from exhume.model.arrays import I32, Bool
from exhume.model.fingerprint import AREA, Kind, Value

Cause = Literal["single", "absence", "threshold", "none"]
CAUSES: tuple[Cause, ...] = ("single", "absence", "threshold", "none")
CAUSE_KEYS = {
    "single": "unit/ecs.service",
    "absence": "unit/irqbalance.service",
    "threshold": "sysctl/net.core.netdev_budget",
}
CASE_KINDS = {
    "single": "zombie-cgroups",
    "absence": "interrupt-imbalance",
    "threshold": "network-limit",
    "none": "unknown",
}
QUIET_BELOW = 30
"""Of so few nodes somebody has looked at each: the illness is where its cause is."""


class Settings(Struct, frozen=True):
    nodes: int
    cause: Cause
    seed: int = 0
    attributes: int = 600
    """Columns in all, roughly; the story's nodes had about 3,000."""
    penetrance: float = 0.95
    """How many of the nodes with the cause fell ill so far."""
    background: float = 0.01
    """How many fall ill without it."""
    unread: float = 0.02
    """How many areas could not be read on a node."""
    unread_fields: float = 0.002


class Simulated(Struct, frozen=True):
    fleet: Fleet
    ill: Bool
    cause_key: str
    """`unit/ecs.service`; empty where nothing was planted."""


def simulate(settings: Settings) -> Simulated:
    return _Maker(settings, np.random.default_rng(settings.seed)).make()


class _Maker(Struct):
    settings: Settings
    random: np.random.Generator
    columns: list[Column] = field(default_factory=list)

    def make(self) -> Simulated:
        nodes, cause = self.settings.nodes, self.settings.cause
        zone = self._zones()
        has_cause = zone == 0
        ill = self._ill(has_cause)
        self._put("label", "zone", ("a", "b", "c"), zone)
        self._put("label", "pool", ("gpu", "cpu", "spot"), self._any(3))
        self._put("label", "rack", tuple(f"r{n}" for n in range(12)), self._any(12))
        self._put("cloud", "instance type", ("p4d.24xlarge", "p5.48xlarge"), self._any(2))
        self._planted(has_cause)
        self._consequences(ill)
        self._images()
        self._noise()
        self._unread()
        names = tuple(f"node-{index:05d}" for index in range(nodes))
        cases = self._cases(ill)
        fleet = Fleet(names, tuple(self.columns), cases)
        return Simulated(fleet, ill, CAUSE_KEYS.get(cause, ""))

    def _zones(self) -> I32:
        """Zone a has a third of the nodes to a half of them, and at least two."""
        nodes = self.settings.nodes
        share = self.random.uniform(0.33, 0.5) if nodes > 12 else 0.5
        first = min(nodes - 2, max(2, round(nodes * share)))
        rest = self.random.integers(1, 3, nodes - first)
        zone = np.concatenate([np.zeros(first), rest]).astype(np.int32)
        self.random.shuffle(zone)
        return zone

    def _ill(self, has_cause: Bool) -> Bool:
        settings, nodes = self.settings, self.settings.nodes
        if settings.cause == "none":
            count = max(2, round(nodes * self.random.uniform(0.2, 0.5)))
            ill = np.zeros(nodes, bool)
            ill[self.random.choice(nodes, count, replace=False)] = True
            return ill
        if nodes < QUIET_BELOW:
            return has_cause.copy()
        lot = self.random.random(nodes)
        return np.where(has_cause, lot < settings.penetrance, lot < settings.background)

    def _planted(self, has_cause: Bool) -> None:
        cause, nodes = self.settings.cause, self.settings.nodes
        looping = has_cause if cause == "single" else np.zeros(nodes, bool)
        self._put("unit", "ecs.service", ("off", "runs"), looping.astype(np.int32))
        # Where the bootstrap failed, the agent that waits for it never came up.
        self._put("unit", "cloud-final.service", ("failed", "done"), looping.astype(np.int32))
        restarts = np.where(looping, self.random.integers(2_000, 60_000, nodes), 0)
        self._numbers("unit_restarts", "ecs.service", restarts, "load")
        balanced = ~has_cause if cause == "absence" else np.ones(nodes, bool)
        self._put("unit", "irqbalance.service", (None, "runs"), balanced.astype(np.int32))
        budget = self.random.integers(300, 2_000, nodes)
        if cause == "threshold":
            budget = np.where(has_cause, self.random.integers(20, 299, nodes), budget)
        self._numbers("sysctl", "net.core.netdev_budget", budget, "config")

    def _consequences(self, ill: Bool) -> None:
        nodes = self.settings.nodes
        zombies = np.where(ill, self.random.integers(20_000, 70_000, nodes),
                           self.random.integers(0, 400, nodes))  # fmt: skip
        self._numbers("load", "zombies", zombies, "load")
        self._numbers("load", "five minutes' average", self.random.integers(1, 90, nodes), "load")

    def _images(self) -> None:
        """Each image brings its own versions of a third of all attributes; single nodes drift."""
        image = self._any(3)
        self._put("cloud", "ami", ("ami-1", "ami-2", "ami-3"), image)
        self._put("kernel", "release", ("5.4.0-1101-aws", "5.4.0-1146-aws"), (image > 0) * 1)
        for index in range(self.settings.attributes // 3):
            version = image if index % 3 else (image == index % 2).astype(np.int32)
            drift = self.random.random(len(image)) < 0.01 * (index % 4)
            codes = np.where(drift, 3, version)
            values = ("1.2.0-1", "1.2.4-2", "1.10.1-1", "1.11.0-1")
            self._put("package", f"lib{index}", values, codes)

    def _noise(self) -> None:
        random, nodes = self.random, self.settings.nodes
        kinds: tuple[tuple[str, Callable[[int], None]], ...] = (
            ("unit", self._noise_unit),
            ("module", self._noise_module),
            ("sysctl", self._noise_sysctl),
            ("process", self._noise_process),
            ("number", self._noise_number),
            ("file", self._noise_file),
        )
        for index in range(self.settings.attributes * 2 // 3):
            kinds[index % len(kinds)][1](index)
        identity = random.integers(0, 1 << 30, nodes)
        self._numbers("node", "machine id", identity, "identity")

    def _noise_unit(self, index: int) -> None:
        runs = self.random.random(self.settings.nodes) < self.random.uniform(0.03, 0.97)
        values: tuple[Value | None, ...] = (None, "runs") if index % 2 else ("off", "runs")
        self._put("unit", f"app-{index}.service", values, runs)

    def _noise_module(self, index: int) -> None:
        loaded = self.random.random(self.settings.nodes) < self.random.uniform(0.03, 0.97)
        self._put("module", f"mod_{index}", (None, "loaded"), loaded)

    def _noise_sysctl(self, index: int) -> None:
        self._put("sysctl", f"net.made.up_{index}", ("0", "1", "2"), self._any(3))

    def _noise_process(self, index: int) -> None:
        runs = self.random.random(self.settings.nodes) < self.random.uniform(0.1, 0.9)
        self._put("process", f"worker-{index}", (None, "runs"), runs, "load")

    def _noise_number(self, index: int) -> None:
        levels = self.random.integers(4, 400)
        values = self.random.integers(0, levels, self.settings.nodes) * 64
        self._numbers("sysctl", f"vm.made_up_{index}", values, "config")

    def _noise_file(self, index: int) -> None:
        old = self.random.random(self.settings.nodes) < 0.2
        self._put("file", f"etc/made/{index}.conf", ("1f0c2a3b4c5d6e7f", "9f86d081884c7d65"), old)

    def _unread(self) -> None:
        """An area of a node that nobody could read is unknown as a whole; and single fields."""
        nodes, settings = self.settings.nodes, self.settings
        lost = {
            area: self.random.random(nodes) < settings.unread
            for area in sorted({column.area for column in self.columns})
        }
        for column in self.columns:
            gone = lost[column.area] | (self.random.random(nodes) < settings.unread_fields)
            column.codes[gone] = UNKNOWN

    def _cases(self, ill: Bool) -> dict[int, tuple[CaseFacts, ...]]:
        """Not every ill node was looked at closely enough to name the culprit."""
        cause = self.settings.cause
        named = self.random.random(self.settings.nodes) < 0.6
        cases: dict[int, tuple[CaseFacts, ...]] = {}
        for index in np.flatnonzero(ill).tolist():
            culprits: tuple[tuple[str, str], ...] = ()
            if cause == "single" and named[index]:
                culprits = (("unit", "ecs.service"), ("comm", "amazon-ecs-init"))
            status = "found" if named[index] and cause != "none" else "suspected"
            cases[index] = (CaseFacts(CASE_KINDS[cause], status, culprits),)
        return cases

    def _any(self, count: int) -> I32:
        return self.random.integers(0, count, self.settings.nodes).astype(np.int32)

    def _numbers(self, area: str, name: str, numbers: np.ndarray, kind: Kind) -> None:
        values, codes = np.unique(numbers, return_inverse=True)
        shown: tuple[Value, ...] = tuple(values.tolist())
        if area == "sysctl":
            shown = tuple(map(str, shown))
        self._put(area, name, shown, codes, kind)

    def _put(
        self,
        area: str,
        name: str,
        values: tuple[Value | None, ...],
        codes: np.ndarray,
        kind: Kind | None = None,
    ) -> None:
        usual: Kind = "state" if AREA[area].tier in ("mechanism", "label") else "config"
        column = Column(area, name, kind or usual, np.array(codes, np.int32), values)
        self.columns.append(column)
