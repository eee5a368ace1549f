from __future__ import annotations

import json
from pathlib import Path

import pytest

from exhume.cli.main import main
from tests.cli.ask import Ask
from tests.cli.story import BURST_AT, START_WALL
from tests.ingest.made import do_import, write


@pytest.fixture
def ask(story: str, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(story, capsys)


def test_each_line_stands_with_its_queue_and_its_core(ask: Ask) -> None:
    found = ask.json("irqs")
    lines = {line["name"]: line for line in found["lines"]}
    queue = lines["eth0-Tx-Rx-0"]
    assert (queue["device"], queue["queue"], queue["direction"]) == ("eth0", 0, "tx+rx")
    assert (queue["core"], queue["irq"]) == (3, "30")
    assert queue["per_second"] == pytest.approx(900)
    assert (lines["nvme0q3"]["direction"], lines["nvme0q3"]["core"]) == ("io", 1)
    assert found["silent_lines"] == 1
    assert found["lines"][0]["irq"] == "LOC"


def test_cores_tell_how_busy_they_were_and_what_they_lost(ask: Ask) -> None:
    cores = {core["core"]: core for core in ask.json("irqs")["cores"]}
    assert cores[3]["worst_percent_of_core"] == pytest.approx(100, abs=1)
    assert cores[3]["worst_mode"] == "system"
    assert cores[3]["mean_percent_of_core"] == pytest.approx(25, abs=2)
    assert (cores[3]["queues"], cores[3]["dropped"], cores[3]["squeezed"]) == (4, 17, 11)
    assert cores[3]["packets_per_second"] == pytest.approx(8000)
    assert (cores[0]["dropped"], cores[0]["queues"]) == (0, 0)


def test_the_thread_that_starved_is_named_with_its_longest_wait(ask: Ask) -> None:
    worst = ask.json("irqs")["threads"][0]
    assert (worst["name"], worst["core"]) == ("ksoftirqd/3", 3)
    assert worst["worst_wait_seconds"] == pytest.approx(6, abs=0.01)
    assert worst["worst_wait_time"] == pytest.approx(START_WALL + BURST_AT + 7)


def test_queues_that_meet_on_one_core_are_pointed_out(ask: Ask) -> None:
    (crowd,) = ask.json("irqs")["crowded"]
    assert (crowd["device"], crowd["core"], crowd["queues"]) == ("eth0", 3, 4)
    text = " ".join(ask("irqs").split())
    assert "⚠ eth0: all of its 4 queues interrupt core 3" in text
    assert "ksoftirqd/3 was ready and not run for 6 s before" in text
    assert "Core 3 was full for a second or longer (mostly system), and serves eth0" in text


def test_a_few_seconds_know_the_affinity_that_was_read_before(ask: Ask) -> None:
    found = ask.json(f"irqs --at {START_WALL + BURST_AT + 1} --for 5s")
    lines = {line["name"]: line for line in found["lines"]}
    assert lines["eth0-Tx-Rx-0"]["core"] == 3
    cores = {core["core"]: core for core in found["cores"]}
    assert cores[3]["mean_percent_of_core"] == pytest.approx(100, abs=1)


def test_devices_and_cores_choose(ask: Ask) -> None:
    assert {line["device"] for line in ask.json("irqs --device nvme0")["lines"]} == {"nvme0"}
    assert [core["core"] for core in ask.json("irqs --core 1")["cores"]] == [1]
    assert "there are: eth0, nvme0" in ask("irqs --device eth9", expect=64)
    assert "recorded are cores 0 to 3" in ask("irqs --core 99", expect=64)


def test_system_lines_show_with_all(ask: Ask) -> None:
    assert "LOC" not in ask("irqs")
    assert "LOC" in ask("irqs --all")


def test_of_one_copy_no_line_is_said_to_be_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = " {}:      90000          3   PCI-MSI {}-edge      eth0-Tx-Rx-{}\n"
    text = "           CPU0       CPU1\n" + row.format(30, 0, 0) + row.format(31, 1, 1)
    do_import(tmp_path / "out", write(tmp_path / "interrupts", text))
    capsys.readouterr()
    assert main(["irqs", "--data", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["silent_lines"] == 0
    assert any("2 lines were read once" in note for note in found["notes"])
