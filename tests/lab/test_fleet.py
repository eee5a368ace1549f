from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.cli.main import main
from exhume.fleet.cohort import UNKNOWN, Column, Fleet
from exhume.fleet.loading import load
from exhume.model.fingerprint import Value
from lab.fleet import write
from lab.fleet_model import CAUSES, Cause, Settings, simulate


def column(fleet: Fleet, key: str) -> Column:
    return next(one for one in fleet.columns if one.key == key)


def values(fleet: Fleet, key: str) -> list[Value | str | None]:
    one = column(fleet, key)
    return ["?" if code == UNKNOWN else one.values[code] for code in one.codes]


@pytest.mark.parametrize("cause", CAUSES)
def test_the_same_seed_makes_the_same_fleet(cause: Cause) -> None:
    one, two = (simulate(Settings(40, cause, seed=4, attributes=60)) for _ in range(2))
    assert one.ill.tolist() == two.ill.tolist()
    assert all(np.array_equal(a.codes, b.codes) for a, b in zip(
        one.fleet.columns, two.fleet.columns, strict=True))  # fmt: skip
    other = simulate(Settings(40, cause, seed=5, attributes=60))
    assert one.ill.tolist() != other.ill.tolist()


def test_the_cause_hides_behind_its_zone() -> None:
    made = simulate(Settings(500, "single", seed=2, attributes=60))
    zones, units = values(made.fleet, "label/zone"), values(made.fleet, "unit/ecs.service")
    both = [(z, u) for z, u in zip(zones, units, strict=True) if "?" not in (z, u)]
    assert {(z == "a", u == "runs") for z, u in both} == {(True, True), (False, False)}
    assert len(both) < 500  # some could not be read
    assert 0.3 < made.ill.mean() < 0.55


@pytest.mark.parametrize("form", ["files", "parquet"])
def test_what_is_written_is_the_fleet(tmp_path: Path, form: str) -> None:
    made = simulate(Settings(12, "absence", seed=1, attributes=40))
    write(made, tmp_path / "fleet", form)
    again = load([tmp_path / "fleet"])
    assert again.nodes == made.fleet.nodes
    for one in made.fleet.columns:
        if (one.codes != UNKNOWN).any() and any(
            one.values[code] is not None for code in one.codes if code != UNKNOWN
        ):
            assert values(again, one.key) == values(made.fleet, one.key), one.key
    assert again.cases == made.fleet.cases


def test_from_the_lab_to_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = str(tmp_path / "fleet")
    made = ["lab", "fleet", "--nodes", "40", "--cause", "single", "--attributes", "80", "-o", fleet]
    assert main(made) == 0
    assert "planted: unit/ecs.service" in capsys.readouterr().out
    assert main(["compare", fleet, "--ill", "cases"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The answer: ecs.service runs on" in text
    assert "The diagnosis of" in text
    assert main(made) == 64  # not into what is there
    assert main(["lab"]) == 64
    assert main(["lab", "fleet", "--nodes", "2", "-o", str(tmp_path / "x")]) == 64
