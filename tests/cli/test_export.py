from __future__ import annotations

import gzip
import json
import os
import pty
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from exhume import export
from exhume.cli import export as command
from exhume.cli.main import main
from exhume.store.writer import write_segment
from tests.export.made import segment
from tests.store.make import SECOND, T0

START = T0 // SECOND


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("recording")
    write_segment(root, segment())
    return str(root)


def run(
    words: str, data: str, capfdbinary: pytest.CaptureFixture[bytes], expect: int = 0
) -> tuple[bytes, str]:
    given = words.split()
    window = [] if "--at" in given else ["--from", str(START), "--to", str(START + 10)]
    code = main(["export", *given, *window, "--data", data, "--utc"])
    written = capfdbinary.readouterr()
    assert code == expect, written.err
    return written.out, written.err.decode()


def test_the_formats_of_the_command_are_those_that_there_are() -> None:
    assert tuple(export.FORMATS) == command.FORMATS


@pytest.mark.parametrize("name", export.FORMATS)
def test_a_file_is_written_and_a_line_says_what_is_in_it(
    name: str, data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / f"x{export.FORMATS[name].suffix}"
    out, told = run(f"--format {name} -o {file}", data, capfdbinary)
    amount = "40 rows" if name == "csv" else "310 samples"
    assert out == b""
    assert told.startswith(f"exhume: {amount}, 10 s, ")
    assert told.endswith(f" → {file}\n")
    assert file.stat().st_size > 80
    assert list(tmp_path.iterdir()) == [file]
    umask = os.umask(0)
    os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o666 & ~umask


def test_without_a_file_it_goes_to_standard_output(
    data: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out, told = run("--format folded --mark-kernel --core 1", data, capfdbinary)
    assert out == b"kubelet;main;k_entry_SYSCALL_64_[k];k_memcg_stat_show_[k] 200\n"
    assert told == "exhume: 200 samples, 10 s, 62 B\n"
    out, _ = run("--format pprof -o -", data, capfdbinary)
    assert gzip.decompress(out)


def test_a_name_that_ends_in_gz_is_compressed(
    data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "x.firefox.json.gz"
    run(f"--format firefox -o {file}", data, capfdbinary)
    assert json.loads(gzip.decompress(file.read_bytes()))["threads"]
    again = tmp_path / "y.pb.gz"
    run(f"--format pprof -o {again}", data, capfdbinary)
    assert not gzip.decompress(again.read_bytes()).startswith(b"\x1f\x8b"), "not twice"


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(
    data: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "x.svg"
    file.write_text("before")

    def breaks(*_: object, **__: object) -> object:
        yield "<svg"
        raise RuntimeError("half way")

    monkeypatch.setattr("exhume.export.svg.chunks", breaks)
    run(f"--format svg -o {file}", data, capfdbinary, expect=70)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_followed_and_a_device_is_written_to(
    data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    link = tmp_path / "link.svg"
    link.symlink_to("real.svg")
    run(f"--format svg -o {link}", data, capfdbinary)
    assert link.is_symlink()
    assert ElementTree.fromstring((tmp_path / "real.svg").read_bytes()).tag.endswith("svg")
    run("--format svg -o /dev/null", data, capfdbinary)
    assert Path("/dev/null").is_char_device()


def test_a_pipe_is_written_to_by_any_name(
    data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    wanted, _ = run("--format folded", data, capfdbinary)
    read_end, write_end = os.pipe()
    link = tmp_path / "link"
    link.symlink_to(f"/dev/fd/{write_end}")
    for name in (f"/dev/fd/{write_end}", link):
        run(f"--format folded -o {name}", data, capfdbinary)
        assert os.read(read_end, 1 << 16) == wanted
    os.close(read_end)
    os.close(write_end)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_mode(
    mode: int, data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "x.folded"
    file.touch()
    file.chmod(mode)
    run(f"--format folded -o {file}", data, capfdbinary)
    assert file.stat().st_size
    assert file.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--format svg --by core", "--by is of --format speedscope"),
        ("--format folded --field cpu.user", "--field is of --format csv"),
        ("--format svg --width 10", "--width 10"),
        ("--format csv --instance 3", "--instance goes with --field"),
        ("--format csv --field cpu.usr", "there is no field 'cpu.usr'"),
        ("--format csv --field cpu.user --step 2s", "--step is of the map of cores"),
        ("--format csv --comm kubelet", "csv is of counters"),
        ("--format xml", "invalid choice: 'xml'"),
        ("--core 1", "required: --format"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: str, complaint: str, data: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out, told = run(words, data, capfdbinary, expect=64)
    assert complaint in told
    assert out == b""


def test_a_file_that_cannot_be_written_is_named(
    data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, told = run(f"--format svg -o {tmp_path}/no/x.svg", data, capfdbinary, expect=65)
    assert "no/x.svg can't be written: No such file or directory" in told
    _, told = run(f"--format svg -o {tmp_path}", data, capfdbinary, expect=65)
    assert "Is a directory" in told
    (tmp_path / "x.svg").touch()
    _, told = run(f"--format svg -o {tmp_path}/x.svg/y", data, capfdbinary, expect=65)
    assert "x.svg/y can't be written: Not a directory" in told


def test_a_window_without_data_says_what_there_is(
    data: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, told = run(f"--format svg --at {START - 100}", data, capfdbinary, expect=65)
    assert "nothing recorded between" in told


@pytest.mark.parametrize("name", [name for name in export.FORMATS if name != "csv"])
def test_a_file_without_samples_is_not_written_and_it_says_why(
    name: str, data: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    to = f"--format {name} -o {tmp_path}/file"
    _, told = run(f"{to} --comm kubelt --core 1", data, capfdbinary, expect=64)
    assert told.startswith("exhume: no sample of --comm kubelt at any time recorded\n")
    assert "did you mean kubelet?" in told
    _, told = run(f"{to} --core 99", data, capfdbinary, expect=64)
    assert told == "exhume: no core 99\n  recorded are cores 0 to 3\n"
    _, told = run(f"{to} --at {START + 9.995} --for 5s", data, capfdbinary, expect=65)
    assert told.startswith("exhume: nothing is written: no samples in this window; ")
    assert "samples cover 0.0 s of the 5.0 s asked for\n" in told
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--field irq.count", "irq.count was not recorded in this window"),
        ("--core 7", "no core 7"),
    ],
)
def test_a_table_without_values_is_not_written_and_it_says_why(
    words: str, why: str, data: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = 64 if "core" in words else 65
    out, told = run(f"--format csv {words}", data, capfdbinary, expect=code)
    assert why in told
    assert out == b""
    words = f"--at {START + 9.995} --for 0.004s --step 0.001s"
    _, told = run(f"--format csv {words}", data, capfdbinary)
    assert told.startswith("exhume: 16 rows")


def test_a_terminal_gets_no_bytes(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leader, terminal = pty.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(terminal, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        words = ["--format", "pprof", "--from", str(START), "--data", data]
        assert main(["export", *words]) == 64
