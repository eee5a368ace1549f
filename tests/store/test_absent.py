from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from exhume import config
from exhume.cli.main import main
from exhume.errors import ExhumeError
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import by_hand


def test_recordings_in_folders_inside_are_named(tmp_path: Path) -> None:
    for number in range(14):
        write_segment(tmp_path / f"node {number:02}", by_hand([]))
    (tmp_path / "import").mkdir()
    with pytest.raises(ExhumeError, match="no recording in") as error:
        Recording.open(tmp_path)
    assert "; recordings are in node 00, node 01, node 02" in error.value.what
    assert error.value.what.endswith("node 11 and 2 more below it")
    assert error.value.todo == f"name one: --data '{tmp_path}/node 00'"


@pytest.mark.parametrize(("words", "code"), [("top", 65), ("events", 65), ("pin", 65),
                                             ("pin --last 1m", 65), ("status", 1)])  # fmt: skip
def test_every_command_names_them(
    words: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_segment(tmp_path / "node-a", by_hand([]))
    assert main([*words.split(), "--data", str(tmp_path)]) == code
    assert "recordings are in node-a below it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["node-a"]


@pytest.mark.parametrize("words", ["why", "status"])
def test_of_an_import_that_was_stopped_it_is_said_how_to_go_on(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "import").mkdir()
    main([words, "--data", str(tmp_path)])
    said = capsys.readouterr().err
    assert "an import into it was stopped, or kept nothing" in said
    assert "call the same `exhume import` again" in said


def test_files_that_could_become_one_are_to_be_imported(tmp_path: Path) -> None:
    capture = tmp_path / "my perf.data"
    capture.write_bytes(b"PERFILE2")
    for place in (tmp_path, capture):
        with pytest.raises(ExhumeError, match="no recording in") as error:
            Recording.open(place)
        assert error.value.todo == f"files become one: exhume import {shlex.quote(str(place))}"


@pytest.mark.parametrize("name", ["nothing", "dmesg.txt"])
def test_what_is_no_directory_is_told_in_the_same_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dmesg.txt").touch()
    assert main(["top", "--data", str(tmp_path / name)]) == 65
    said = capsys.readouterr().err
    assert said.startswith(f"exhume: there is no recording in {tmp_path / name}\n")
    assert ("exhume import" in said) is (name == "dmesg.txt")


def test_who_is_not_root_is_led_to_the_recording_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(config, "SYSTEM_DATA_DIR", tmp_path / "system")
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["top"]) == 65
    assert "start one with `exhume up`" in capsys.readouterr().err
    (tmp_path / "system").mkdir()
    for words, code in (["top"], 65), (["status"], 1):
        assert main(words) == code
        assert f"root's recorder has one: --data {tmp_path}/system" in capsys.readouterr().err
    assert main(["top", "--data", str(tmp_path / "other")]) == 65
    assert "root's recorder" not in capsys.readouterr().err
