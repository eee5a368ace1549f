"""The API over a recording made here: right answers, and no answer to those who may not ask."""

from __future__ import annotations

import asyncio
import os
import re
from base64 import b64decode
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from bench.synthetic import make_node, make_segment
from exhume.export import FORMATS
from exhume.export.report_markdown import markdown
from exhume.model.case import Case
from exhume.model.core import NO_CORE
from exhume.model.jsonable import Json, from_jsonable
from exhume.model.sample import Stretch
from exhume.model.schema import schema_in
from exhume.store.writer import write_segment
from exhume.web.app import make_app
from exhume.web.report import REPORTS
from exhume.web.routes import QUESTIONS, Question
from exhume.web.security import is_loopback
from tests.cli.story import record
from tests.ingest import made
from tests.ingest.made import do_import
from tests.store.make import SECOND, START, by_hand
from tests.store.test_ended import imported

PATHS = [question.path for question in QUESTIONS]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    write_segment(root, make_segment(make_node(cores=4, stacks=400), 20.0))
    return root


def client(data: Path, *, host: str = "127.0.0.1", token: str | None = None) -> TestClient:
    return TestClient(make_app(data, token=token), base_url=f"http://{host}:7471")


def needed(question: Question, middle: float) -> dict[str, str]:
    """The parameters without which there is no answer."""
    known = {"at": str(middle), "core": "0"}
    names = {parameter.name for parameter in question.parameters if parameter.required}
    return known if "at" in names else {}


