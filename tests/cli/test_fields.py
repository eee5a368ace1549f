from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from exhume.cli.fields import ask
from exhume.cli.main import main
from exhume.cli.schemas import schemas
from exhume.model.fields import EVENT_KINDS, FIELDS


def test_the_catalogue_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fields"]) == 0
    text = capsys.readouterr().out
    assert all(field.id in text for field in FIELDS)
    assert all(kind.id in text for kind in EVENT_KINDS)


def test_words_choose(capsys: pytest.CaptureFixture[str]) -> None:
    assert {field.id for field in ask(("memcg", "byTES")).fields} == {
        "memcg.pinned_shmem_bytes", "memcg.pinned_file_bytes", "memcg.pinned_anonymous_bytes",
    }  # fmt: skip
    assert main(["fields", "nonsense"]) == 64
    assert "no field has 'nonsense'" in capsys.readouterr().err


def test_json_fits_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fields", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    schema = json.loads(schemas()["docs/schema/fields.json"])
    assert list(Draft202012Validator(schema).iter_errors(found)) == []
    assert found["fields"][0] == {
        "id": "cpu.user", "unit": "jiffies", "kind": "counter", "instance": "core",
        "help": "Time in user mode, guests included.",
    }  # fmt: skip
