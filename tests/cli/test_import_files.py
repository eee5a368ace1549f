from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from exhume.cli import main as cli
from exhume.cli.schemas import schemas
from exhume.errors import EXIT_INTERRUPTED
from exhume.ingest import importing
from exhume.perf.attr import Flag
from tests.cli.made_up import assert_harmless
from tests.ingest import made
from tests.ingest.made import write

OOM = "Out of memory: Killed process 71 (worker) total-vm:1kB, anon-rss:1kB, file-rss:0kB"


def run(*words: str) -> int:
    return cli.main(["import", *words])


def test_an_import_says_what_became_of_each_file_and_what_to_ask_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "perf-node-1-20261115-201517-1s.data", made.capture(1.0).file())
    symbols = write(tmp_path / "kallsyms", made.KALLSYMS)
    out = tmp_path / "out"
    assert run(path, symbols, "--into", str(out), "--utc") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "imported perf.data 200 100 2 1 s" in shown
    assert "by the time in its name, taken as UTC" in shown
    assert "node-1 · 2026-11-15 20:15:17" in shown or "node-1 · 20:15:17" in shown
    for command in ("why", "cores", "top", "serve"):
        assert f"exhume {command} --data {out} " in shown
    assert cli.main(["top", "--data", str(out)]) == 0
    assert "worker" in capsys.readouterr().out


def test_an_interrupted_import_says_that_it_can_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "run", interrupted)
    assert run(write(tmp_path / "a.data", made.capture(1.0).file())) == EXIT_INTERRUPTED
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "the same command goes on" in said[0]


def test_files_of_a_folder_that_are_nothing_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "in" / "kern.log", f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n")
    for number in range(14):
        write(tmp_path / "in" / f"notes-{number:02}", "call them in the morning\n")
    assert run(str(tmp_path / "in"), "--into", str(tmp_path / "out")) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "14 other files could not be read as anything: notes-00, notes-01" in shown
    assert "notes-11 and 2 more" in shown


def test_folders_inside_are_not_looked_into_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n"
    write(tmp_path / "elsewhere" / "kern.log", line)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "truth").symlink_to(tmp_path / "elsewhere")
    assert run(str(tmp_path / "in"), "--into", str(tmp_path / "out")) != 0
    assert f"name the folders inside too: {tmp_path}/in/truth" in capsys.readouterr().err
    write(tmp_path / "in" / "kern.log", line)
    assert run(str(tmp_path / "in"), "--into", str(tmp_path / "in" / "out")) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 folder inside not looked into: truth; name what belongs to it." in shown


def test_events_that_are_no_time_are_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = made.script(1.0).replace("cpu-clock:", "sched:sched_switch:")
    assert "sched:sched_switch:" in text
    path = write(tmp_path / "perf-node-1-20261115-201517-1s.txt", text)
    assert run(path, "--into", str(tmp_path / "out"), "--utc") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sched:sched_switch is no measure of time on a core" in shown


def test_percentages_of_what_is_no_time_are_shares_of_its_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However fast they come: three faults within a millisecond, and then none for long."""
    lines = [
        f"job{n % 4} {70 + n % 4}/{70 + n % 4} [000] {5 + n // 3 + n % 3 / 1e4:.6f}: page-faults:\n"
        "\tffffffff81003004 do_user_addr_fault+0x4 ([kernel.kallsyms])\n\n"
        for n in range(120)
    ]
    text = write(tmp_path / "perf-node-1-20261115-201517-40s.txt", "".join(lines))
    out = str(tmp_path / "out")
    assert run(text, "--into", out) == 0
    capsys.readouterr()
    assert cli.main(["top", "--json", "--data", out]) == 0
    found = json.loads(capsys.readouterr().out)
    shares = [one["percent_of_one_core"] for one in found["processes"]]
    assert shares == pytest.approx([25] * 4, rel=0.05)
    assert not any("sampling rate" in note for note in found["notes"])


@pytest.mark.parametrize("is_text", [False, True])
def test_who_watched_programs_alone_is_told_that_the_kernel_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_text: bool
) -> None:
    """`perf record` without rights, or with `:u`: a core full of system calls looks idle."""
    name = tmp_path / f"perf-node-1-20261115-201517-{is_text}"
    if is_text:
        path = write(name, made.script(1.0).replace("cpu-clock:", "cpu-clock:u:"))
    else:
        whole = made.capture(1.0)
        event = replace(whole.events[0], flags=whole.events[0].flags | Flag.EXCLUDE_KERNEL)
        path = made.write(name, replace(whole, events=[event]).file())
    out = str(tmp_path / "out")
    said = "only user mode was sampled (cpu-clock:u): time in kernel mode is missing"
    assert run(path, "--into", out, "--utc") == 0
    assert said in " ".join(capsys.readouterr().out.split())
    for command in ("cores", "top"):
        assert cli.main([command, "--json", "--data", out]) == 0
        assert any(said in note for note in json.loads(capsys.readouterr().out)["notes"])


@pytest.mark.parametrize(("event", "is_said"), [("cycles", True), ("cpu-clock", False)])
def test_a_rate_that_nobody_tells_is_said_to_be_guessed(
    event: str, is_said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a clock the period of a sample tells it, of cycles it doesn't."""
    path = write(tmp_path / "out.txt", made.script(1.0).replace("cpu-clock:", f"{event}:"))
    assert run(path, "--into", str(tmp_path / "out"), "--utc") == 0
    shown = " ".join(capsys.readouterr().out.split())
    said = "how often it was sampled is not told: by the distances of its samples about 100 times"
    assert (said in shown) is is_said


