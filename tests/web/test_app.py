"""The API over a recording made here: right answers, and no answer to those who may not ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bench.synthetic import make_node, make_segment
from exhume.store.writer import write_segment
from exhume.web.app import QUESTIONS, make_app
from exhume.web.security import is_loopback

PATHS = [path for path, _, _ in QUESTIONS]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    write_segment(root, make_segment(make_node(cores=4, stacks=400), 20.0))
    return root


def client(data: Path, *, host: str = "127.0.0.1", token: str | None = None) -> TestClient:
    return TestClient(make_app(data, token=token), base_url=f"http://{host}:7471")


def test_the_index_lists_every_question(data: Path) -> None:
    assert set(client(data).get("/").json()["questions"]) == set(PATHS)


def test_every_question_has_an_answer_about_all_that_is_recorded(data: Path) -> None:
    asker = client(data)
    (span,) = asker.get("/api/spans").json()
    middle = (span["window"]["start"] + span["window"]["end"]) / 2
    for path in PATHS:
        answer = asker.get(path.replace("{field}", "cpu.system"), params={"core": 0, "at": middle})
        assert answer.status_code == 200, (path, answer.text)
        assert answer.json() is not None, path


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
        ("/api/who", {"core": "0"}),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_breaks(
    path: str, params: dict[str, str], data: Path
) -> None:
    answer = client(data).get(path, params=params)
    assert answer.status_code == 400
    assert "the parameter" in answer.json()["error"]


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


def test_answers_carry_the_headers_that_keep_a_browser_in_bounds(data: Path) -> None:
    headers = client(data).get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


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
