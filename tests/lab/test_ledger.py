"""What a run puts on the machine goes again, whoever has to take it away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.dice import Dice
from lab.ledger import Ledger, start_of
from tests.kernel.node import needs_root, wait_for

RUN = """
import sys, time
from pathlib import Path
from lab.dice import Dice
from lab.ledger import Ledger
from lab.stage import staged
import lab.stage

lab.stage.FOLDER = Path(sys.argv[1])
with staged(Dice(1), Path(sys.argv[1]) / "recording", print) as stage:
    stage.groups()
    stage.tmpfs("size=1M")
    stage.actor("spin", -1, 60)
    for entry in stage.ledger.entries():
        print(entry.what, entry.name)
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_process_is_ended_only_if_it_is_still_the_one_written_down(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with subprocess.Popen(["sleep", "60"]) as mine, subprocess.Popen(["sleep", "60"]) as other:
        try:
            ledger.note_process(mine.pid)
            ledger.note("process", other.pid, (start_of(other.pid) or 0) - 1)
            assert ledger.clean() == []
            assert mine.wait(5) == -signal.SIGKILL
            assert other.poll() is None
        finally:
            mine.kill()
            other.kill()


def test_a_folder_goes_and_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    ledger, folder = Ledger(tmp_path / "ledger.jsonl"), tmp_path / "made"
    (folder / "deep").mkdir(parents=True)
    ledger.note("folder", folder)
    with ledger.path.open("a") as file:
        file.write('{"what": "fold')
    assert ledger.clean() == []
    assert not folder.exists()
    assert not ledger.path.exists()


def test_cleaning_twice_is_as_good_as_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.note("folder", tmp_path / "never made")
    assert ledger.clean() == []
    assert ledger.clean() == []


def test_the_same_seed_throws_the_same_and_another_does_not() -> None:
    def throw(seed: int) -> list[object]:
        dice = Dice(seed)
        return [dice.name(), dice.name(), dice.core(), dice.between(1, 9), dice.number(1, 10**9)]

    assert throw(7) == throw(7)
    assert throw(7) != throw(8)
    assert len({Dice(seed).name() for seed in range(50)}) == 50


def test_names_fit_the_kernel_and_have_no_digits() -> None:
    dice = Dice(1)
    for name in (dice.name() for _ in range(500)):
        assert len(name) <= 15
        assert not any(letter.isdigit() for letter in name)


@pytest.mark.kernel
@needs_root
def test_a_run_that_is_killed_leaves_no_process_cgroup_mount_or_folder(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as run:
        try:
            assert run.stdout is not None
            lines = list(iter(run.stdout.readline, "ready\n"))
        finally:
            run.kill()
    made = [line.split() for line in lines]
    assert {what for what, _ in made} == {"process", "cgroup", "mount", "folder"}
    wait_for(lambda: not list(tmp_path.glob("*.jsonl")), 20, "the guardian to clean up")
    for what, name in made:
        gone = start_of(int(name)) is None if what == "process" else not Path(name).exists()
        assert gone, (what, name)
        assert what != "mount" or not os.path.ismount(name)


@pytest.mark.kernel
@needs_root
def test_the_guardian_ends_what_goes_on_too_long(tmp_path: Path) -> None:
    from lab.guardian import Guardian

    guardian = Guardian(Ledger(tmp_path / "ledger.jsonl"))
    with subprocess.Popen(["sleep", "60"]) as long:
        try:
            guardian.allow(long.pid, 0.3)
            began = time.monotonic()
            assert long.wait(10) == -signal.SIGKILL
            assert time.monotonic() - began >= 0.2
        finally:
            long.kill()
            guardian.dismiss()