def test_cores_that_no_sample_names_are_no_numbers_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = made.script(0.5).replace("[000]", "").replace("[001]", "")
    out = str(tmp_path / "out")
    assert run(write(tmp_path / "a.txt", text), "--into", out) == 0
    capsys.readouterr()
    assert cli.main(["top", "--data", out, "--json"]) == 0
    (process,) = json.loads(capsys.readouterr().out)["processes"]
    assert (process["comm"], process["cores"]) == ("worker", [])
    assert cli.main(["top", "--data", out]) == 0
    assert "?" in capsys.readouterr().out


def test_what_was_left_out_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Cut off behind the time of its last sample.
    text = f"{made.script(0.5)}x 7 [000] 5.4: 1 page-faults: \n\t1 f (/x)\n\nx 7 [000] 5.4:"
    assert run(write(tmp_path / "a.txt", text), "--into", str(tmp_path / "out")) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 of page-faults, 1 of an event without a name (--event NAME takes others)" in shown


def test_the_answer_as_json_fits_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.txt", made.script(0.5))
    bad = write(tmp_path / "\x1b[31mbad", "hello\n")
    assert run(path, bad, "--into", str(tmp_path / "out"), "--offset", "1e9", "--json") == 1
    written = capsys.readouterr().out
    assert written.isascii()
    answer = json.loads(written)
    schema = json.loads(schemas()["docs/schema/import.json"])
    assert list(Draft202012Validator(schema).iter_errors(answer)) == []
    assert [one["state"] for one in answer["inputs"]] == ["failed", "imported"]
    assert answer["inputs"][1]["window"]["start"] == pytest.approx(1e9 + 5)


MPSTAT_SINCE_BOOT = """\
Linux 5.4.0 (node-1)  11/15/2026  _x86_64_ (1 CPU)

20:15:17     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
20:15:17     all    1.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   98.00
20:15:17       0    1.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   98.00
"""


