"""What the kernel itself said, and where the recording has holes."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.detect import shown
from exhume.model.answers import EventAnswer
from exhume.model.finding import Finding
from exhume.model.observation import Observation
from exhume.model.window import Window


def signatures(seen: Observation) -> Iterator[Finding]:
    """Known lines of the kernel log, those of one kind about one thing together."""
    groups: dict[tuple[str, str], list[EventAnswer]] = {}
    for event in seen.events:
        name = event.fields.get("signature")
        if event.kind == "kernel-log" and name:
            groups.setdefault((str(name), event.subject), []).append(event)
    for (name, subject), events in groups.items():
        window = Window(events[0].wall_ns, events[-1].wall_ns + 1)
        count = sum(event.count for event in events)
        cores = {event.core for event in events}
        yield Finding(
            f"kernel-log:{name}",
            f"{events[0].text}" + (f" ({count} times)" if count > 1 else ""),
            window,
            subject=subject,
            core=cores.pop() if len(cores) == 1 else None,
            figures={"count": count, "class": str(events[0].fields.get("class", ""))},
            check=f"exhume events --signature {name} {shown.span(window)}",
        )


def gaps(seen: Observation) -> Iterator[Finding]:
    for event in seen.events:
        if event.kind in ("gap", "log-lost", "clock-step"):
            window = Window(event.wall_ns, event.wall_ns + 1)
            yield Finding(
                "recorder-gap",
                event.text or event.subject,
                window,
                check=f"exhume events --kind {event.kind} {shown.span(window)}",
            )
