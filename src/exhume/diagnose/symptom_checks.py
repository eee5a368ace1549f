"""The command that shows a symptom where it was seen: a line, a counter or samples."""

from __future__ import annotations

from shlex import quote

from exhume.detect import shown
from exhume.diagnose.symptoms import name_and_pid
from exhume.model.answers import SeriesAnswer
from exhume.model.case import Party, Symptom
from exhume.model.observation import Observation

_MOST_WORDS = 60


def check_of(one: Symptom, seen: Observation) -> str:
    if one.file:
        words = one.text.partition("\n")[0][:_MOST_WORDS].strip()
        return f"grep -nF -- {quote(words)} {quote(one.file)}"
    if one.source in ("kernel log", "job log"):
        length = max(10.0, one.window.seconds + 5)
        return f"exhume events {shown.span_from(one.window.start_ns, length)}"
    if one.kind == "starved-thread" and (waited := _waited(seen, one.victim)) is not None:
        return shown.series(waited.field, one.window, waited.instance)
    if seen.sampled_seconds:
        return shown.top(one.window, one.victim.core, one.victim.comm or "")
    return f"exhume cores {shown.span(one.window)}"


def _waited(seen: Observation, victim: Party) -> SeriesAnswer | None:
    """The counter of its waiting that told of it."""
    wanted = victim.comm, victim.pid
    every = (*seen.series.get("netthread.wait_ns", ()), *seen.series.get("process.wait_ns", ()))
    return next((one for one in every if name_and_pid(one.instance) == wanted), None)
