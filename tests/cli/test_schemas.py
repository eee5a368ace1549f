from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from exhume.cli.main import COMMANDS, Parser, command_module
from exhume.cli.render.core_words import CoresAnswer
from exhume.cli.schemas import schemas
from exhume.cli.written import outdated
from exhume.derive.bursts import bursts
from exhume.model.answers import MAP_MODES
from exhume.model.jsonable import jsonable
from exhume.model.status import Status
from tests.cli.made_up import HOSTILE, core_map, flame_tree, top
from tests.cli.render.test_status import EMPTY, RUNNING

ROOT = Path(__file__).parents[2]


def validator(command: str) -> Any:
    schema = json.loads(schemas()[f"docs/schema/{command}.json"])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def cores_answer() -> CoresAnswer:
    made = core_map(4, 60, 60, burst=(1, 20, 6), gap=(30, 5))
    return CoresAnswer(made, MAP_MODES, bursts(made))


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("cores", cores_answer()),
        ("top", top()),
        ("flame", flame_tree()),
        ("status", RUNNING),
        ("status", Status("never", "/x", EMPTY)),
        *(("top", top(comm=name, frame_name=name)) for name in HOSTILE),
    ],
)
def test_answers_fit_their_schema(command: str, answer: object) -> None:
    written = json.dumps(jsonable(answer), allow_nan=False)
    assert written.isascii()
    assert list(validator(command).iter_errors(json.loads(written))) == []


def test_every_command_with_json_has_a_schema() -> None:
    for name, _ in COMMANDS:
        parser = Parser()
        command_module(name).add_arguments(parser)
        assert ("--json" in parser.format_help()) == (f"docs/schema/{name}.json" in schemas()), name


def test_the_files_in_docs_are_current() -> None:
    assert outdated(schemas(), ROOT) == [], "python -m exhume.cli.schemas writes them"


def test_every_percentage_names_its_denominator() -> None:
    for name, text in schemas().items():
        for definition in json.loads(text)["$defs"].values():
            for key, value in definition["properties"].items():
                if "percent" in key and "_of_" not in key:
                    # CoreTimes: the class says of what.
                    assert "core" in definition["description"].lower(), f"{name}: {key} {value}"


def test_no_nanoseconds_leave_the_house() -> None:
    for text in schemas().values():
        assert "_ns" not in text
