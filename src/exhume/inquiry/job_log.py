"""A job's own log beside the recording: its failures are symptoms, and lead to the instant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.ingest.clocks import ClockHints
from exhume.ingest.context import Context
from exhume.ingest.job_log import read
from exhume.ingest.streams import Source
from exhume.ingest.symbols import Places
from exhume.inquiry.asked import AROUND_NS
from exhume.model.answers import EventAnswer
from exhume.model.window import Window


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
            event.count, {**event.fields, "file": str(path)},
        )
        for event in events
    )  # fmt: skip


def when_it_failed(job: Sequence[EventAnswer], recorded: Window) -> Window | None:
    """The stretch of its failures that was recorded, with half an hour around; None: none was."""
    times = [event.wall_ns for event in job if recorded.contains(event.wall_ns)]
    if not times:
        return None
    return Window(min(times) - AROUND_NS, max(times) + AROUND_NS).clip(recorded)


def other_nodes(job: Sequence[EventAnswer], node: str) -> str:
    """Where the job's log blames nodes, and this recording is of none of them: a note of that."""
    named: dict[str, None] = {}
    for event in job:
        names = [str(event.fields[key]) for key in ("node", "address") if key in event.fields]
        if node.partition(".")[0] in {name.partition(".")[0] for name in names}:
            return ""
        named |= dict.fromkeys(names[:1])
    if not named or not node:
        return ""
    return f"the job's log names {', '.join(named)}; this recording is of {node}: ask theirs too"
