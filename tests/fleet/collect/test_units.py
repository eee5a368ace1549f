from __future__ import annotations

from pathlib import Path

import pytest

from exhume.fleet.collect import units
from exhume.fleet.collect.found import Found
from tests.fleet.made import Machine


@pytest.fixture
def made(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.write(
        "usr/lib/systemd/system/ecs.service", "# a comment\n[Service]\nExecStart=/bin/a\n"
    )
    machine.write("usr/lib/systemd/system/a@.service", "[Service]\nExecStart=/bin/%i\n")
    (tmp_path / "etc/systemd/system/multi-user.target.wants").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/multi-user.target.wants/ecs.service").symlink_to("/x")
    return machine


def hashes(machine: Machine) -> dict[str, object]:
    fields = units.collect(machine.host).fields["unit_file"]
    return {name: field.value for name, field in fields.items()}


def test_a_drop_in_changes_the_unit(made: Machine) -> None:
    before = hashes(made)
    made.write("etc/systemd/system/ecs.service.d/x.conf", "[Service]\nRestart=always\n")
    after = hashes(made)
    assert before["ecs.service"] != after["ecs.service"]
    assert before["a@.service"] == after["a@.service"]


def test_a_comment_does_not(made: Machine) -> None:
    before = hashes(made)
    made.write("usr/lib/systemd/system/ecs.service", "[Service]\n; other\nExecStart=/bin/a\n")
    assert hashes(made) == before


def test_the_administrators_file_hides_the_distributions(made: Machine) -> None:
    before = hashes(made)
    made.write("etc/systemd/system/ecs.service", "[Service]\nExecStart=/bin/b\n")
    assert hashes(made)["ecs.service"] != before["ecs.service"]


def test_a_masked_unit_is_masked(made: Machine) -> None:
    (made.root / "etc/systemd/system/ecs.service").symlink_to("/dev/null")
    assert hashes(made)["ecs.service"] == "masked"


def test_who_wants_a_unit_is_a_set(made: Machine) -> None:
    wanted = units.collect(made.host).fields["unit_wanted"]
    assert wanted["ecs.service"].value == ("multi-user.target.wants",)


def test_without_systemd_nothing_is_said_about_what_runs(made: Machine) -> None:
    found = units.collect(made.host)
    assert "unit" not in found.fields
    assert "unit" not in found.missing


def test_a_systemd_that_does_not_answer_is_told(made: Machine) -> None:
    (made.root / "run/systemd/system").mkdir(parents=True)
    assert "D-Bus" in units.collect(made.host).missing["unit"]


@pytest.mark.parametrize(
    ("active", "sub", "expected"),
    [
        ("active", "running", "runs"),
        ("activating", "auto-restart", "runs"),
        ("activating", "start", "runs"),
        ("active", "exited", "done"),
        ("failed", "failed", "failed"),
        ("inactive", "dead", "off"),
    ],
)
def test_a_crash_loop_does_not_flicker(active: str, sub: str, expected: str) -> None:
    assert units.coarse(active, sub) == expected


class FakeConnection:
    """systemd's answers as jeepney unpacks them."""

    def call(self, _name: str, path: str, _interface: str, method: str, *args: object) -> object:
        if method == "ListUnitsByPatterns":
            return ([
                ("ecs.service", "", "loaded", "activating", "auto-restart", "", "/ecs"),
                ("backup.service", "", "loaded", "inactive", "dead", "", "/backup"),
                ("backup.timer", "", "loaded", "active", "waiting", "", "/timer"),
                ("gone.service", "", "not-found", "inactive", "dead", "", "/gone"),
            ],)  # fmt: skip
        if method == "Get":
            return (("u", 6868),)
        return (
            [("/usr/lib/systemd/system/ecs.service", "enabled"), ("/run/x.mount", "generated")],
        )


def test_units_over_d_bus_with_restarts_and_what_timers_start() -> None:
    found = Found()
    units._over_dbus(FakeConnection(), found)  # type: ignore[arg-type]
    assert found.fields["unit"]["ecs.service"].value == "runs"
    assert found.fields["unit"]["ecs.service"].kind == "state"
    assert found.fields["unit"]["backup.service"].kind == "load"
    assert "gone.service" not in found.fields["unit"]
    assert found.fields["unit_restarts"]["ecs.service"].value == 6868
    assert {n: f.value for n, f in found.fields["unit_enabled"].items()} == {
        "ecs.service": "enabled"
    }
