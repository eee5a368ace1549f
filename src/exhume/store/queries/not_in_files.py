"""What none of the files that were imported tells, and which would: empty means that one does."""

from __future__ import annotations

from exhume.store.ended import is_imported
from exhume.store.recording import Recording


def no_samples(recording: Recording) -> tuple[str, ...]:
    has_some = any(view.sample_count for view in recording.views())
    notes = _asked_for(recording, "samples", "perf captures", told=has_some)
    if notes and has_any(recording, "process.user"):
        return (*notes, "who used the cores without them: exhume series process.user")
    return notes


def no_cores(recording: Recording) -> tuple[str, ...]:
    """Where samples tell none either: they say no cores, or are of no event that is time."""
    told = has_any(recording, "cpu.user")
    if (
        sum(len(block.tick_ns) for view in recording.views() for block in view.blocks("cpu.user"))
        == 1
    ):
        return ("times of cores were read once: how busy they were shows from two readings on",)
    return _asked_for(recording, "times of cores", "mpstat or copies of /proc/stat", told=told)


def no_interrupts(recording: Recording) -> tuple[str, ...]:
    told = has_any(recording, "irq.count")
    return _asked_for(recording, "interrupts", "copies of /proc/interrupts", told=told)


def has_any(recording: Recording, *fields: str) -> bool:
    """Is one of them counted at any time? Then it is not in no file, but not in this window."""
    return any(field in view.fields() for view in recording.views() for field in fields)


def _asked_for(recording: Recording, what: str, files: str, *, told: bool) -> tuple[str, ...]:
    if told or not is_imported(recording):
        return ()
    return (f"no {what} are in the files: import {files} too",)
