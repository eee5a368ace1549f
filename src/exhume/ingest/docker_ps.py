"""Tables of `docker ps -a` → containers as the runtime tells of them, and what became of each.

An agent that is removed and run anew every 10 s shows as another id under the same name and image,
look after look; so looks are compared as those at a live runtime are (`sources.containers`).
"""

from __future__ import annotations

import re

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources import containers

PATH = "docker ps"
ROLL_CALL_NS = 600 * 1_000_000_000
RECENT_NS = 3600 * 1_000_000_000
"""Of what began and ended in the hour before the first look, that is told too."""
_COLUMNS = ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES", "SIZE")
_ID = re.compile(r"[0-9a-f]{12,64}")
# `12 seconds ago`, `About a minute ago`, `Less than a second ago`, `3 weeks ago`
_AGE = re.compile(
    r"(?:About (an?)|Less than (a)|(\d{1,6})) (second|minute|hour|day|week|month|year)"
)
_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000,
    "year": 31_536_000,
}  # fmt: skip
_EXITED = re.compile(r"(?:Exited|Restarting) \((-?\d{1,9})\)")
_STATES = (
    ("Up", "running"), ("Exited", "exited"), ("Restarting", "restarting"), ("Created", "created"),
    ("Dead", "dead"), ("Removal", "removing"),
)  # fmt: skip


class Row(Struct, frozen=True):
    container: Container
    changed_ns: int | None
    """When it was started, or ended, as its status says."""


class DockerLooks(Struct):
    """Look after look."""

    _before: dict[str, Container] = field(default_factory=dict)
    _next_roll_call_ns: int = 0
    _is_first: bool = True

    def look(self, text: bytes, wall_ns: int) -> tuple[tuple[Reading, ...], tuple[Event, ...]]:
        """Raises ParseError where it is no such table."""
        rows = {row.container.id: row for row in parse(text, wall_ns)}
        found = tuple(row.container for row in rows.values())
        if self._is_first:
            recent = tuple(c for c in found if 0 <= wall_ns - c.created_wall_ns <= RECENT_NS)
            events = containers.events({}, recent, wall_ns)
        else:
            events = containers.events(self._before, found, wall_ns)
        told = [_at_its_time(event, rows, wall_ns) for event in events]
        if wall_ns >= self._next_roll_call_ns:
            told += containers.roll_call(found, wall_ns)
            self._next_roll_call_ns = wall_ns + ROLL_CALL_NS
        self._is_first, self._before = False, {one.id: one for one in found}
        return containers.readings(found), tuple(told)


def parse(text: bytes, wall_ns: int) -> tuple[Row, ...]:
    """`wall_ns`: when it was printed; its times are ages."""
    header, *lines = text.decode("utf-8", "replace").split("\n")
    places = [(header.find(name), name) for name in _COLUMNS if name in header]
    places.sort()
    names = [name for _, name in places]
    if not header.startswith("CONTAINER ID") or not {"IMAGE", "STATUS", "NAMES"} <= set(names):
        raise ParseError(PATH, 1, "a header `CONTAINER ID   IMAGE …   STATUS …   NAMES`")
    edges = [at for at, _ in places]
    found = []
    for index, line in enumerate(lines, 2):
        if not line.strip():
            continue
        cells = {
            name: line[begin:end].strip()
            for name, begin, end in zip(names, edges, [*edges[1:], None], strict=True)
        }
        if not _ID.fullmatch(cells["CONTAINER ID"]):
            raise ParseError(PATH, index, "a container's id")
        found.append(_row(cells, wall_ns))
    return tuple(found)


def _row(cells: dict[str, str], wall_ns: int) -> Row:
    status = cells["STATUS"]
    state = next((state for word, state in _STATES if status.startswith(word)), "unknown")
    if state == "running" and "(Paused)" in status:
        state = "paused"
    exited = _EXITED.match(status)
    created = _age_ns(cells.get("CREATED", ""))
    changed = _age_ns(status)
    return Row(
        Container(
            id=cells["CONTAINER ID"],
            name=cells["NAMES"].split(",")[0],
            image=cells["IMAGE"],
            runtime="docker",
            state=state,
            created_wall_ns=0 if created is None else wall_ns - created,
            exit_code=int(exited[1]) if exited else None,
        ),
        None if changed is None else wall_ns - changed,
    )


def _age_ns(text: str) -> int | None:
    found = _AGE.search(text)
    if found is None:
        return None
    count = int(found[3]) if found[3] else (0 if found[2] else 1)
    return count * _SECONDS[found[4]] * 1_000_000_000


def _at_its_time(event: Event, rows: dict[str, Row], wall_ns: int) -> Event:
    """A status says when it was; a look only that it was before. What is gone says nothing."""
    row = rows.get(str(event.fields.get("id")))
    if row is None:
        return event
    one = row.container
    at: int | None = row.changed_ns
    if event.kind == "container-start" and one.state != "running":
        at = one.created_wall_ns or None
    return event if at is None else replace(event, time_ns=min(at, wall_ns))
