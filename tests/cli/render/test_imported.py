from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard as zstd

from exhume.cli import main as cli
from tests.ingest import made
from tests.ingest.made import write


def test_files_of_one_name_are_told_apart_by_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, node in enumerate(("gpu-7", "gpu-8")):
        start_ns = (5 + 60 * number) * made.NS
        write(tmp_path / node / "perf.txt", made.script(0.5, start_ns=start_ns, host=node))
    write(tmp_path / "gpu-8" / "same.txt", made.script(0.5, start_ns=5 * made.NS, host="gpu-7"))
    write(tmp_path / "gpu-8" / "letter.txt", "Dear Sir,\n")
    assert cli.main(["import", str(tmp_path), "--into", str(tmp_path / "out")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " gpu-7/perf.txt " in shown
    assert "could not be read as anything: letter.txt" in shown
    copy = f" same.txt: a copy of {tmp_path}/gpu-7/perf.txt, counts once"
    assert copy.replace(" ", "") in shown.replace(" ", "")


def test_why_a_file_in_a_folder_was_passed_over_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    write(folder / "perf.txt", made.script(0.5))
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstd.compress,
    }  # fmt: skip
    for size, (name, pack) in enumerate(packers.items(), 14):
        packed = pack(made.script(0.5, start_ns=90 * made.NS).encode())
        write(folder / f"perf.{name}", packed[:size])
    write(folder / "flame.svg", "<svg></svg>")
    write(folder / "README.md", "# Hello\n")
    assert cli.main(["import", str(folder), "--into", str(tmp_path / "out")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for size, name in enumerate(packers, 14):
        assert f"perf.{name}: offset {size}: the compressed data is cut off" in shown
    assert "flame.svg: offset 0: expected" in shown
    assert "it is a picture (SVG), which is not read" in shown
    assert "1 other file could not be read as anything: README.md" in shown


def test_what_the_commands_answer_stands_below_each_other_however_long_the_place_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    path, into = write(tmp_path / "perf.txt", made.script(0.5)), tmp_path / ("a-night-" * 8)
    assert cli.main(["import", str(path), "--into", str(into)]) == 0
    shown = capsys.readouterr().out.splitlines()
    ways = [line for line in shown if line.startswith("  exhume ") and "--data" in line]
    assert len(ways) > 2
    assert len({len(line) - len(line[line.rindex("  ") :]) for line in ways}) == 1
