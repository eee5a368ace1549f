from __future__ import annotations

from importlib import import_module

import pytest

from exhume.cli.main import main
from exhume.errors import EXIT_USAGE
from lab import faults
from lab.faults import FAULTS
from lab.run import actor_of


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_an_injector_a_twin_and_words_for_both(name: str) -> None:
    text = import_module(f"lab.faults.{FAULTS[name]}").__doc__ or ""
    assert "Twin: " in text
    for healthy in (False, True):
        assert callable(actor_of(name, healthy))


def test_every_folder_is_in_the_table() -> None:
    from pathlib import Path

    folder = Path(str(faults.__file__)).parent
    assert {path.parent.name for path in folder.glob("*/inject.py")} == set(FAULTS.values())


def test_without_consent_nothing_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "realtime-hog"]) == EXIT_USAGE
    assert "--yes-break-this-machine" in capsys.readouterr().err


def test_the_list_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in FAULTS] == list(FAULTS)
