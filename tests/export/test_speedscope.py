from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from exhume import export
from exhume.export.speedscope import WAYS, chunks
from exhume.model.answers import Filter
from exhume.model.profile import Profile, ProfiledThread
from tests.cli.made_up import assert_harmless
from tests.export.browser import Browser
from tests.export.made import PERIOD, WINDOW, profile, profiles, recording, segment
from tests.export.readers import SPEEDSCOPE, needs_browser, needs_node
from tests.store.make import SECOND, tree_of


def made(profile: Profile, by: str = "process") -> Any:
    return json.loads("".join(chunks(profile, by=by, name="n", exporter="exhume 1")))


def check(file: Any) -> None:
    """What speedscope's reader relies on and its schema can't say."""
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    for one in file["profiles"]:
        assert one["type"] == "sampled"
        assert len(one["samples"]) == len(one["weights"])
        assert one["endValue"] - one["startValue"] == sum(one["weights"])
        assert all(weight > 0 for weight in one["weights"])
        frames = len(file["shared"]["frames"])
        assert all(0 <= frame < frames for stack in one["samples"] for frame in stack)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = recording(tmp_path_factory.mktemp("recording"), segment())
    return {
        by: json.loads(export.write("speedscope", found, WINDOW, options=export.Options(by=by)))
        for by in WAYS
    }


@given(profile=profiles(), by=st.sampled_from(WAYS))
@settings(max_examples=40, deadline=None)
def test_any_profile_is_a_valid_file_that_loses_no_time(profile: Profile, by: str) -> None:
    found = made(profile, by)
    check(found)
    for frame in found["shared"]["frames"]:
        assert_harmless(frame["name"] + frame.get("file", ""))
    named = sum(
        weight
        for one in found["profiles"]
        for stack, weight in zip(one["samples"], one["weights"], strict=True)
        if stack
    )
    assert named == PERIOD * int((profile.samples.stack > 0).sum())


def test_processes_come_with_most_time_first_and_their_threads_together(file: Any) -> None:
    check(file["process"])
    named = [(one["name"], one["endValue"]) for one in file["process"]["profiles"]]
    assert named == [("kubelet (pid 10)", 210 * PERIOD), ("python (pid 20)", 100 * PERIOD)]
    assert file["process"]["name"] == "node-1 · 2026-11-15 20:10:00 – 20:10:10 UTC"


def test_a_core_shows_the_time_between_samples(file: Any) -> None:
    core = {one["name"]: one for one in file["core"]["profiles"]}["core 1"]
    assert core["endValue"] == 10 * SECOND
    frames = file["core"]["shared"]["frames"]
    shown = [([frames[n]["name"] for n in stack], w) for stack, w in zip(
        core["samples"], core["weights"], strict=True)]  # fmt: skip
    busy = ["kubelet", "main", "k_entry_SYSCALL_64", "k_memcg_stat_show"]
    # The first sample stands for the 10 ms before it, the last was taken at 3.99 s.
    assert shown == [([], 1.99 * SECOND), (busy, 2 * SECOND), ([], 6.01 * SECOND)]


def test_threads_are_told_apart(file: Any) -> None:
    names = [one["name"] for one in file["thread"]["profiles"]]
    assert names == [
        "kubelet (pid 10 tid 10)", "python (pid 20 tid 20)", "worker (pid 10 tid 12)",
    ]  # fmt: skip
    assert {one["endValue"] for one in file["thread"]["profiles"]} == {10 * SECOND}


def test_thousands_of_short_lives_are_a_profile_for_each_name() -> None:
    tree, _ = tree_of((("sh", "main"),))
    threads = [ProfiledThread(n, n, "sh", "", "", "", "", "b") for n in range(1, 1501)]
    samples = [(n / 151, 0, n - 1, 2) for n in range(1, 1501)]
    found = made(profile(samples, threads=threads, tree=tree), "thread")
    check(found)
    assert len(found["profiles"]) == 1001
    assert found["profiles"][0]["name"] == "sh (500 of them)"
    assert found["profiles"][0]["endValue"] == 500 * PERIOD


def test_no_samples_are_one_empty_profile(tmp_path: Path) -> None:
    data = export.write("speedscope", recording(tmp_path), WINDOW, Filter(comms=("nobody",)))
    found = json.loads(data)
    check(found)
    assert [one["name"] for one in found["profiles"]] == ["no samples"]


@needs_node
def test_it_is_what_speedscopes_own_schema_wants(file: Any) -> None:
    schema = json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
    for by in WAYS:
        assert list(Draft7Validator(schema).iter_errors(file[by])) == []


@needs_node
@needs_browser
def test_speedscope_itself_shows_it(file: Any, tmp_path: Path, browser: Browser) -> None:
    body = base64.b64encode(json.dumps(file["process"]).encode()).decode()
    script = tmp_path / "load.js"
    script.write_text(f"speedscope.loadFileFromBase64('x.json', '{body}')")
    place = f"localProfilePath={str(script).lstrip('/')}&view=sandwich"
    page = browser.open(f"{(SPEEDSCOPE / 'index.html').as_uri()}#{place}")
    page.until("document.body.innerText.includes('Symbol Name')")
    assert page.ask("document.title") == f"{file['process']['name']} - speedscope"
    rows = page.ask(
        "[...document.querySelectorAll('tr')]"
        ".map(row => row.innerText.replace(/\\s+/g, ' ').trim())"
    )
    assert "2.00s (95%) 2.00s (95%) k_memcg_stat_show" in rows
    assert "2.10s (100%) 100.00ms (4.8%) main" in rows
