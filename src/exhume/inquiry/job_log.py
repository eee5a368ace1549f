"""A job's own log beside the recording: its failures are symptoms, and lead to the instant."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.ingest.clocks import ClockHints
from exhume.ingest.context import Context
from exhume.ingest.job_log import read
from exhume.ingest.streams import Source
from exhume.ingest.symbols import Places
from exhume.model.answers import EventAnswer


def job_failures(path: Path, host: Host) -> tuple[EventAnswer, ...]:
    """Its lines that mean something, on wall time."""
    try:
        source = Source.of(path)
        with TemporaryDirectory(prefix="exhume-") as folder:
            context = Context(Path(folder), Places(host), ClockHints())
            events = [event for piece in read(source, context) for event in piece.events]
    except OSError as error:
        raise ExhumeError(
            f"{path} can't be read: {error.strerror or error}", todo="give the job's own log"
        ) from error
    if not events:
        raise ExhumeError(
            f"no line of {path} tells of a failure that is known",
            todo="--signatures of `exhume record` can teach it more; or ask with --at TIME",
        )
    return tuple(
        EventAnswer(
            event.time_ns, event.kind, event.subject, event.text, event.core, event.pid,
            event.count, dict(event.fields),
        )
        for event in events
    )  # fmt: skip
