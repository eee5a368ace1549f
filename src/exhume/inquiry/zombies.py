"""Zombies as counted, with an outlook by the walks that were recorded beside them."""

from __future__ import annotations

from exhume.diagnose.walking import measured
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import SourceState
from exhume.model.window import Window
from exhume.store.queries.holds import kernel_holds
from exhume.store.queries.zombies import zombies as counted
from exhume.store.recording import Recording


def zombies(
    recording: Recording, window: Window, states: tuple[SourceState, ...] = ()
) -> ZombiesAnswer:
    """`states`: what the recorder said of its sources, for the reasons why something is missing."""
    return measured(counted(recording, window, states), kernel_holds(recording, window))
