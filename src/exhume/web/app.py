"""The API: one route a question, answered by store.queries, as the JSON of `--json`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exhume import __version__
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.jsonable import jsonable
from exhume.store import queries
from exhume.store.heads import read_heads
from exhume.store.recording import Recording
from exhume.web import questions
from exhume.web.security import Guard

FRESH_SECONDS = 1.0

Answer = Callable[[Recording, Request], Any]


class Desk:
    """One recording, asked by one thread at a time, looked at anew when it is a second old."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._recording: Recording | None = None
        self._seen = 0.0

    def ask(self, answer: Answer, request: Request) -> Any:
        with self._lock:
            if self._recording is None:
                self._recording = Recording.open(self._data, heads=read_heads)
                self._seen = time.monotonic()
            elif time.monotonic() - self._seen > FRESH_SECONDS:
                self._recording.refresh()
                self._seen = time.monotonic()
            return answer(self._recording, request)


def spans(recording: Recording, _: Request) -> Any:
    return recording.spans()


def cores(recording: Recording, request: Request) -> Any:
    window = questions.window(request.query_params, recording.window())
    columns = questions.number(request.query_params, "columns", 600, questions.MAX_COLUMNS)
    return queries.core_map(recording, window, columns)


def sub_second(recording: Recording, request: Request) -> Any:
    query = request.query_params
    window = questions.window(query, recording.window())
    rows = questions.number(query, "rows", 50, 1000)
    return queries.sub_second(recording, window, rows, questions.sample_filter(query))


def flame(recording: Recording, request: Request) -> Any:
    query = request.query_params
    window = questions.window(query, recording.window())
    thinnest = questions.number(query, "per_mille", 1, 1000) / 1000
    return queries.flame(recording, window, questions.sample_filter(query), thinnest)


def top(recording: Recording, request: Request) -> Any:
    query = request.query_params
    window = questions.window(query, recording.window())
    limit = questions.number(query, "limit", 20, 1000)
    return queries.top(recording, window, questions.sample_filter(query), limit)


def who(recording: Recording, request: Request) -> Any:
    query = request.query_params
    cores = questions.sample_filter(query).cores
    if len(cores) != 1:
        raise ExhumeError("the parameter core: expected one core", exit_code=EXIT_USAGE)
    return queries.who(recording, cores[0], questions.seconds(query, "at"))


def series(recording: Recording, request: Request) -> Any:
    query = request.query_params
    window = questions.window(query, recording.window())
    instances = questions.strings(query, "instance")
    return queries.series(recording, request.path_params["field"], window, instances)


def events(recording: Recording, request: Request) -> Any:
    query = request.query_params
    window = questions.window(query, recording.window())
    return queries.events(recording, window, questions.strings(query, "kind"), query.get("subject"))


QUESTIONS: tuple[tuple[str, str, Answer], ...] = (
    ("/api/spans", "what is recorded, and in which state", spans),
    ("/api/cores", "core × time: start, end, columns", cores),
    ("/api/sub-second", "FlameScope's heat map: start, end, rows, filters", sub_second),
    ("/api/flame", "the call tree: start, end, per_mille, filters", flame),
    ("/api/top", "processes and frames: start, end, limit, filters", top),
    ("/api/who", "who was on a core at an instant: core, at", who),
    ("/api/series/{field}", "readings of a field: start, end, instance", series),
    ("/api/events", "events: start, end, kind, subject", events),
)
"""Times are epoch seconds; filters are core, comm, pid, tid, cgroup and mode, each any number of
times. Answers are those of the commands' --json: docs/schema/."""


def make_app(data: Path, *, bind: str = "127.0.0.1", token: str | None = None) -> Starlette:
    desk = Desk(data)

    def route(path: str, answer: Answer) -> Route:
        def endpoint(request: Request) -> Response:
            try:
                return _json(jsonable(desk.ask(answer, request)))
            except ExhumeError as error:
                status = 400 if error.exit_code == EXIT_USAGE else 422
                return _json({"error": error.what, "todo": error.todo}, status)

        return Route(path, endpoint, methods=["GET"])

    def index(_: Request) -> Response:
        listed = {path: about for path, about, _ in QUESTIONS}
        return _json({"exhume": __version__, "questions": listed})

    return Starlette(
        routes=[Route("/", index), *(route(path, answer) for path, _, answer in QUESTIONS)],
        middleware=[
            Middleware(Guard, bind=bind, token=token),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
    )


def _json(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")