def test_every_question_has_an_answer_about_all_that_is_recorded_as_described(data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    middle = (span["window"]["start"] + span["window"]["end"]) / 2
    for question in QUESTIONS:
        path = question.path.replace("{field}", "cpu.system")
        answer = asker.get(path, params=needed(question, middle))
        assert answer.status_code == 200, (path, answer.text)
        definitions: dict[str, Json] = {}
        schema = schema_in(question.kind, definitions)
        jsonschema.validate(answer.json(), {**schema, "$defs": definitions})


def test_the_cores_of_a_capture_alone_are_those_of_any_of_its_stretches(tmp_path: Path) -> None:
    """Without counters each stretch has only the cores that it sampled."""
    for index, core in enumerate((3, 5, 64, 1, NO_CORE, 8, 2)):
        start_ns = START + index * 10 * SECOND
        samples = [(core, n / 100, 0, 0) for n in range(300)]
        write_segment(tmp_path, by_hand(samples, start_ns=start_ns))
    asker = client(tmp_path)
    known = asker.get("/api/recording").json()
    assert known["cores"] == [1, 2, 3, 5, 8, 64]
    cells = asker.get("/api/cores", params={**known["window"], "columns": "70"}).json()
    assert cells["source"] == "samples"
    assert cells["cores"] == known["cores"]
    worst = np.frombuffer(b64decode(cells["worst"]), np.uint8).reshape(6, 70)
    assert worst[known["cores"].index(64), 20:23].tolist() == [200] * 3
    assert cells["node_worst_core"][20:23] == [64] * 3


def test_samples_of_what_is_no_time_are_told_apart(tmp_path: Path) -> None:
    for name, event in (("time", "cpu-clock"), ("faults", "page-faults")):
        data = by_hand(
            [(0, n / 100, 0, 0) for n in range(100)],
            stacks=(("app", "main"),),
            stretches=(Stretch(START, event, 100.0),),
        )
        write_segment(tmp_path / name, data)
        found = client(tmp_path / name).get("/api/flame").json()
        assert found["counted"] == (["page-faults"] if name == "faults" else [])


def test_a_capture_that_seems_to_be_of_1970_can_be_asked(tmp_path: Path) -> None:
    """Archives that are made to be the same each time set all files' times to 0 or 1."""
    path = made.write(tmp_path / "a.data", made.capture(20.0).file())
    os.utime(path, (1, 1))
    do_import(tmp_path / "out", path)
    asker = client(tmp_path / "out")
    window = asker.get("/api/recording").json()["measured"]
    assert window["start"] < 0
    answer = asker.get("/api/cores", params=window)
    assert answer.status_code == 200, answer.text
    assert asker.get("/api/cores", params={"start": "1e10"}).status_code == 400


def test_of_imported_files_what_was_measured_is_told_apart(tmp_path: Path) -> None:
    known = client(imported(tmp_path)).get("/api/recording").json()
    assert known["window"]["end"] == known["measured"]["end"]
    assert known["measured"]["end"] - known["measured"]["start"] == pytest.approx(4)
    assert known["window"]["end"] - known["window"]["start"] > 13 * 86_400


@pytest.mark.parametrize("micros", [0, 123_457, 771_234, 999_999])
def test_the_first_and_the_last_line_of_a_log_are_in_the_window_it_tells(
    micros: int, tmp_path: Path
) -> None:
    line = "2026-11-15T03:14:0{}.{:06d}+00:00 kernel: Out of memory: Killed process {} (worker)\n"
    log = tmp_path / "kern.log"
    for seconds in ((7,), (7, 9)):
        log.write_text("".join(line.format(at, micros, 4000 + at) for at in seconds))
        root = tmp_path / str(len(seconds))
        do_import(root, str(log))
        asker = client(root)
        window = asker.get("/api/recording").json()["measured"]
        (first, *_) = asker.get("/api/cases", params=window).json()["cases"]
        assert first["case"]["symptom"]["kind"] == "out-of-memory"
        assert first["case"]["symptom"]["count"] == len(seconds)


def test_the_server_says_how_long_it_took(data: Path) -> None:
    timing = client(data).get("/api/recording").headers["server-timing"]
    assert timing.startswith("answer;dur=")


def test_a_window_and_a_filter_narrow_the_answer(data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    start = span["window"]["start"] + 5
    few = asker.get("/api/top", params={"start": start, "end": start + 2, "core": 1}).json()
    assert few["window"] == {"start": pytest.approx(start), "end": pytest.approx(start + 2)}
    assert few["processes"]
    assert all(process["cores"] == [1] for process in few["processes"])


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/cores", {"columns": "0"}),
        ("/api/cores", {"columns": "99999999999"}),
        ("/api/cores", {"start": "yesterday"}),
        ("/api/cores", {"start": "nan"}),
        ("/api/cores", {"start": "20", "end": "10"}),
        ("/api/flame", {"mode": "../../etc/passwd"}),
        ("/api/top", {"core": "1; drop table"}),
        ("/api/top", {"pid": "١٢"}),
        ("/api/top", {"pid": "--1"}),
        ("/api/top", {"comn": "kubelet"}),
        ("/api/cores", {"show": "everything"}),
        ("/api/flame", {"shape": "round"}),
        ("/api/diff", {"base": "window", "base_start": "5", "base_end": "4"}),
        ("/api/sub-second", {"start": "0"}),
        ("/api/gauge/no.such.field", {}),
        ("/api/gauge/..%2f..%2fetc%2fpasswd", {}),
        ("/api/series/no.such.field", {}),
        ("/api/who", {"core": "0"}),
        ("/api/who", {"at": "5"}),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_breaks(
    path: str, params: dict[str, str], data: Path
) -> None:
    answer = client(data).get(path, params=params)
    assert answer.status_code in (400, 404)
    if answer.status_code == 400:
        assert any(word in answer.json()["error"] for word in ("the parameter", "field", "map"))


def test_no_recording_says_what_to_do(tmp_path: Path) -> None:
    answer = client(tmp_path).get("/api/cores")
    assert answer.status_code == 422
    assert "exhume up" in answer.json()["todo"]


def test_nothing_can_be_changed(data: Path) -> None:
    asker = client(data)
    for method in ("post", "put", "delete", "patch"):
        assert getattr(asker, method)("/api/spans").status_code == 405


def test_another_host_name_is_turned_away_because_a_page_may_have_rebound_its_dns(
    data: Path,
) -> None:
    assert client(data, host="evil.example").get("/api/spans").status_code == 421
    assert client(data, host="127.0.0.1.evil.example").get("/api/spans").status_code == 421
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert client(data, host=name).get("/api/spans").status_code == 200


def test_a_token_is_asked_for_where_one_is_set(data: Path) -> None:
    asker = client(data, host="node-17", token="s3cret")
    assert asker.get("/api/spans").status_code == 401
    assert asker.get("/api/spans", headers={"Authorization": "Bearer wrong"}).status_code == 401
    right = {"Authorization": "Bearer s3cret"}
    assert asker.get("/api/spans", headers=right).status_code == 200


def test_the_page_itself_needs_no_token_because_it_holds_nothing(data: Path) -> None:
    assert client(data, host="node-17", token="s3cret").get("/").status_code == 200


def test_every_answer_carries_the_headers_that_keep_a_browser_in_bounds(data: Path) -> None:
    wrong = client(data, host="evil.example")
    asker = client(data)
    for answer in (asker.get("/"), asker.get("/api/spans"), asker.get("/none"), wrong.get("/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_answer_from_closed_segments_is_not_made_twice(data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    window = {"start": span["window"]["start"] + 1, "end": span["window"]["start"] + 9}
    first = asker.get("/api/flame", params=window)
    again = asker.get("/api/flame", params=window, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = asker.get(
        "/api/flame",
        params={**window, "core": 1},
        headers={"If-None-Match": first.headers["etag"]},
    )
    assert other.status_code == 200


def test_what_reaches_beyond_the_recording_is_asked_anew_each_time(data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    window = {"start": span["window"]["start"], "end": span["window"]["end"] + 60}
    answer = asker.get("/api/cores", params={**window, "columns": 10})
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def _in_own_loop(work: Coroutine[Any, Any, list[int]]) -> list[int]:
    """In a thread: where the browser's tests ran before, this one has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def test_who_has_gone_is_not_answered_and_others_need_not_wait_for_that(data: Path) -> None:
    app = make_app(data)
    made: list[str] = []

    async def ask(path: str, *, gone: bool) -> int:
        status = 0

        async def receive() -> Message:
            return {"type": "http.disconnect" if gone else "http.request", "body": b""}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            made.append(message["type"])

        headers = [(b"host", b"127.0.0.1:7471")]
        scope: Scope = {"type": "http", "method": "GET", "path": path, "headers": headers,
                        "query_string": b"", "root_path": "", "scheme": "http"}  # fmt: skip
        await app(scope, receive, send)
        return status

    async def everybody() -> list[int]:
        left = [ask("/api/diff", gone=True) for _ in range(100)]
        return await asyncio.gather(*left, ask("/api/who-ran", gone=False))

    *left, stayed = _in_own_loop(everybody())
    assert (set(left), stayed) == ({499}, 200)


@pytest.mark.parametrize("name", FORMATS)
def test_a_selection_is_exported_in_every_format(name: str, data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    window = {"start": span["window"]["start"], "end": span["window"]["start"] + 2, "core": 1}
    answer = asker.get(f"/api/export/{name}", params=window)
    assert (answer.status_code, len(answer.content) > 50) == (200, True)
    attached = answer.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[\w.-]+"', attached)
    assert attached.endswith(f'{FORMATS[name].suffix}"')


def test_an_export_that_can_not_be_is_refused_by_name(data: Path) -> None:
    assert "no format" in client(data).get("/api/export/exe").json()["error"]
    wrong = client(data).get("/api/export/folded", params={"file": "/etc/passwd"})
    assert (wrong.status_code, "'file'" in wrong.json()["error"]) == (400, True)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client(Path(record(tmp_path_factory.mktemp("story"))))


def test_a_case_is_downloaded_as_the_report_that_the_terminal_writes(story: TestClient) -> None:
    listed = story.get("/api/cases", params={"limit": 1}).json()
    entry, window = listed["cases"][0], listed["window"]
    asked = {**window, "limit": 1, "case": entry["id"]}
    case = from_jsonable(Case, entry["case"])
    answers = {name: story.get(f"/api/report/{name}", params=asked) for name in REPORTS}
    assert answers["json"].json() == entry["case"]
    assert answers["markdown"].text == markdown(case)
    page = answers["html"].text
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    assert escape(case.verdict.summary) in page
    for name, answer in answers.items():
        attached = answer.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="[\w.-]+"', attached)
        assert attached.endswith(f'{REPORTS[name].suffix}"')


def test_a_report_of_what_is_no_case_is_refused_by_name(story: TestClient) -> None:
    listed = story.get("/api/cases", params={"limit": 1}).json()
    asked = {**listed["window"], "limit": 1, "case": "<none>"}
    wrong = story.get("/api/report/html", params=asked)
    assert (wrong.status_code, "'<none>'" in wrong.json()["error"]) == (400, True)
    assert story.get("/api/report/exe", params=asked).status_code == 400
    assert story.get("/api/report/html", params={**asked, "file": "x"}).status_code == 400


@pytest.mark.parametrize(
    "path",
    ["/..%2f..%2fpyproject.toml", "/assets/../index.html", "/assets/..%2fapp.py", "/static/"],
)
def test_no_path_reaches_the_file_system(path: str, data: Path) -> None:
    assert client(data).get(path).status_code == 404


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
    ],
)
def test_loopback_is_told_from_the_rest(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected
