from __future__ import annotations

from pathlib import Path

import pytest

from exhume.cli.main import COMMANDS
from exhume.cli.reference import FILE, reference
from exhume.cli.written import check_or_write, outdated

ROOT = Path(__file__).parents[2]


def test_docs_commands_is_current() -> None:
    assert outdated(reference(), ROOT) == [], "python -m exhume.cli.reference writes it"


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_every_command_has_its_section(name: str, line: str) -> None:
    text = reference()[FILE]
    assert f"## exhume {name}\n\n{line}\n" in text


def test_an_option_of_two_names_is_listed_by_the_one_that_examples_use() -> None:
    section = reference()[FILE].partition("## exhume import\n")[2].partition("\n## exhume ")[0]
    assert "| `--into DIR` |" in section
    assert "| `--data DIR` |" not in section


def test_a_generated_file_is_written_once_and_then_current(tmp_path: Path) -> None:
    texts = {"docs/a.md": "a\n"}
    assert check_or_write(texts, tmp_path, ["--check"]) == 1
    assert check_or_write(texts, tmp_path, []) == 0
    assert check_or_write(texts, tmp_path, ["--check"]) == 0
    assert (tmp_path / "docs/a.md").read_text() == "a\n"
