"""What comes through pipes is imported as files are, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.ingest import piped
from exhume.ingest.importing import Options, run
from exhume.ingest.piped import without_pipes
from tests.ingest import made
from tests.ingest.made import write

COMMAND = [sys.executable, "-c", "from exhume.cli.main import entry; entry()"]


def imported(data: bytes, into: Path) -> str:
    done = subprocess.run(
        [*COMMAND, "import", "-", "--into", into], input=data, capture_output=True, check=True
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


def test_a_pipe_that_nobody_writes_to_is_told_once_and_then_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped, "_SILENT_SECONDS", 0.05)
    pipe, told = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:

        def tell(what: str) -> None:
            told.append(what)
            pool.submit(pipe.write_bytes, b"x" * (1 << 20))  # more than a pipe holds

        with without_pipes([str(pipe)], tmp_path / "piped", tell) as files:
            assert Path(files[0]).read_bytes() == b"x" * (1 << 20)
    assert told == [f"waiting for the pipe {pipe}: nothing was written to it yet; Ctrl-C stops"]


def test_of_a_pipe_that_something_comes_from_nothing_is_told(tmp_path: Path) -> None:
    pipe, told = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        pool.submit(pipe.write_bytes, b"some")
        with without_pipes([str(pipe)], tmp_path / "piped", told.append) as files:
            assert Path(files[0]).read_bytes() == b"some"
    assert not told


@pytest.mark.parametrize("given", ["-", "pipe"])
def test_who_waits_says_so_without_a_terminal_too_and_can_be_stopped(
    tmp_path: Path, given: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(
        [*COMMAND, "import", given, "--into", "out"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as waiting:  # fmt: skip
        assert waiting.stderr is not None
        said = waiting.stderr.readline().decode()
        waiting.send_signal(signal.SIGINT)
        rest = waiting.communicate(timeout=20)[1].decode()
    name = "standard input" if given == "-" else "the pipe pipe"
    assert said.startswith(f"exhume: waiting for {name}: nothing was written")
    assert "waiting" not in rest
    assert waiting.returncode == 130


def test_a_terminal_that_nothing_is_piped_into_is_told_at_once(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    done = subprocess.run(
        [*COMMAND, "import", "-", "--into", tmp_path / "out"],
        stdin=theirs, capture_output=True, timeout=20,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 64
    assert b"standard input is a terminal" in done.stderr
    assert b"perf script | exhume import -" in done.stderr


def test_a_standard_input_that_was_closed_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "import", "-", "--into", tmp_path / "out"],
        capture_output=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 64
    assert b"standard input is closed" in done.stderr
