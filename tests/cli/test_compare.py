from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from exhume.cli import common
from exhume.cli.main import main
from exhume.cli.render.compare import render
from exhume.cli.schemas import schemas
from exhume.fleet import codec
from exhume.fleet.cohort import Column, Fleet
from exhume.fleet.compare import compare
from exhume.fleet.comparison import Comparison
from tests.cli.story import SECONDS, START_WALL
from tests.fleet.made import fingerprint


@pytest.fixture
def groups(tmp_path: Path) -> tuple[str, str]:
    for zone, state in (("a", "runs"), ("b", "off")):
        folder = tmp_path / zone
        folder.mkdir()
        for n in range(6):
            name = f"{zone}{n}"
            one = fingerprint(name, {"unit": {"ecs.service": ("state", state)},
                                     "label": {"zone": ("state", zone)}})  # fmt: skip
            (folder / f"{name}.json").write_bytes(codec.encode(one))
    return str(tmp_path / "a"), str(tmp_path / "b")


def asked(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, Any]:
    code = main([*words, "--json"])
    written = capsys.readouterr()
    assert written.out, written.err
    found = json.loads(written.out)
    schema = json.loads(schemas()["docs/schema/compare.json"])
    assert list(Draft202012Validator(schema).iter_errors(found)) == []
    return code, found


def test_two_sets_of_files(groups: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(capsys, ["compare", "--ill", groups[0], "--well", groups[1]])
    assert (code, found["verdict"]) == (0, "separates")
    assert found["classes"][0]["lead"]["name"] == "ecs.service"
    assert main(["compare", "--ill", groups[0], "--well", groups[1]]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "ecs.service runs on 6 of 6 ill and 0 of 6 well." in text
    assert "a perfect separator, n = 12" in text
    assert "Small n: with 6 against 6" in text


def test_an_expression_over_one_directory(
    groups: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = asked(capsys, ["compare", *groups, "--ill", "zone==a"])
    assert code == 0
    assert [m["area"] for m in found["classes"][0]["members"]] == ["unit"]  # not the zone itself
    few = ["compare", *groups, "--ill", "zone==a", "--well", "zone==c"]
    assert main(few) == 65
    assert "none of the 12 nodes is well" in capsys.readouterr().err


def test_three_against_three_exits_with_two(
    groups: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ill = [f"{groups[0]}/a{n}.json" for n in range(2)]
    well = [f"{groups[1]}/b{n}.json" for n in range(2)]
    code, found = asked(capsys, ["compare", "--ill", *ill, "--well", *well])
    assert (code, found["verdict"]) == (2, "unknown")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 64),
        (["--ill", "/nowhere/x.json", "--well", "/nowhere/y.json"], 64),
        (["--ill", "A"], 64),
        (["--ill", "A", "--well", "A"], 65),
        (["A", "--ill", "zoen==a"], 64),
        (["--event", "x", "--ill", "A"], 64),
        (["--within", "A"], 64),
    ],
)
def test_questions_that_make_no_sense(
    groups: tuple[str, str], words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *(groups[0] if word == "A" else word for word in words)]) == code
    assert capsys.readouterr().err


def test_windows_of_one_node_are_compared(story: str, capsys: pytest.CaptureFixture[str]) -> None:
    window = ["--from", str(START_WALL), "--to", str(START_WALL + SECONDS)]
    words = ["compare", "--within", story, "--event", "kernel-log", "--each", "10s", *window]
    code, found = asked(capsys, words)
    assert code in (0, 1, 2)
    assert found["unit"] == "window"
    assert found["ill"] >= 1
    assert found["attributes"] > 0
    assert main([*words[:3], "--event", "no-such", *window]) == 65
    assert "there are:" in capsys.readouterr().err
    assert main([*words[:3], "--event", "unit-start", *window]) == 65
    assert "each of the 20 windows has it" in capsys.readouterr().err


def test_a_threshold_that_the_ill_do_not_reach_is_said_of_them_and_long_lists_stay_indented() -> (
    None
):
    nodes = tuple(f"n{place}" for place in range(20))
    ill = np.arange(20) < 8
    budget = np.arange(20, dtype=np.int32)
    values = tuple(str(100 + 10 * place) for place in range(20))
    packages = tuple(
        Column("package", f"library-number-{n}", "config", (~ill).astype(np.int32), ("1.0", "1.1"))
        for n in range(6)
    )
    fleet = Fleet(nodes, (Column("sysctl", "net.budget", "config", budget, values), *packages))
    answer = compare(fleet, ill, ~ill)
    screen = common.console(60)
    with screen.capture() as shown:
        screen.print(render(answer))
    text = shown.get()
    assert "library-number-0 = 1.1 on 0 of 8 ill and 12 of 12 well." in " ".join(text.split())
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if "the same split" in line)
    assert len(lines) - begin >= 3
    assert all(line.startswith("   ") for line in lines[begin:] if line.strip())
    alone = compare(Fleet(nodes, fleet.columns[:1]), ill, ~ill)
    with screen.capture() as shown:
        screen.print(render(alone))
    assert "sysctl net.budget < 180 on 8 of 8 ill and 0 of 12 well." in shown.get()
    assert "(on the other side)" not in shown.get()


def said(answer: Comparison) -> str:
    screen = common.console(200)
    with screen.capture() as shown:
        screen.print(render(answer))
    return " ".join(shown.get().split())


def test_where_only_levels_go_with_the_illness_it_is_not_said_that_nothing_does() -> None:
    nodes = tuple(f"n{place}" for place in range(24))
    ill = np.arange(24) < 12
    level = Column("load", "zombies", "load", (~ill).astype(np.int32), ("90000", "3"))
    chance = (np.arange(24) % 2).astype(np.int32)
    other = Column("sysctl", "net.budget", "config", chance, ("300", "600"))
    answer = compare(Fleet(nodes, (level, other)), ill, ~ill)
    assert answer.verdict == "nothing"
    text = said(answer)
    assert "Nothing separates" not in text
    assert "No cause separates them. Only levels go with the illness" in text
    assert "1. load zombies" in text
    # Few nodes and many attributes: a cause could not stand out, the one level does.
    few = np.arange(10) < 5
    random = np.random.default_rng(2)
    crowd = tuple(
        Column("sysctl", f"s{n}", "config", random.permutation(~few).astype(np.int32), ("1", "2"))
        for n in range(60)
    )
    level = Column("load", "zombies", "load", (~few).astype(np.int32), ("90000", "3"))
    answer = compare(Fleet(nodes[:10], (level, *crowd)), few, ~few)
    assert answer.verdict == "unknown"
    assert "No cause can be told: too few nodes" in said(answer)
    # And where not even a level does, nothing is said of one.
    answer = compare(Fleet(nodes, (other,)), ill, ~ill)
    assert "Nothing separates them" in said(answer)
    assert "level" not in said(answer)
