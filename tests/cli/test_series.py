from __future__ import annotations

import csv
import io

import pytest

from exhume.cli.main import main
from tests.cli.ask import WINDOW, Ask
from tests.cli.story import SECONDS


@pytest.fixture
def ask(story: str, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(story, capsys)


def test_a_counter_is_shown_as_its_rate(ask: Ask) -> None:
    found = ask.json("series irq.count")
    assert (found["is_rate"], found["unit"]) == (True, "interrupts per second")
    first = found["series"][0]
    assert (first["instance"], first["mean"]) == ("LOC", pytest.approx(1000))
    assert first["readings"] == SECONDS - 1
    assert first["values"][:2] == [1000, 1000]
    assert found["left_out"] == 0


def test_raw_shows_what_the_kernel_gave(ask: Ask) -> None:
    (found,) = ask.json(["series", "irq.count", "60 nvme0q3", "--raw"])["series"]
    assert found["values"][:3] == [0, 300, 600]
    gauge = ask.json("series memcg.tracked")
    assert (gauge["is_rate"], gauge["unit"]) == (False, "cgroups")


def test_the_most_active_are_shown_and_the_rest_is_counted(ask: Ask) -> None:
    found = ask.json("series irq.count --limit 2")
    assert [one["instance"] for one in found["series"]] == ["LOC", "30 eth0-Tx-Rx-0"]
    assert found["left_out"] == 5
    assert "The 2 most active of 7" in ask("series irq.count --limit 2")


def test_instances_are_chosen_by_name_or_pattern(ask: Ask) -> None:
    words = ["series", "irq.count", "*eth0*", "LOC"]
    assert len(ask.json(words)["series"]) == 5
    error = ask("series irq.count eth0", expect=64)
    assert "irq.count was not read of 'eth0'" in error
    assert "30 eth0-Tx-Rx-0" in error


def test_a_reset_is_told(ask: Ask) -> None:
    found = {one["instance"]: one for one in ask.json("series nic.stat")["series"]}
    assert found["eth0 tx_timeout"]["resets"] == 1
    assert "resets" in ask("series nic.stat")
    assert "resets" not in ask("series irq.count")


def test_csv_has_a_line_for_each_value(ask: Ask) -> None:
    rows = list(csv.reader(io.StringIO(ask("series memcg.zombies --csv"))))
    assert rows[0] == ["time", "epoch_seconds", "instance", "value"]
    assert rows[1] == ["2026-11-15T20:10:00.000Z", "1794773400.000", "", "60000"]
    assert len(rows) == 21
    assert "exclude each other" in ask("series memcg.zombies --csv --json", expect=64)


def test_csv_has_all_instances_unless_told_otherwise(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def instances(words: str) -> int:
        return len({row["instance"] for row in csv.DictReader(io.StringIO(ask(words)))})

    monkeypatch.setattr("exhume.cli.series._LIMIT", 3)
    assert len(ask.json("series irq.count")["series"]) == 3
    assert instances("series irq.count --csv") == 7
    assert instances("series irq.count --csv --limit 2") == 2


@pytest.mark.parametrize(
    ("name", "near"),
    [("irq.cuont", "irq.count"), ("zombies", "memcg.zombies"), ("memcg.zombie", "memcg.zombies")],
)
def test_an_unknown_field_is_answered_with_the_nearest(ask: Ask, name: str, near: str) -> None:
    error = ask(f"series {name}", expect=64)
    assert f"there is no field '{name}'" in error
    assert f"did you mean {near}" in error


def test_a_field_that_was_not_recorded_is_no_error_and_those_that_were_are_named(ask: Ask) -> None:
    told = ask("series cgroup.cpu_throttled")
    assert "cgroup.cpu_throttled was not recorded in this window." in told
    assert "Note: fields in this window: " in told
    assert "cpu.user," in told


def test_nor_as_csv_where_it_is_told_beside_it(
    story: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["series", "cgroup.cpu_throttled", "--csv", "--data", story, *WINDOW]) == 0
    out, err = capsys.readouterr()
    assert out == "time,epoch_seconds,instance,value\n"
    assert "note: cgroup.cpu_throttled was not recorded in this window" in err


def test_missing_readings_are_not_zero(ask: Ask) -> None:
    (found,) = ask.json("series process.user")["series"]
    assert found["least"] == pytest.approx(99)


def test_what_has_no_instances_is_not_said_to_have_some(ask: Ask) -> None:
    said = ask("series memcg.zombies nope", expect=64)
    assert said == (
        "exhume: memcg.zombies was not read of 'nope'\n"
        "  it is one figure for the whole node: leave the name out\n"
    )


def test_only_what_is_required_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["series"]) == 64
    assert capsys.readouterr().err.startswith(
        "exhume: the following arguments are required: FIELD\n"
    )
