from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from exhume.cli import check as command
from exhume.cli.check import npd_line, read_known
from exhume.cli.main import main
from exhume.cli.render.check import render
from exhume.cli.schemas import schemas
from exhume.model.case import Risk
from exhume.model.check import CheckAnswer
from tests.cli.made_up import HOSTILE, NOW_NS, VIEW, drawn

RISK = Risk("crash-loop", "unit a restarts all the time: 9 times so far", "a", {"restarts": 9},
            "systemctl status a")  # fmt: skip
CLEAN = CheckAnswer(NOW_NS, "node-7", "6.18", "clean", (), ("interrupts",), ())
RISKS = replace(CLEAN, status="risks", risks=(RISK,))
UNKNOWN = replace(CLEAN, status="unknown", missing=("systemd does not answer over D-Bus: no",))


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (CLEAN, "no risks seen"),
        (RISKS, "unit a restarts all the time: 9 times so far"),
        (replace(RISKS, risks=(RISK, RISK)),
         "2 risks: unit a restarts all the time: 9 times so far; unit a restarts all th..."),
        (UNKNOWN, "can't tell: systemd does not answer over D-Bus: no"),
    ],
)  # fmt: skip
def test_node_problem_detector_gets_one_short_line(answer: CheckAnswer, line: str) -> None:
    assert npd_line(answer) == line


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_one_line_of_80(name: str) -> None:
    line = npd_line(replace(RISKS, risks=(replace(RISK, claim=f"unit {name} dies"),)))
    assert len(line.encode()) <= 80
    assert line.isprintable()


@pytest.mark.parametrize(("answer", "code"), [(CLEAN, 0), (RISKS, 1), (UNKNOWN, 2)])
@pytest.mark.parametrize("form", [[], ["--npd"], ["--json"]])
def test_the_exit_code_is_the_answer_in_every_form(
    answer: CheckAnswer,
    code: int,
    form: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "ask", lambda *_: answer)
    assert main(["check", *form]) == code
    out = capsys.readouterr().out
    if form == ["--json"]:
        schema = json.loads(schemas()["docs/schema/check.json"])
        found: Any = json.loads(out)
        assert list(Draft202012Validator(schema).iter_errors(found)) == []
        assert found["status"] == answer.status
    elif form == ["--npd"]:
        assert out.count("\n") == 1


def test_the_screen_says_what_to_look_at() -> None:
    assert drawn(render(RISKS, VIEW, 80), 80) == (
        "RISKS  1 thing that may hurt this node\n"
        "  node-7 · Linux 6.18 · 03:20:00\n"
        "\n"
        "  ! unit a restarts all the time: 9 times so far (crash-loop)\n"
        "    $ systemctl status a\n"
        "\n"
        "Looked at: interrupts\n"
    )


def test_a_directory_that_is_not_there_is_an_error_when_it_was_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--data", str(tmp_path / "none")]) not in (0, 1, 2)
    assert "no recording in" in capsys.readouterr().err


def test_two_forms_at_once_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--npd", "--json"]) == 64
    assert "exclude each other" in capsys.readouterr().err


def test_known_units_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "units.txt"
    path.write_text("# ours\nssh.service\n\n  node-*  # all of them\n")
    assert read_known(path) == ("ssh.service", "node-*")


def test_a_list_of_known_units_that_is_not_there_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--known", str(tmp_path / "no")]) == 64
    assert "one unit or pattern a line" in capsys.readouterr().err
