"""The commands on a recording from end to end: from the files to the screen and to JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bench.synthetic import SECOND, Burst, make_node, make_segment
from exhume.cli.cores import where_to_search
from exhume.cli.main import main
from exhume.cli.schemas import schemas
from exhume.store.writer import write_segment
from tests.cli.made_up import core_map

START = 1_600_000_200  # 2020-09-13 12:30:00 UTC
BURST_AT = START + 30


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A minute of 12 cores; core 9 spends six seconds of it in the kernel."""
    root = tmp_path_factory.mktemp("recording")
    node = make_node(12, 400)
    burst = Burst(9, 30.0, 6.0)
    segment = make_segment(node, 61.0, busy=0.3, burst=burst, wall_ns=START * SECOND)
    write_segment(root, segment)
    return str(root)


def run(words: str, data: str, capsys: pytest.CaptureFixture[str], expect: int = 0) -> str:
    code = main([*words.split(), "--data", data, "--utc"])
    written = capsys.readouterr()
    assert code == expect, written.err
    return written.err if expect else written.out


def answer(words: str, data: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    command = words.split()[0]
    found = json.loads(run(f"{words} --json", data, capsys))
    schema = json.loads(schemas()[f"docs/schema/{command}.json"])
    assert list(Draft202012Validator(schema).iter_errors(found)) == []
    assert isinstance(found, dict)
    return found


def test_cores_shows_the_burst(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(f"cores --at {START} --for 1m", data, capsys)
    assert "12 cores · 2020-09-13 12:30:00 – 12:31:00 UTC" in text
    assert "Core 9 was ≥ 95 % busy (system) for 6 s from 2020-09-13 12:30:30" in " ".join(
        text.split()
    )


def test_cores_finds_the_burst_in_a_window_of_hours(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(f"cores --from {START - 40_000} --to {START + 3_000}", data, capsys)
    assert isinstance(found["bursts"], list)
    (burst,) = found["bursts"]
    assert (burst["core"], burst["mode"], burst["exact"]) == (9, "system", True)
    assert burst["window"]["start"] == pytest.approx(BURST_AT, abs=1)
    assert burst["window"]["end"] - burst["window"]["start"] == pytest.approx(6, abs=1)


def test_what_is_found_in_hours_does_not_depend_on_how_wide_the_terminal_is(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = f"cores --from {START - 40_000} --to {START + 3_000} --columns"
    few, many = (answer(f"{asked} {columns}", data, capsys)["bursts"] for columns in (2, 200))
    assert few == many


def test_in_hours_only_the_places_of_bursts_are_searched_second_by_second() -> None:
    night = core_map(4, 43_200, 90, burst=(1, 20_000, 6))
    (stretch,) = where_to_search(night).stretches
    assert stretch.contains(night.window.start_ns + 20_000 * SECOND)
    assert stretch.seconds < 700


def test_a_core_full_for_hours_is_not_searched_and_many_places_are_owned_up_to() -> None:
    night = core_map(40, 43_200, 90)
    night.worst_percent_of_core[0] = 100
    night.worst_percent_of_core[1:, ::2] = 100
    search = where_to_search(night)
    assert [burst.core for burst in search.too_long] == [0]
    assert search.skipped == 39 * 45 - 100
    assert all(stretch.seconds <= 3_600 for stretch in search.stretches)
    assert where_to_search(core_map(4, 600, 90)).stretches == [core_map(4, 600, 90).window]


def test_cores_can_be_chosen(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(f"cores --at {START} --for 1m --core 3,9 --columns 10", data, capsys)
    chosen = found["map"]
    assert isinstance(chosen, dict)
    assert chosen["cores"] == [3, 9]
    assert len(chosen["worst_percent_of_core"][0]) == 10
    run(f"cores --at {START} --for 1m --core 77", data, capsys, expect=64)


def test_top_names_the_culprit(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"top --at {BURST_AT} --for 5s --core 9"
    found = answer(words, data, capsys)
    processes = found["processes"]
    assert isinstance(processes, list)
    assert processes[0]["comm"] == "kubelet"
    assert processes[0]["percent_of_one_core"] == pytest.approx(100, abs=3)
    text = run(words, data, capsys)
    assert "kubelet" in text
    assert "mem_cgroup_nr_lru_pages" in text
    assert " tid " not in text
    assert " tid " in run(f"{words} --threads", data, capsys)


def test_flame_shows_the_way_there(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"flame --at {BURST_AT} --for 5s --core 9"
    tree = answer(words, data, capsys)
    assert tree["samples"] == pytest.approx(485, abs=3)
    text = run(f"{words} --width 100", data, capsys)
    assert "mem_cgroup_nr_lru_pagesᵏ" in text
    assert max(map(len, text.splitlines())) <= 100
    folded = run(f"{words} --folded", data, capsys)
    assert folded.startswith("kubelet;")
    counts = [int(line.rpartition(" ")[2]) for line in folded.splitlines()]
    assert sum(counts) == tree["samples"]
    assert run(f"flame --at {START} --for 1s --core 1 --comm kubelet --folded", data, capsys) == ""


@pytest.mark.parametrize("command", ["cores", "top", "flame"])
def test_a_window_without_data_says_what_there_is(
    command: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = run(f"{command} --at {START - 1000} --for 5s", data, capsys, expect=65)
    assert "nothing recorded between 2020-09-13 12:13:20 and 12:13:25" in error
    assert "recorded are: 2020-09-13 12:30:00 – 12:31:01" in error


@pytest.mark.parametrize("command", ["cores", "top", "flame"])
def test_no_recording_says_how_to_get_one(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (tmp_path, tmp_path / "none"):
        assert "exhume up" in run(f"{command} --last 1m", str(place), capsys, expect=65)


def test_of_some_cores_that_do_not_exist_the_map_tells(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"cores --at {START} --for 1m --core 9,99 --json"
    assert main([*words.split(), "--data", data]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["map"]["cores"] == [9]
    assert err == "exhume: note: no core 99 in this window\n"


@pytest.mark.parametrize("command", ["top", "flame"])
def test_of_a_filter_that_nothing_fits_no_idle_core_is_made(
    command: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    window = f"--at {START} --for 1m"
    text = run(f"{command} --at {START} --for 1s --core 1 --comm kubelet", data, capsys)
    assert "No sample of this window fits the filter." in text
    assert "cores were idle" not in text
    for wrong, complaint in (
        ("--comm kubelt", "did you mean kubelet?"),
        ("--comm nobody", "threads in this window: "),
        ("--pid 77777", "'exhume top' shows who ran"),
        ("--unit x.service", "no units are known in this window"),
    ):
        said = run(f"{command} {window} {wrong}", data, capsys, expect=64)
        assert said.startswith(f"exhume: no sample of {wrong} at any time recorded\n")
        assert complaint in said
    assert main([*f"{command} {window} --core 9,99".split(), "--data", data]) == 0
    assert capsys.readouterr().err == "exhume: note: no core 99: recorded are cores 0 to 11\n"
    said = run(f"{command} {window} --core 100-300", data, capsys, expect=64)
    assert "no core 100, 101, 102, 103, 104, 105, 106, 107 and 193 more\n" in said
    said = run(f"{command} {window} --core 99", data, capsys, expect=64)
    assert said == "exhume: no core 99\n  recorded are cores 0 to 11\n"
