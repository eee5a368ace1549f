"""/proc/pressure/*: how long threads waited for a core, memory or a disk (PSI).

Weighted over cores: one starved core of 96 shows as 1 %. So it is context here, never proof.
`irq` is there since 6.1 with IRQ_TIME_ACCOUNTING; nothing is there when booted with psi=0.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import number

RESOURCES = ("cpu", "memory", "io", "irq")


class Pressure(Struct, frozen=True):
    """Microseconds since boot in which some, or all, non-idle threads waited."""

    some_us: int | None
    """None for irq, which has only `full`."""
    full_us: int | None
    """None for cpu before 5.13."""


def read(host: Host) -> dict[str, Pressure] | None:
    found: dict[str, Pressure] = {}
    for resource in RESOURCES:
        text = host.read_proc(f"pressure/{resource}")
        if text is not None:
            found[resource] = parse(text, resource)
    return found or None


def parse(text: str, resource: str) -> Pressure:
    path = f"proc/pressure/{resource}"
    totals: dict[str, int] = {}
    for index, line in enumerate(text.splitlines(), 1):
        kind, *rest = line.split() or [""]
        if kind not in ("some", "full") or not rest or not rest[-1].startswith("total="):
            raise ParseError(path, index, "`some|full avg10=… total=…`")
        totals[kind] = number(rest[-1][6:], path, index)
    if not totals:
        raise ParseError(path, 1, "`some` or `full`")
    return Pressure(totals.get("some"), totals.get("full"))


def readings(pressures: dict[str, Pressure]) -> tuple[Reading, ...]:
    return Reading.of_nodes(
        {
            f"pressure.{resource}.{kind}_us": value
            for resource, pressure in pressures.items()
            for kind, value in (("some", pressure.some_us), ("full", pressure.full_us))
            if value is not None
        }
    )
