"""Answers about the node: interrupts, zombies, units, the recorder itself."""

from __future__ import annotations

from exhume.errors import ExhumeError
from exhume.inquiry.zombies import zombies as ask_zombies
from exhume.model.evidence import IrqsAnswer
from exhume.model.lifecycles import UnitsAnswer
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import Status
from exhume.record.status import read
from exhume.store.queries.irqs import irqs as ask_irqs
from exhume.store.queries.units import lifecycles
from exhume.web.asked import Asked


def irqs(asked: Asked) -> IrqsAnswer:
    return ask_irqs(asked.recording, asked.window)


def zombies(asked: Asked) -> ZombiesAnswer:
    try:
        sources = read(asked.data).sources
    except (ExhumeError, OSError):
        sources = ()  # a copy of a recording has no recorder that could say anything
    return ask_zombies(asked.recording, asked.window, sources)


def units(asked: Asked) -> UnitsAnswer:
    return lifecycles(asked.recording, asked.window)


def status(asked: Asked) -> Status:
    return read(asked.data)
