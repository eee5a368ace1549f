"""Every command that a diagnosis tells somebody to run is one that the command line takes."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.cli.main import build_parser
from exhume.inquiry.runnable import on_data

PACKAGE = Path(__file__).parents[2] / "src" / "exhume"
TIME = "1714532047"
# What stands for a part that is filled in, by what its expression contains.
FILLED = (
    ("which", " 1"),
    ("span", f"--from {TIME} --to {TIME}9"), ("where", " --core 1"), ("who", " --comm a"),
    ("event.kind", "kernel-log"), ("field", "irq.count"), ("name", "a"),
    ("quote", "'/a b'"), ("core", "1"),
)  # fmt: skip


def told() -> Iterator[str]:
    for package in ("detect", "diagnose"):
        for file in sorted((PACKAGE / package).rglob("*.py")):
            inside: set[int] = set()
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    inside |= {id(value) for value in node.values}
                    text = "".join(map(_part, node.values))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = "" if id(node) in inside else node.value
                else:
                    continue
                if text.startswith("exhume "):
                    yield text


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    source = ast.unparse(node)
    return next((text for word, text in FILLED if word in source), TIME)


def parses(command: str, data: Path | None) -> None:
    program, name, *words = shlex.split(command)
    assert program == "exhume"
    assert build_parser(name).parse_args([name, *words]).data == data


COMMANDS = sorted({text.partition(": ")[0] for text in told()})


def test_there_are_commands_to_try() -> None:
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_told_parses_with_and_without_a_directory(command: str) -> None:
    whole = command if not command.endswith((" --to", " --from")) else f"{command} {TIME}"
    parses(whole, None)
    parses(on_data(whole, Path("/a b/c")), Path("/a b/c"))
