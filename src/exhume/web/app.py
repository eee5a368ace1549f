"""The server: one route a question, and the page that asks them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from exhume import __version__
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export import FORMATS, Export, make
from exhume.host import SystemClock
from exhume.model.jsonable import jsonable
from exhume.model.window import Window
from exhume.store.heads import read_heads, written
from exhume.store.light_heads import read_light_heads
from exhume.store.recording import Recording
from exhume.web import metrics, openapi, page, questions, report
from exhume.web.asked import Asked
from exhume.web.diagnosis import Diagnoses
from exhume.web.routes import QUESTIONS, Question
from exhume.web.security import Guard

FRESH_SECONDS = 0.2
"""How often at most it is looked whether the recorder has written more."""
COPIED_SECONDS = 5.0
"""The same for segments that somebody else puts there."""
_ASIDE = 4
"""Threads that may wait for diagnoses at once."""
_GONE = 499
"""What nobody reads: the client closed the connection."""
STALE_SECONDS = 60.0
"""What is closed stays as it is, so a recording that covers a question is asked that long."""


class Desk:
    """One recording, asked by one thread at a time, looked at anew when that may tell more."""

    def __init__(self, data: Path, diagnoses: Diagnoses, *, with_samples: bool) -> None:
        self._data = data
        self._diagnoses = diagnoses
        self._heads = read_heads if with_samples else read_light_heads
        self._lock = threading.Lock()
        self._recording: Recording | None = None
        self._whole = Window(0, 1)
        self._seen = 0.0
        self._written: tuple[tuple[str, int], ...] = ()

    def ask(self, question: Question, request: Request) -> tuple[Any, str]:
        """The answer, and its mark: what it was made from, empty where that still grows."""
        with self._lock:
            asked = self._asked(question, request)
            if asked.made_of and request.headers.get("if-none-match") == asked.made_of:
                return None, asked.made_of
            if not question.is_aside:
                return question.answer(asked), asked.made_of
        return question.answer(asked), asked.made_of

    def export(self, format_: str, request: Request) -> tuple[Export, str]:
        """The selection in another tool's format, and a name for the file."""
        with self._lock:
            asked = self._asked(None, request)
            made = make(format_, asked.recording, asked.window, asked.filter)
            node = next((view.origin.node for view in asked.recording.views()), "")
            return made, _file_name(node, asked.window, FORMATS[format_].suffix)

    def report(self, request: Request) -> tuple[str, str, str]:
        """A case as a file: its text, its type and a name for it."""
        with self._lock:
            asked = self._asked(None, request)
        form = report.format_of(asked)
        case = report.case_of(asked)
        with self._lock:
            text = form.write(asked.recording, case)
        about = case.window if case.symptom is None else case.symptom.window
        return text, form.media_type, _file_name(f"{case.node}-case", about, form.suffix)

    def _asked(self, question: Question | None, request: Request) -> Asked:
        recording = self._current(request)
        asked = Asked(
            recording,
            self._whole,
            self._data,
            request.query_params,
            request.path_params,
            SystemClock().wall_ns(),
            self._diagnoses,
        )
        if question is None:
            return asked
        return replace(asked, made_of=_mark(question, asked, str(request.url.query)))

    def _current(self, request: Request) -> Recording:
        age = time.monotonic() - self._seen
        if self._recording is None:
            self._written = written(self._data)
            self._recording = Recording.open(self._data, heads=self._heads)
        elif age > STALE_SECONDS or (age > FRESH_SECONDS and self._may_tell_more(request, age)):
            self._recording.refresh()
        else:
            return self._recording
        self._seen = time.monotonic()
        self._whole = self._recording.window()
        return self._recording

    def _may_tell_more(self, request: Request, age: float) -> bool:
        """The question goes beyond what was there when we last looked, and since then more came:
        a second is then seen as soon as it is written, and nothing is read twice."""
        if questions.window(request.query_params, self._whole).end_ns < self._whole.end_ns:
            return False
        before, self._written = self._written, written(self._data)
        return before != self._written or age > COPIED_SECONDS


