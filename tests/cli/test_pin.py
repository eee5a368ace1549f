"""`exhume pin`: set, listed, let go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exhume.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["pin", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_pin_is_set_listed_and_let_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", str(tmp_path), "--utc")
    window = ("--at", "2026-11-15T03:14:00Z", "--for", "2m")
    assert run(capsys, *data, *window, "--reason", "reset\x1b[31m of eth0")[0] == 0
    code, text, _ = run(capsys, *data)
    assert code == 0
    assert "03:14:00" in text
    assert "of eth0" in text
    assert "\x1b" not in text
    (row,) = json.loads(run(capsys, *data, "--json")[1])["pins"]
    assert row["window"]["end"] - row["window"]["start"] == 120
    assert run(capsys, *data, "--remove", row["id"])[1] == "Nothing is pinned.\n"


def test_a_pin_that_is_not_there_cannot_be_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(capsys, "--data", str(tmp_path), "--remove", "../../etc/passwd")
    assert code == 64
    assert "exhume pin" in error


def test_without_a_recording_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "--data", str(tmp_path / "none"), "--last", "1m")
    assert code == 65
    assert "--data" in error
