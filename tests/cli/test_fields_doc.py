from __future__ import annotations

from pathlib import Path

from exhume.cli.fields_doc import FILE, fields_doc
from exhume.cli.written import outdated
from exhume.model.fields import EVENT_KINDS, FIELDS

ROOT = Path(__file__).parents[2]


def test_docs_fields_is_current() -> None:
    assert outdated(fields_doc(), ROOT) == [], "python -m exhume.cli.fields_doc writes it"


def test_every_field_and_kind_of_event_has_its_line() -> None:
    text = fields_doc()[FILE]
    for field in FIELDS:
        assert f"| `{field.id}` | {field.unit} | {field.kind} |" in text
    for kind in EVENT_KINDS:
        assert f"| `{kind.id}` |" in text
