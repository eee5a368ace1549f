"""What the other commands say of a recording that was imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.cli import main as cli
from exhume.errors import EXIT_USAGE
from tests.cli.test_import_files import OOM, run
from tests.ingest import made
from tests.ingest.made import write


def test_what_was_imported_is_asked_as_if_its_end_were_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "perf-node-1-20261115-201517-9s.data", made.capture(9.0).file())
    log = write(tmp_path / "kern.log", "".join(
        f"2026-11-{day}T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n" for day in ("02", "16")
    ))  # fmt: skip
    out = str(tmp_path / "out")
    # As other commands call them; --into and --name are the same.
    assert run(path, log, "--data", out, "--node", "node-1", "--utc") == 0
    capsys.readouterr()

    def asked(*words: str) -> str:
        code = cli.main([words[0], "--data", out, "--utc", *words[1:]])
        said = capsys.readouterr()
        return " ".join((said.out + said.err).split()) if code in (0, 1, 2) else said.err

    measured = "2026-11-15 20:15:17 – 20:15:2"
    for command in ("top", "flame", "cores"):
        assert measured in asked(command), command
    assert "20:15:20 – 20:15:25 UTC" in asked("top", "--at", "2026-11-15T20:15:20")
    assert "20:15:20 – 20:15:25 UTC" in asked("top", "--at", "20:15:20")
    # What has only a time is all of it, and the night before last is named by its date.
    assert "2026-11-02 03:00:00 – 2026-11-16 03:00:00 UTC" in asked("events")
    assert asked("events", "--last", "1h").count("Out of memory") == 1
    healthy = asked("why")
    assert healthy.startswith("HEALTHY")  # nothing was measured around the others
    assert (
        "there was harm when nothing was measured: out-of-memory of worker at 2026-11-02" in healthy
    )
    assert "1 more after it" in healthy
    assert "Out of memory" in asked("why", "--from", "2026-11-02", "--to", "2026-11-03")
    assert "--from 2026-11-16T03:00:00+00:00 --to" in asked("top", "--at", "12:00")


def test_a_check_of_imported_files_is_not_about_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "perf-node-1-20261115-201517-4s.data", made.capture(4.0).file())
    out = str(tmp_path / "out")
    assert run(path, "--into", out) == 0
    capsys.readouterr()
    cli.main(["check", "--data", out, "--utc"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "node-1 · Linux 5.4.0 · 2026-11-15 20:15:2" in shown
    assert "Looked at: the last 4 s of what was imported, not this machine" in shown
    (tmp_path / "known").write_text("ssh.service\n")
    assert cli.main(["check", "--data", out, "--known", str(tmp_path / "known")]) == EXIT_USAGE


def test_of_a_log_alone_its_events_are_what_to_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "kern.log", f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n")
    assert run(log, "--into", str(tmp_path / "out")) == 0
    shown = capsys.readouterr().out
    assert "exhume events --data " in shown
    assert "exhume cores --data " not in shown
    assert "exhume top --data " not in shown


def test_cores_of_a_capture_alone_are_counted_from_its_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Core 0 is busy throughout, core 1 idles: no sample of it is kept."""
    path = write(tmp_path / "perf-node-1-20261115-201517-4s.data", made.capture(4.0).file())
    out = str(tmp_path / "out")
    assert run(path, "--into", out, "--utc") == 0
    assert "`exhume cores` shows what samples tell" in " ".join(capsys.readouterr().out.split())
    asked = ["cores", "--data", out, "--utc", "--at", "2026-11-15T20:15:17+00:00", "--for", "5s"]
    assert cli.main(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Note: counted from samples" in shown
    assert "Core 0 was ≥ 95 % busy" in shown
    assert "Core 1" not in shown


def test_a_command_that_has_nothing_to_show_is_not_advised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = write(tmp_path / "faults.txt", made.script(2.0).replace("cpu-clock", "page-faults"))
    into = str(tmp_path / "out")
    assert run(faults, "--into", into) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "so `exhume cores` has nothing to show" in told
    assert "which cores were full" not in told
    assert cli.main(["cores", "--data", into]) == 0
    assert "import mpstat or copies of /proc/stat" in " ".join(capsys.readouterr().out.split())


def test_one_copy_of_the_times_of_cores_is_said_to_be_too_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stat = "cpu  30 0 20 900 0 0 0 0 0 0\ncpu0 30 0 20 900 0 0 0 0 0 0\nintr 1 0\nctxt 5\n"
    copy, into = write(tmp_path / "stat", stat), str(tmp_path / "one")
    assert run(copy, "--into", into) == 0
    said = capsys.readouterr().out
    assert "exhume cores --data" not in said
    assert "so `exhume cores` has nothing to show" in said
    assert cli.main(["cores", "--data", into]) == 0
    assert "were read once: how busy they were shows from two readings on" in " ".join(
        capsys.readouterr().out.split()
    )


def test_why_says_which_files_would_have_told_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "perf-node-1-20261115-201517-4s.data", made.capture(4.0).file())
    cgroups = write(
        tmp_path / "cgroups.log",
        "".join(
            f"### {1794773717 + second}\n#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
            f"memory\t5\t{9000 + second}\t1\n"
            for second in range(4)
        ),
    )
    out = str(tmp_path / "out")
    assert run(path, cgroups, "--into", out, "--name", "node-1") == 0
    capsys.readouterr()
    cli.main(["why", "--data", out])
    shown = " ".join(capsys.readouterr().out.split())
    assert "kernel functions have no names" in shown
    assert "the kernel keeps 9,003 memory cgroups, but nobody counted those" in shown
    assert "no times of cores: import mpstat" in shown


def test_of_a_log_alone_nothing_is_claimed_about_cores_and_what_may_hurt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "kern.log", f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n")
    out = str(tmp_path / "out")
    assert run(log, "--into", out) == 0
    capsys.readouterr()
    assert cli.main(["check", "--data", out]) == 2
    text = capsys.readouterr().out
    assert text.startswith("UNKNOWN")
    assert "no counts of memory cgroups are in the files" in text
    assert cli.main(["cores", "--data", out]) == 0
    text = capsys.readouterr().out
    assert "No times of cores were recorded in this window." in text
    assert "100 % of one core" not in text  # no legend without a map
    assert cli.main(["top", "--data", out]) == 0
    assert "idle" not in capsys.readouterr().out
