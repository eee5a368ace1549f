from __future__ import annotations

import threading
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.model.jsonable import Json, from_jsonable
from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.web import diagnosis
from exhume.web.diagnosis import Diagnoses, entries
from exhume.web.places import CaseEntry
from tests.cli.story import record


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("story")
    record(root)
    return root


def test_another_process_finds_the_same_cases_and_finds_them_once(story: Path) -> None:
    recording = Recording.open(story)
    window = recording.window()
    here = entries(recording, window, 2)
    diagnoses = Diagnoses(story)
    found = diagnoses.of(window, 2, "x")
    assert [from_jsonable(CaseEntry, one).id for one in found] == [one.id for one in here]
    assert here[0].case.symptom is not None
    assert {place.evidence for place in here[0].places} == {e.id for e in here[0].case.evidence}
    assert diagnoses.of(window, 2, "x") is found
    assert diagnoses.of(window, 2, "y") is not found


def test_what_is_known_is_told_while_another_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def make(self: Diagnoses, window: Window, limit: int, niceness: int = 0) -> list[Json]:
        if limit > 1:
            asked.set()
            assert go_on.wait(30)
        return [{"id": f"{limit}"}]

    monkeypatch.setattr(Diagnoses, "_make", make)
    diagnoses, window = Diagnoses(tmp_path), Window(0, 10)
    worst = diagnoses.of(window, 1, "")
    others = threading.Thread(target=diagnoses.of, args=(window, 5, ""), daemon=True)
    others.start()
    assert asked.wait(30)
    told: list[object] = []
    reader = threading.Thread(
        target=lambda: told.extend((diagnoses.of(window, 1, ""), diagnoses.listed(window, "1"))),
        daemon=True,
    )
    reader.start()
    reader.join(10)
    meanwhile = list(told)
    go_on.set()
    others.join(30)
    assert meanwhile == [worst, worst[0]]


def commands(found: list[Json]) -> list[str]:
    case = from_jsonable(CaseEntry, found[0]).case
    return [*(one.check for one in case.evidence), *case.actions.verify]


def test_its_commands_can_be_pasted_from_anywhere(
    story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Recording.open(story).window()
    monkeypatch.chdir(story.parent)
    elsewhere = commands(Diagnoses(Path(story.name)).of(window, 1, ""))
    named = [text for text in elsewhere if text.startswith("exhume ")]
    assert named
    assert all(f" --data {story}" in text for text in named)


def test_a_diagnosis_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExhumeError, match=r"the diagnosis failed: .*no recording") as error:
        Diagnoses(tmp_path).of(Window(0, 10**9), 1, "")
    assert error.value.todo.endswith(f": exhume why --data {tmp_path} --last 1h")
    monkeypatch.setattr(diagnosis, "default_data_dir", lambda: tmp_path)
    with pytest.raises(ExhumeError) as error:
        Diagnoses(tmp_path).of(Window(0, 10**9), 1, "")
    assert error.value.todo.endswith(": exhume why --last 1h")
