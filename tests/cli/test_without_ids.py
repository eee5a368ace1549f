"""Text of perf script without ids: processes are told by names, and no made-up number gets out."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from exhume.cli.main import main
from tests.export.profile_schema import profile_class

TEXT = "".join(
    f"{name} [00{core}] {10 + second}.{core}00000: cpu-clock: \n"
    f"\t{address} {symbol} (/bin/{name})\n\n"
    for second in range(3)
    for core, (name, address, symbol) in enumerate((("alpha", "4011", "f"), ("beta", "4022", "g")))
)
NEGATIVE = re.compile(r"(?<!\d)-\d")


@pytest.fixture
def data(tmp_path: Path) -> str:
    text = tmp_path / "perf.txt"
    text.write_text(TEXT)
    into = str(tmp_path / "recording")
    assert main(["import", str(text), "--into", into, "--offset", "1790000000"]) == 0
    return into


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def test_top_has_names_and_no_numbers(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "top", "--data", data, "--json")
    assert {(one["comm"], one["pid"]) for one in found["processes"]} == {
        ("alpha", None),
        ("beta", None),
    }


def test_top_by_threads_shows_that_nobody_told_them(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["top", "--data", data, "--threads"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\? +alpha", shown), shown
    assert not NEGATIVE.search(shown), shown


@pytest.mark.parametrize("form", ["speedscope", "firefox"])
def test_tracks_are_told_apart_by_name(
    form: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"out.{form}"
    assert main(["export", "--data", data, "--format", form, "-o", str(out)]) == 0
    found = json.loads(out.read_text())
    if form == "firefox":
        ids = [str(thread[key]) for thread in found["threads"] for key in ("pid", "tid")]
        of = {one["name"]: one["pid"] for one in found["threads"]}
        assert (of["alpha"], of["beta"]) == ("? alpha", "? beta")
    else:
        ids = [profile["name"] for profile in found["profiles"]]
        assert any("alpha (pid ?" in name for name in ids), ids
    assert not [one for one in ids if NEGATIVE.search(one)]


def test_pprof_has_no_labels_for_them(data: str, tmp_path: Path) -> None:
    out = tmp_path / "out.pb.gz"
    assert main(["export", "--data", data, "--format", "pprof", "-o", str(out)]) == 0
    found = profile_class()()
    found.ParseFromString(gzip.decompress(out.read_bytes()))
    keys = {label.key for sample in found.sample for label in sample.label}
    labels = {found.string_table[key] for key in keys}
    assert "comm" in labels
    assert not labels & {"pid", "tid"}
