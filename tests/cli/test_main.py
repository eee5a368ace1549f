from __future__ import annotations

import ast
import fnmatch
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exhume.cli import main as cli
from exhume.derive import signatures
from exhume.errors import ExhumeError

SOURCE = Path(cli.__file__).parent


@pytest.mark.parametrize(("name", "line"), cli.COMMANDS)
def test_the_one_line_help_is_the_first_line_of_the_docstring(name: str, line: str) -> None:
    path = SOURCE / f"{cli.MODULES.get(name, name)}.py"
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert doc is not None
    assert doc.splitlines()[0] == line
    assert "Examples:\n  exhume " in doc


def test_help_lists_every_command_and_is_quick() -> None:
    code = "import sys; from exhume.cli.main import main; main(['--help'])"
    report = (
        f"try: exec({code!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'pyarrow', 'asyncio'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + report], capture_output=True, text=True, check=True
    )
    for name, line in cli.COMMANDS:
        assert name in done.stdout
        assert line.split()[0] in done.stdout


@pytest.mark.parametrize(("name", "_"), cli.COMMANDS)
def test_the_help_of_a_command_shows_its_examples(
    name: str, _: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    assert f"exhume {name}" in capsys.readouterr().out.partition("Examples:")[2]


@pytest.mark.parametrize(("name", "_"), cli.COMMANDS)
def test_a_default_is_told_in_one_way_and_signatures_in_examples_exist(
    name: str, _: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    text = capsys.readouterr().out
    assert not re.findall(r"(?<!\()default: .*", text)
    known = [one.id for one in signatures.kernel_log()]
    for wanted in re.findall(r"--(?:event|signature) '?([a-z]+[-.][a-z_*-]+)", text):
        assert fnmatch.filter(known, wanted), wanted


def test_the_window_of_the_help_is_the_one_that_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, without in (
        ("top", "--last 1m; of an imported recording, all of it"),
        ("why", "the last hour recorded, or the time around --event"),
        ("pin", "the pins are listed."),
        ("compare", "with --within: --last 24h"),
    ):
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        assert f"Without any of these: {without}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["top", "--nonsense"], ["top", "--mode", "nonsense"], ["top", "--limit", "many"],
     ["top", "--thr"], ["top", "--last"], ["flame", "--min-percent", "101"],
     ["cores", "--columns=0"]],
)  # fmt: skip
def test_a_usage_error_is_64_and_says_where_the_help_is(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = [] if words == ["nonsense"] else ["--data", str(tmp_path)]
    assert cli.main([*words, *data]) == 64
    shown = capsys.readouterr().err
    assert shown.startswith("exhume: ")
    assert len(shown.splitlines()) >= 2


def test_an_unknown_option_leads_to_the_help_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["cores", "--colums", "9"]) == 64
    assert capsys.readouterr().err == (
        "exhume: unrecognized arguments: --colums 9\n  'exhume cores --help' shows how\n"
    )


