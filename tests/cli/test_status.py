from __future__ import annotations

import json
import os
from pathlib import Path
from shutil import copytree
from unittest.mock import Mock

import pytest

from exhume.cli.main import main
from exhume.errors import ExhumeError
from exhume.model.jsonable import jsonable
from exhume.record import lock
from exhume.store.files import size_of
from exhume.store.layout import import_path, segments_path
from tests.cli.render.test_status import RUNNING


def write(directory: Path, text: str) -> list[str]:
    (directory / "status.json").write_text(text)
    return ["status", "--data", str(directory), "--utc"]


def test_a_recorder_that_says_it_runs_is_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = write(tmp_path, json.dumps(jsonable(RUNNING)))
    held = lock.acquire(tmp_path)
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("recording since")
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"]["lost_samples"] == 312
    os.close(held)


def test_a_recorder_that_was_killed_is_1_and_says_since_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(write(tmp_path, json.dumps(jsonable(RUNNING)))) == 1
    assert capsys.readouterr().out.startswith("not recording since 2024-05-01 03:20:00")


def test_no_recording_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--data", str(tmp_path / "none")]) == 1
    assert "never recorded" in capsys.readouterr().out


def test_where_imports_went_nobody_is_told_to_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_path(tmp_path / "begun").mkdir(parents=True)
    segments_path(tmp_path / "several" / "gpu-7").mkdir(parents=True)
    for name, hint in (("begun", "goes on where it stopped"), ("several", "gpu-7")):
        assert main(["status", "--data", str(tmp_path / name)]) == 1
        told = capsys.readouterr()
        assert "exhume up" not in told.out
        assert hint in told.err


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "[" * 100_000, '{"state": "odd"}'])
def test_a_status_that_cannot_be_read_is_2(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(write(tmp_path, text)) == 2
    assert "can't tell" in capsys.readouterr().err


def test_a_copy_of_a_recording_is_said_to_be_one_with_what_it_takes(
    story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copytree(Path(story) / "segments", tmp_path / "segments")
    assert main(["status", "--data", str(tmp_path), "--json"]) == 1
    disk = json.loads(capsys.readouterr().out)["disk"]
    assert disk["used_bytes"] == size_of(tmp_path) > 0
    assert main(["status", "--data", str(tmp_path)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"a copy of a recording in {tmp_path}")
    assert "nothing yet" not in text
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(bytes(1000))
    assert main(["status", "--data", str(tmp_path / "other"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["disk"]["used_bytes"] == 0  # not ours


def test_why_it_cannot_be_told_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    assert main(["status", "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"exhume: can't tell: no permission: {tmp_path}/status.json\n  ask as ")
    assert "Errno" not in said
    monkeypatch.undo()
    damaged = ExhumeError("what\x1b", todo="do")
    monkeypatch.setattr("exhume.cli.status.read", Mock(side_effect=damaged))
    assert main(["status", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "exhume: can't tell: what\\x1b\n  do\n"
