"""Tables of `docker ps -a`, of podman and crictl → containers, and what became of each.

An agent that is removed and run anew every 10 s shows as another id under the same name and image,
look after look; so looks are compared as those at a live runtime are (`sources.containers`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources import containers

PATH = "docker ps"
ROLL_CALL_NS = 600 * 1_000_000_000
_ROUGH_NS = 60 * 1_000_000_000
"""Hours and days are rounded, up or down."""
RECENT_NS = 3600 * 1_000_000_000
"""Of what began and ended in the hour before the first look, that is told too."""
_ALIASES = {
    "CONTAINER": "CONTAINER ID", "ID": "CONTAINER ID", "NAME": "NAMES", "STATE": "STATUS",
    "RUNNING FOR": "CREATED", "CREATED AT": "CREATED",
}  # fmt: skip
"""As crictl and `--format 'table …'` call them."""
_KEYS = {
    "ID": "CONTAINER ID", "Image": "IMAGE", "Names": "NAMES", "Status": "STATUS",
    "RunningFor": "CREATED", "CreatedAt": "CREATED",
}  # fmt: skip
"""Of `--format json`; of two the first counts."""
# What `docker ps -a | grep NAME` and `crictl ps -a | grep NAME` leave.
_WITHOUT_HEADER = (
    ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"),
    ("CONTAINER ID", "IMAGE", "CREATED", "STATUS", "NAMES", "ATTEMPT", "POD ID"),
    ("CONTAINER ID", "IMAGE", "CREATED", "STATUS", "NAMES", "ATTEMPT", "POD ID", "POD"),
    (
        *("CONTAINER ID", "IMAGE", "CREATED", "STATUS", "NAMES", "ATTEMPT", "POD ID", "POD"),
        "NAMESPACE",
    ),
)
_HEADING = re.compile(r"\S+(?: \S+)*")
_ID = re.compile(r"[0-9a-f]{12,64}")
_STATE_WORD = re.compile(r"[A-Z][A-Za-z]{2,31}|CONTAINER_[A-Z]{3,16}")
_ROW = re.compile(r"[0-9a-f]{12,64} {2}")
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
    ("Up", "running"), ("Running", "running"), ("Stopping", "running"), ("Exited", "exited"),
    ("Restarting", "restarting"), ("Created", "created"), ("Initialized", "created"),
    ("Dead", "dead"), ("Removal", "removing"), ("Unknown", "unknown"),
)  # fmt: skip


_BEGUN_AGAIN = {"running": "container-start", "restarting": "container-exit"}
"""What happened to a container that is in that state since a moment ago."""
_LATELY = {**_BEGUN_AGAIN, "exited": "container-exit", "dead": "container-exit"}
_ALIVE = ("running", "paused")


class Row(Struct, frozen=True):
    container: Container
    changed_ns: int | None
    """When it was started, or ended, as its status says."""
    changed_since_ns: int | None = None
    """The earliest that may have been: a status has whole seconds or minutes. None: any time."""


class DockerLooks(Struct):
    """Look after look."""

    _before: dict[str, Container] = field(default_factory=dict)
    _last_ns: int = 0
    _next_roll_call_ns: int = 0
    _is_first: bool = True

    def look(self, text: bytes, wall_ns: int) -> tuple[tuple[Reading, ...], tuple[Event, ...]]:
        """Raises ParseError where it is no such table."""
        rows = {row.container.id: row for row in parse(text, wall_ns)}
        found = tuple(row.container for row in rows.values())
        if self._is_first:
            recent = tuple(c for c in found if 0 <= wall_ns - c.created_wall_ns <= RECENT_NS)
            events = containers.events({}, recent, wall_ns)
            events += _changed_lately(rows, events, wall_ns)
        else:
            events = containers.events(self._before, found, wall_ns)
            events += self._begun_again(rows, events)
        told = [*self._unseen_starts(events)]
        told += [_at_its_time(event, rows, wall_ns) for event in events]
        if wall_ns >= self._next_roll_call_ns:
            told += containers.roll_call(found, wall_ns)
            self._next_roll_call_ns = wall_ns + ROLL_CALL_NS
        self._is_first, self._before = False, {one.id: one for one in found}
        self._last_ns = wall_ns
        return containers.readings(found), tuple(told)

    def _begun_again(self, rows: dict[str, Row], told: tuple[Event, ...]) -> tuple[Event, ...]:
        """What a restart policy starts anew keeps its id; that its age went back tells."""
        known = {str(event.fields.get("id")) for event in told}
        found = []
        for identity, row in rows.items():
            since, one = row.changed_since_ns, row.container
            is_same = identity in self._before and identity not in known
            if is_same and since is not None and since > self._last_ns:
                kind = _BEGUN_AGAIN.get(one.state)
                if kind is not None:
                    found.append(containers.event_of(kind, one, row.changed_ns or since))
        return tuple(found)

    def _unseen_starts(self, told: tuple[Event, ...]) -> Iterator[Event]:
        """What ended anew without having been seen alive was started since the last look."""
        for event in told:
            before = self._before.get(str(event.fields.get("id")))
            is_end = event.kind == "container-exit" and event.fields["state"] == "restarting"
            if is_end and before is not None and before.state not in _ALIVE:
                fields = {k: v for k, v in event.fields.items() if k != "exit_code"}
                yield Event(self._last_ns, "container-start", event.subject, fields=fields)


def parse(text: bytes, wall_ns: int) -> tuple[Row, ...]:
    """`wall_ns`: when it was printed; its times are ages."""
    lines = text.decode("utf-8", "replace").expandtabs().split("\n")
    if lines[0].startswith("{"):
        return tuple(_of_json(line, index, wall_ns) for index, line in enumerate(lines, 1) if line)
    if _ROW.match(lines[0]):
        return tuple(_without_header(line, index, wall_ns) for index, line in enumerate(lines, 1)
                     if line.strip())  # fmt: skip
    header, *lines = lines
    places = [(found.start(), found[0]) for found in _HEADING.finditer(header)]
    own = {name for _, name in places}
    names = [name if (to := _ALIASES.get(name, name)) in own else to for _, name in places]
    if not {"STATUS", "NAMES"} <= set(names):
        raise ParseError(PATH, 1, "a header `CONTAINER ID   IMAGE …   STATUS …   NAMES`")
    edges = [at for at, _ in places]
    found = []
    for index, line in enumerate(lines, 2):
        if not line.strip():
            continue
        cells = _cells(line, names, edges)
        if cells is None:
            raise ParseError(PATH, index, "a container's id and status below the header's names")
        found.append(_row(cells, wall_ns))
    return tuple(found)


def _cells(line: str, names: list[str], edges: list[int]) -> dict[str, str] | None:
    """By where the columns stand; or one by one, where somebody has changed a word in the line."""
    parts = [line[begin:end] for begin, end in zip(edges, [*edges[1:], None], strict=True)]
    if not any(part[-1:].strip() for part in parts[:-1]):
        cells = {name: part.strip() for name, part in zip(names, parts, strict=True)}
        if _is_sound(cells):
            return cells
    return _by_words(line, names)


def _by_words(line: str, names: Sequence[str]) -> dict[str, str] | None:
    words = re.split(r" {2,}", line.strip())
    # Of all columns only the ports are empty.
    for known in (names, [name for name in names if name != "PORTS"]):
        cells = dict(zip(known, words, strict=False))
        if len(words) == len(known) and _is_sound(cells):
            return cells
    return None


def _without_header(line: str, index: int, wall_ns: int) -> Row:
    for names in _WITHOUT_HEADER:
        if (cells := _by_words(line, names)) is not None:
            return _row(cells, wall_ns)
    raise ParseError(PATH, index, "a container's id, image, age and status, and its name")


def _is_sound(cells: dict[str, str]) -> bool:
    is_known = any(cells["STATUS"].startswith(word) for word, _ in _STATES)
    # Of crictl each state is one word, `CONTAINER_RUNNING` in old ones.
    is_known |= "POD ID" in cells and _STATE_WORD.fullmatch(cells["STATUS"]) is not None
    is_id = _ID.fullmatch(cells.get("CONTAINER ID", "0" * 12)) is not None
    return is_id and is_known and bool(cells["NAMES"])


def _of_json(line: str, index: int, wall_ns: int) -> Row:
    try:
        said = json.loads(line)
        cells = {_KEYS[key]: str(said[key]) for key in reversed(_KEYS) if key in said}
    except (ValueError, TypeError, RecursionError) as error:
        raise ParseError(PATH, index, "an object of `docker ps --format json`") from error
    if not {"STATUS", "NAMES"} <= cells.keys():
        raise ParseError(PATH, index, "`Names` and `Status`")
    return _row(cells, wall_ns)


def _row(cells: dict[str, str], wall_ns: int) -> Row:
    status = cells["STATUS"]
    plain = status.removeprefix("CONTAINER_").capitalize() if status.isupper() else status
    state = next((state for word, state in _STATES if plain.startswith(word)), "unknown")
    if state == "running" and "(Paused)" in status:
        state = "paused"
    exited = _EXITED.match(status)
    created, _ = _age_ns(cells.get("CREATED", ""))
    changed, unit = _age_ns(status)
    name = cells["NAMES"].split(",")[0]
    attempt = cells.get("ATTEMPT", "")
    return Row(
        Container(
            id=cells.get("CONTAINER ID", name),
            name=name,
            image=cells.get("IMAGE", ""),
            runtime="containerd" if "POD ID" in cells else "docker",
            state=state,
            created_wall_ns=0 if created is None else wall_ns - created,
            restarts_total=int(attempt) if attempt.isascii() and attempt.isdigit() else None,
            exit_code=int(exited[1]) if exited else None,
            pod_name=cells.get("POD", "") if "POD ID" in cells else "",
            pod_namespace=cells.get("NAMESPACE", ""),
        ),
        None if changed is None else wall_ns - changed,
        None if changed is None or unit > _ROUGH_NS else wall_ns - changed - unit,
    )


def _age_ns(text: str) -> tuple[int | None, int]:
    """And the unit it is told in."""
    found = _AGE.search(text)
    if found is None:
        return None, 0
    count = int(found[3]) if found[3] else (0 if found[2] else 1)
    unit = _SECONDS[found[4]] * 1_000_000_000
    return count * unit, unit


def _changed_lately(
    rows: dict[str, Row], told: tuple[Event, ...], wall_ns: int
) -> tuple[Event, ...]:
    """What was created long ago and began again, or ended, in the hour before."""
    known = {str(event.fields.get("id")) for event in told}
    found = []
    for identity, row in rows.items():
        kind = _LATELY.get(row.container.state)
        is_recent = row.changed_ns is not None and wall_ns - row.changed_ns <= RECENT_NS
        if kind is not None and is_recent and identity not in known:
            # It may have been started many times since it was created.
            one = replace(row.container, created_wall_ns=0)
            found.append(containers.event_of(kind, one, wall_ns))
    return tuple(found)


def _at_its_time(event: Event, rows: dict[str, Row], wall_ns: int) -> Event:
    """A status says when it was; a look only that it was before. What is gone says nothing."""
    row = rows.get(str(event.fields.get("id")))
    if row is None:
        return event
    one = row.container
    at: int | None = row.changed_ns
    # crictl says `Running`, not since when; what CRI runs was created to be started once.
    if event.kind == "container-start" and (at is None or one.state != "running"):
        at = one.created_wall_ns or None
    return event if at is None else replace(event, time_ns=min(at, wall_ns))