@pytest.mark.parametrize(
    ("content", "state", "advice"),
    [
        ("Nov 15 20:15:17 node-1 cron[12]: hello\n" * 3, "read system log", "docs/import.md"),
        (MPSTAT_SINCE_BOOT, "read mpstat", "docs/import.md"),
        (made.KALLSYMS, "names kallsyms", "import it together with the captures"),
    ],
)
def test_an_import_that_makes_no_recording_says_so(
    content: str, state: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write(tmp_path / "file", content), str(tmp_path / "out")
    assert run(path, "--into", out) == 65
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{state} file" in shown
    assert "Nothing of it was kept." in shown
    assert advice in shown
    assert run(path, "--into", out) == 65, "nor the second time"
    capsys.readouterr()
    log = write(tmp_path / "kern.log", f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n")
    assert run(path, log, "--into", out) == 0
    assert "Nothing was kept" not in capsys.readouterr().out


def test_a_second_import_tells_of_the_whole_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    mpstat = write(tmp_path / "mpstat", made_mpstat())
    capture = write(tmp_path / "perf-node-1-20261115-203017-4s.data", made.capture(4.0).file())
    log = write(tmp_path / "kern.log", f"2026-11-15T20:50:00Z node-1 kernel: [ 9.1] {OOM}\n")
    assert run(mpstat, "--into", out, "--utc") == 0
    assert run(capture, "--into", out, "--utc") == 0
    capsys.readouterr()
    for path in (log, log):
        assert run(path, "--into", out, "--utc") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "20:15:17 – 20:50:00 UTC · 3 segments in" in shown
        assert "no times of cores" not in shown
        assert f"exhume top --data {out}" in shown
        assert f"exhume cores --data {out}" in shown


def made_mpstat() -> str:
    head, column, *rows = MPSTAT_SINCE_BOOT.replace("\n\n", "\n").splitlines()
    later = [row.replace("20:15:17", f"20:15:{second}") for second in (17, 18) for row in rows]
    return "\n".join([head, "", column, *later]) + "\n"


def test_a_place_with_escapes_in_its_name_is_shown_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "kern.log", f"2026-11-02T03:00:00Z node-1 kernel: [ 9.1] {OOM}\n")
    assert run(log, "--into", str(tmp_path / "a\x1b[31mred")) == 0
    assert_harmless(capsys.readouterr().out)


def test_some_that_fail_are_1_and_none_that_works_is_65(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(tmp_path / "good.txt", made.script(0.2))
    bad = write(tmp_path / "bad.txt", "hello\n")
    assert run(good, bad, "--into", str(tmp_path / "a")) == 1
    assert "expected perf.data, text of perf script" in " ".join(capsys.readouterr().out.split())
    assert run(bad, "--into", str(tmp_path / "b")) == 65
    assert run(good, "--into", str(tmp_path / "a")) == 0


@pytest.mark.parametrize(
    "words",
    [[], ["x", "--offset", "soon"], ["x", "--offset", "inf"], ["x", "--jobs", "0"],
     ["x", "--symfs", "/nowhere/at/all"], ["x", "--zone", "Mars/Olympus"],
     ["x", "--zone", "+99:00"], ["x", "--zone", "../../etc/passwd"]],
)  # fmt: skip
def test_what_makes_no_sense_is_a_usage_error(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words, *(["--into", str(tmp_path / "out")] if words else [])) == 64
    assert "exhume:" in capsys.readouterr().err


def test_what_to_do_is_told_apart_from_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "perf.data", made.capture().file()[:50])
    run(path, "--into", str(tmp_path / "out"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "expected the rest of the header; the file is cut off: copy it again" in shown


def test_names_of_files_and_nodes_cannot_write_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31m"
    path = write(tmp_path / f"{hostile}.txt", made.script(0.2, host=hostile))
    assert run(path, "--into", str(tmp_path / "out")) == 0
    shown = capsys.readouterr().out
    assert "\x1b]" not in shown
    assert "\x07" not in shown


def test_the_pieces_of_a_night_are_one_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(50):
        write(tmp_path / "in" / f"{i:02}.txt", made.script(0.1, start_ns=i * 10**9))
    assert run(str(tmp_path / "in"), "--into", str(tmp_path / "out"), "--offset", "1e9") == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith("imported  perf script")]
    assert "1,000" in row
    assert "and 49 more" in row


def test_also_a_few_pieces_are_when_their_names_differ_in_numbers_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for i in range(4):
        name = f"perf-gpu-mlq-36-20260421-22-{i:02}-00-120s.data.stacks"
        write(tmp_path / "in" / name, made.script(0.1, start_ns=i * 10**9))
    for n, name in enumerate(("one.txt", "two.txt")):
        write(tmp_path / "in" / name, made.script(0.1, start_ns=(10 + n) * 10**9))
    assert run(str(tmp_path / "in"), "--into", str(tmp_path / "out"), "--offset", "1e9") == 0
    heading, *lines = capsys.readouterr().out.splitlines()[1:]
    rows = [line for line in lines if line.startswith("imported  perf script")]
    assert [row.split()[-1] for row in rows] == ["one.txt", "more", "two.txt"]
    assert rows[1].endswith("and 3 more")
    assert "length" in heading


def test_what_is_not_there_is_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("nosuch", "--into", "out")
    assert "  nosuch: no such file\n" in capsys.readouterr().out
