"""What comes through pipes is imported as files are, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.ingest.importing import Options, run
from exhume.ingest.piped import without_pipes
from tests.ingest import made
from tests.ingest.made import write


def imported(data: bytes, into: Path) -> str:
    command = [sys.executable, "-c", "from exhume.cli.main import entry; entry()"]
    done = subprocess.run(
        [*command, "import", "-", "--into", into], input=data, capture_output=True, check=True
    )
    return " ".join(done.stdout.decode().split())


def test_standard_input_is_imported_and_known_again(tmp_path: Path) -> None:
    text = made.script(1.0).encode()
    shown = imported(text, tmp_path / "out")
    assert "imported perf script 200 100" in shown
    assert "standard-input" in shown
    assert not list((tmp_path / "out" / "import").glob("piped*"))
    assert "was there perf script 200 100" in imported(text, tmp_path / "out")
    # Another one through the same pipe is not the first one changed.
    other = made.script(0.5, start_ns=90_000_000_000).encode()
    assert "imported perf script 100 50" in imported(other, tmp_path / "out")


def test_a_named_pipe_is_read_to_its_end_beside_files(tmp_path: Path) -> None:
    pipe = tmp_path / "perf-node-1-20261115-201517-1s.data"
    os.mkfifo(pipe)
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    options = Options(files=(str(pipe), symbols), into=tmp_path / "out", jobs=1)
    with ThreadPoolExecutor() as pool:
        written = pool.submit(pipe.write_bytes, made.capture(1.0).file())
        report = run(options, Host())
        written.result(timeout=10)
    states = {Path(one.path).name: (one.state, one.samples, one.clock) for one in report.inputs}
    state, samples, clock = states[pipe.name]
    assert (state, samples) == ("imported", 200)
    assert "by the time in its name" in clock
    assert states["kallsyms"][0] == "names"


def test_a_pipe_that_only_lies_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.txt", made.script(0.5))
    os.mkfifo(tmp_path / "in" / "pipe")
    report = run(Options(files=(str(tmp_path / "in"),), into=tmp_path / "out", jobs=1), Host())
    assert [(Path(one.path).name, one.state) for one in report.inputs] == [
        ("a.txt", "imported"), ("pipe", "skipped"),
    ]  # fmt: skip


def test_what_was_kept_of_one_that_was_killed_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "piped"
    write(folder / "7" / "standard-input", "left over")
    with without_pipes(["a", "b"], folder) as files:
        assert files == ["a", "b"]
        assert not folder.exists()


def test_a_place_that_takes_nothing_is_told(tmp_path: Path) -> None:
    pipe, place = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    place.write_text("no folder")
    with pytest.raises(ExhumeError, match="can't be kept"), without_pipes([str(pipe)], place):
        pass
