"""Commands asked of a recording from end to end: to the screen, to JSON, to an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from exhume.cli.main import main
from exhume.cli.schemas import schemas
from tests.cli.story import SECONDS, START_WALL

WINDOW = ["--from", str(START_WALL), "--to", str(START_WALL + SECONDS)]


class Ask:
    """`ask("units --all")`; the story's window unless another is given."""

    def __init__(self, data: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._data = data
        self._capsys = capsys

    def __call__(self, words: str | list[str], expect: int = 0) -> str:
        given = words.split() if isinstance(words, str) else words
        window = [] if {"--at", "--from", "--last"} & set(given) else WINDOW
        code = main([*given, *window, "--data", self._data, "--utc"])
        written = self._capsys.readouterr()
        assert code == expect, written.err
        return written.err if expect else written.out

    def json(self, words: str | list[str]) -> Any:
        given = words.split() if isinstance(words, str) else words
        found = json.loads(self([*given, "--json"]))
        schema = json.loads(schemas()[f"docs/schema/{given[0]}.json"])
        assert list(Draft202012Validator(schema).iter_errors(found)) == []
        return found