def test_help_before_a_command_is_of_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help", "cores"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("zombies", "cores"))


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 64
    assert "COMMAND" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("exhume ")


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (ExhumeError("it broke", todo="mend it"), 65, "exhume: it broke\n  mend it\n"),
        (ExhumeError("odd", exit_code=64), 64, "exhume: odd\n"),
        (ExhumeError("\x1b[31mname"), 65, "exhume: \\x1b[31mname\n"),
        (PermissionError(13, "Permission denied", "/var/x"), 77, "exhume: no permission: /var/x\n"),
        (ZeroDivisionError("zero"), 70, "exhume: internal error: ZeroDivisionError: zero\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_messages_and_exit_codes(
    error: BaseException,
    code: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(argv: Any) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.delenv("EXHUME_DEBUG", raising=False)
    assert cli.main([]) == code
    written = capsys.readouterr()
    assert written.err.startswith(shown)
    assert "Traceback" not in written.err
    assert written.out == ""


def test_debugging_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(argv: Any) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.setenv("EXHUME_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main([])


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    talk = "import exhume.cli.main as m; m._run = lambda argv: print('x' * 10**6) or 0; m.entry()"
    done = subprocess.run(
        [sys.executable, "-c", talk],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert done.stderr == ""
    assert done.returncode == cli.EXIT_BROKEN_PIPE


SAYS = "import exhume.cli.main as m; m._run = lambda argv: print('x' * {}) or 0; m.entry()"


def in_shell(talk: str, redirection: str) -> subprocess.CompletedProcess[str]:
    words = shlex.join([sys.executable, "-c", talk])
    return subprocess.run(
        ["sh", "-c", f"{words} {redirection}"], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("length", [1, 10**6])
@pytest.mark.parametrize(
    ("redirection", "what"),
    [
        ("> /dev/full", "the output can't be written: No space left on device"),
        (">&-", "standard output is closed"),
    ],
)
def test_standard_output_that_takes_nothing_is_told(
    redirection: str, what: str, length: int
) -> None:
    done = in_shell(SAYS.format(length), redirection)
    assert done.stderr.splitlines() == [
        f"exhume: {what}",
        "  make room, or write to another place",
    ]
    assert done.returncode == 74
    asked = in_shell("import sys, exhume.cli.main as m; sys.argv = ['', '--help']; m.entry()",
                     redirection)  # fmt: skip
    assert (asked.returncode, asked.stderr) == (74, done.stderr)


def test_without_standard_error_the_answer_comes_all_the_same() -> None:
    done = in_shell(SAYS.format(2), "2>&-")
    assert (done.stdout, done.returncode) == ("xx\n", 0)
    fails = "import exhume.cli.main as m; m._run = lambda argv: 1 / 0; m.entry()"
    for redirection in ("2>&-", "2>/dev/full", ">&- 2>&-"):
        assert in_shell(fails, redirection).returncode == 70


def test_what_is_closed_gives_its_number_to_no_file() -> None:
    talk = (
        "import os, sys, exhume.cli.main as m; "
        "m._run = lambda argv: os.write(2, bytes([48 + os.open('/', 0)])) and 0; m.entry()"
    )
    assert in_shell(talk, ">&-").stderr == "3"


def test_a_negative_time_is_a_value_and_not_an_option() -> None:
    joined = cli.with_negative_values(["top", "--from", "-5m", "--to", "-1m", "--json"])
    assert joined == ["top", "--from=-5m", "--to=-1m", "--json"]
    assert cli.with_negative_values(["--json", "--utc", "x", "-5m"])[-1] == "-5m"


def test_every_command_has_a_module_of_its_own() -> None:
    for name, _ in cli.COMMANDS:
        module = cli.MODULES.get(name, name)
        assert importlib.util.find_spec(f"exhume.cli.{module}") is not None


def run_python(text: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env)


def test_help_and_usage_need_no_numpy() -> None:
    """It takes as long to load as all else of them."""
    text = "import sys; from exhume.cli import import_files; print('numpy' in sys.modules)"
    assert run_python(text).stdout == "False\n"


def test_what_was_to_be_done_at_the_end_is_done_however_quickly_it_leaves() -> None:
    talk = (
        "import atexit, exhume.cli.main as m; atexit.register(print, 'tidied'); "
        "m._run = lambda argv: print('said', end=' ') or 3; m.entry()"
    )
    done = run_python(talk)
    assert (done.stdout, done.returncode) == ("said tidied\n", 3)


def test_threads_that_still_work_are_waited_for() -> None:
    talk = (
        "import threading, time, exhume.cli.main as m; "
        "late = lambda: (time.sleep(0.2), print('late')); "
        "m._run = lambda argv: threading.Thread(target=late).start() or 0; m.entry()"
    )
    done = run_python(talk)
    assert (done.stdout, done.returncode) == ("late\n", 0)