def _mark(question: Question, asked: Asked, query: str) -> str:
    """Of an answer from closed segments alone: it stays the same while those are there."""
    if questions.START not in question.parameters or asked.query.get("base") == "whole":
        return ""
    views = asked.recording.views(asked.window)
    if not views or any(view.state == "head" for view in views):
        return ""
    if asked.window.end_ns > asked.whole.end_ns:
        return ""
    made_of = "\n".join([__version__, question.path, str(dict(asked.path)), query,
                         *(view.name for view in views)])  # fmt: skip
    return f'"{hashlib.sha256(made_of.encode()).hexdigest()[:32]}"'


def make_app(
    data: Path,
    *,
    bind: str = "127.0.0.1",
    token: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Starlette:
    """`labels`: of the node, on every metric."""
    diagnoses = Diagnoses(data)
    desks = {kind: Desk(data, diagnoses, with_samples=kind) for kind in (True, False)}

    # Diagnoses are made one by one, but what is known already must not wait for that.
    turns = {
        "samples": asyncio.Semaphore(1),
        "counters": asyncio.Semaphore(1),
        "aside": asyncio.Semaphore(_ASIDE),
    }

    def route(question: Question) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                questions.check_known(request.query_params, question.parameters)
                of_samples = question.wants_samples(request.query_params)
            except ExhumeError as error:
                return _problem(error)
            turn = "aside" if question.is_aside else "samples" if of_samples else "counters"
            # Waiting takes no thread, and who zooms on asks for what nobody waits for any more.
            async with turns[turn]:
                if await request.is_disconnected():
                    return Response(status_code=_GONE)
                return await run_in_threadpool(answered, request, desks[of_samples])

        def answered(request: Request, desk: Desk) -> Response:
            began = time.perf_counter()
            try:
                answer, mark = desk.ask(question, request)
            except ExhumeError as error:
                return _problem(error)
            asked = time.perf_counter()
            unchanged = mark and request.headers.get("if-none-match") == mark
            response = Response(status_code=304) if unchanged else _json(jsonable(answer))
            written = time.perf_counter()
            response.headers["server-timing"] = (
                f"answer;dur={(asked - began) * 1e3:.1f}, json;dur={(written - asked) * 1e3:.1f}"
            )
            if mark:
                response.headers["etag"] = mark
                response.headers["cache-control"] = "private, no-cache"
            return response

        return Route(question.path, endpoint, methods=["GET"])

    def export(request: Request) -> Response:
        try:
            questions.check_known(request.query_params, openapi.EXPORT)
            made, name = desks[True].export(request.path_params["format"], request)
        except ExhumeError as error:
            return _problem(error)
        kind = FORMATS[request.path_params["format"]].media_type
        attached = {"content-disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(made.pieces, media_type=kind, headers=attached)

    async def case_report(request: Request) -> Response:
        async with turns["aside"]:
            return await run_in_threadpool(written_report, request)

    def written_report(request: Request) -> Response:
        try:
            questions.check_known(request.query_params, report.REPORT)
            text, kind, name = desks[True].report(request)
        except ExhumeError as error:
            return _problem(error)
        attached = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type=kind, headers=attached)

    described = _json(openapi.document())

    async def description(_: Request) -> Response:
        return Response(described.body, media_type="application/json")

    return Starlette(
        routes=[
            Route("/api/openapi.json", description, methods=["GET"]),
            Route("/api/export/{format}", export, methods=["GET"]),
            Route("/api/report/{format}", case_report, methods=["GET"]),
            *(route(question) for question in QUESTIONS),
            metrics.route(data, diagnoses, labels or {}),
            *page.routes(),
        ],
        middleware=[
            Middleware(Guard, bind=bind, token=token),
            Middleware(GZipMiddleware, minimum_size=1000, compresslevel=1),
        ],
    )


def _file_name(node: str, window: Window, suffix: str) -> str:
    """Of harmless characters only: a node's name is what somebody set."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in node)
    began = datetime.fromtimestamp(window.start_ns // 1_000_000_000, UTC)
    return f"{plain[:40] or 'exhume'}-{began:%Y%m%dT%H%M%SZ}{suffix}"


def _problem(error: ExhumeError) -> Response:
    status = 400 if error.exit_code == EXIT_USAGE else 422
    return _json({"error": error.what, "todo": error.todo}, status)


def _json(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")
