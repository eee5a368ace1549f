from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.ask import Ask
from tests.cli.made_up import HOSTILE, assert_harmless
from tests.cli.story import STARTS, record


@pytest.fixture
def ask(story: str, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(story, capsys)


def test_the_looping_unit_and_container_come_first_with_what_they_leak(ask: Ask) -> None:
    found = ask.json("units")["lifecycles"]
    unit, container = found[0], found[1]
    assert (unit["kind"], unit["name"], unit["mark"]) == ("unit", "ecs.service", "crash loop")
    assert (unit["starts"], unit["restarts"]) == (STARTS, STARTS - 1)
    assert unit["starts_per_hour"] == pytest.approx(360)
    assert unit["median_lifetime_seconds"] == pytest.approx(1.2)
    assert unit["zombies_per_start"] == pytest.approx(1, abs=0.02)
    assert unit["memory_bytes_per_start"] == pytest.approx(338_000, rel=0.05)
    assert unit["cpu_seconds_per_start"] == pytest.approx(5, rel=0.1)
    assert (container["name"], container["ids"], container["restarts"]) == ("ecs-agent", STARTS, 0)
    assert container["mark"] == "crash loop"


def test_a_build_is_not_accused(ask: Ask) -> None:
    marks = {one["name"]: one["mark"] for one in ask.json("units")["lifecycles"]}
    assert marks["cc1"] == "many short jobs"
    assert marks["db"] == marks["sshd.service"] == "healthy"


def test_the_programs_of_a_looping_unit_are_not_told_twice(ask: Ask) -> None:
    assert "amazon-ecs-init" not in {one["name"] for one in ask.json("units")["lifecycles"]}


def test_the_screen_says_who_and_why(ask: Ask) -> None:
    text = " ".join(ask("units").split())
    assert "Unit ecs.service: every 10 s, 60 starts within 10 minutes, lives 1.2 s" in text
    assert "120 ids under one name, so nobody counts restarts" in text
    assert "Healthy: 1 unit, 1 container with 2 starts; --all lists them." in text
    assert "sshd.service" not in text
    assert "sshd.service" in ask("units --all")


def test_kinds_can_be_chosen(ask: Ask) -> None:
    assert {one["kind"] for one in ask.json("units --kind container")["lifecycles"]} == {
        "container"
    }
    ask("units --kind nonsense", expect=64)


@pytest.mark.parametrize("name", HOSTILE[:6])
def test_hostile_names_stay_names(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = record(tmp_path, {"unit": name, "container": name})
    assert_harmless(Ask(data, capsys)("units"))
