"""What `docker events` and `podman events` print → starts and ends of containers, each at its time,
and who ran out of memory.

Looks miss who lives for a second; this is the runtime's own record, with exit codes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from exhume.derive.log_events import LogLine, folded_events
from exhume.derive.signatures import Match, job_log, match
from exhume.derive.stamps import StampFinder, Years
from exhume.errors import ParseError
from exhume.ingest.context import Context
from exhume.ingest.lines import head_lines, lines_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import CHUNK_EVENTS
from exhume.ingest.log_reader import newest_ns
from exhume.ingest.piece import Facts, Hints, Piece
from exhume.ingest.streams import Source, problem_of
from exhume.model.container import Container
from exhume.sources import docker_events
from exhume.sources.containers import noted_events
from exhume.sources.docker_events import Happened

_LINES_LOOKED_AT = 20
# `2026-03-14T00:05:00.5Z container die 3f1d… (execDuration=3, exitCode=1, image=…, name=box)`, and
# `2026-03-14 00:05:00.5 +0000 UTC container died 3f1d… (image=…, name=box)` of podman.
_LINE = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,20}(?: [+-]\d{4} \w{1,5})?) "
    r"(?:container|image|network|volume|plugin|daemon|service|node|secret|config|builder|pod|system"
    r"|machine) (?P<action>[\w-]{1,32})\b:?(?P<rest>.{0,16000})"
)
_CONTAINER = re.compile(r"\S+ (?:\S+ )?(?:[+-]\d{4} \w+ )?container ")
_ID = re.compile(r" ([0-9a-f]{12,64})(?: |$)")
_NAME = re.compile(r"[(, ]name=([^\s,)]{1,255})")
_ERROR = 3
_OF_NAME = {"start": "running", "die": "exited", "died": "exited"}
_JSON = re.compile(rb'\s*\{(?=[^\n]{0,4000}"Type":\s?"container")(?=[^\n]{0,9000}"timeNano":\s?\d)')


def is_events(head: bytes, _: Path) -> bool:
    if _JSON.match(head):
        return True
    lines = head_lines(head, _LINES_LOOKED_AT)
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def read(source: Source, context: Context) -> Iterator[Piece]:
    reader = _Reader(source, context)
    with source.open(context.progress) as stream:
        for line in lines_of(stream):
            reader.add(line)
            if reader.size >= CHUNK_EVENTS:
                yield reader.piece()
        broken = tuple(filter(None, [problem_of(stream)]))
    yield reader.piece()
    notes = (f"{reader.told} starts and ends of containers in {reader.lines} lines",)
    clock = reader.times.clock
    yield Piece(Hints(), clock, None, facts=Facts(notes=notes, problems=broken))


class _Reader:
    def __init__(self, source: Source, context: Context) -> None:
        self.times = LocalTimes(context.clock.zone)
        self.held: list[Happened] = []
        self._harms: list[tuple[LogLine, Match | None]] = []
        self.lines = self.told = 0
        self._last_ns = 0
        self._stamps = StampFinder(Years(newest_ns(source.path)))

    @property
    def size(self) -> int:
        return len(self.held) + len(self._harms)

    def add(self, line: str) -> None:
        self.lines += bool(line.strip())
        found = self._json(line) if line.lstrip().startswith("{") else self._text(line)
        if found is not None:
            self.told += 1
            self._last_ns = max(self._last_ns, found.wall_ns)
            self.held.append(found)
        elif "oom" in line:
            self._note_oom(line)

    def _note_oom(self, line: str) -> None:
        is_json = line.lstrip().startswith("{")
        found = _oom_of_json(line) if is_json else self._oom_of_text(line)
        if found is not None and is_json:
            self.times.saw_time(found[0], has_zone=True)
        if found is not None:
            self._last_ns = max(self._last_ns, found[0])
            text = f"container {found[1]} ran out of memory"
            self._harms.append((LogLine(found[0], text, level=_ERROR), match(text, job_log())))

    def _oom_of_text(self, line: str) -> tuple[int, str] | None:
        found = _LINE.fullmatch(line)
        if found is None or found["action"] != "oom" or _CONTAINER.match(line) is None:
            return None
        stamp = self._stamps.find(found["stamp"])
        identity = _ID.search(found["rest"])
        if stamp is None or identity is None:
            return None
        named = _NAME.search(found["rest"])
        return self.times.saw(stamp).time_ns, named[1] if named else identity[1][:12]

    def piece(self) -> Piece:
        happened, self.held = sorted(self.held, key=lambda one: one.wall_ns), []
        harms, self._harms = folded_events(self._harms, kind="job-log"), []
        events = (*noted_events(happened, 0), *harms)
        return Piece(
            Hints(), self.times.clock, self.times.claim(), events=events,
            guesses=self.times.guesses(self._last_ns),
        )  # fmt: skip

    def _json(self, line: str) -> Happened | None:
        with suppress(ParseError):  # of other things than starts and ends
            found = docker_events.parse(line.encode())
            self.times.saw_time(found[0].wall_ns, has_zone=True)
            return found[0]
        return None

    def _text(self, line: str) -> Happened | None:
        found = _LINE.fullmatch(line)
        state = _OF_NAME.get(found["action"]) if found is not None else None
        if found is None or state is None or _CONTAINER.match(line) is None:
            return None
        stamp = self._stamps.find(found["stamp"])
        identity = _ID.search(found["rest"])
        if stamp is None or identity is None:
            return None
        told: dict[str, str] = dict(re.findall(r"[(, ]([\w.]+)=([^,)]*)", found["rest"]))
        code = told.get("exitCode") or told.get("containerExitCode") or ""
        is_end = state == "exited"
        return Happened(
            self.times.saw(stamp).time_ns,
            Container(
                id=identity[1],
                name=told.get("name", ""),
                image=told.get("image", ""),
                runtime="docker" if "T" in found["stamp"] else "podman",
                state=state,
                created_wall_ns=0,
                exit_code=int(code) if is_end and code.isdigit() and len(code) < 9 else None,
                pod_name=told.get("io.kubernetes.pod.name", ""),
                pod_namespace=told.get("io.kubernetes.pod.namespace", ""),
            ),
        )


def _oom_of_json(line: str) -> tuple[int, str] | None:
    with suppress(ValueError, RecursionError, KeyError, TypeError, AttributeError):
        event = json.loads(line)
        at, actor = event["timeNano"], event["Actor"]
        if event["Type"] == "container" and event["Action"] == "oom" and type(at) is int:
            name = str(actor["Attributes"].get("name") or actor["ID"][:12])
            return at, "_".join(name[:255].split())
    return None
