from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.diagnose.checks import kernel_risks, merged, poor_success, risks_now
from exhume.model.case import Risk
from exhume.model.check import NodeNow, UnitNow
from exhume.model.container import Container
from exhume.model.evidence import IrqLine
from tests.diagnose.made_up import lifecycle

DAY = 86_400.0
CLEAN = NodeNow("6.18.1", DAY, 8, (), (), 0, ())


def queue(number: int, core: int | None, per_second: float = 50.0) -> IrqLine:
    return IrqLine(str(30 + number), f"eth0-Tx-Rx-{number}", "eth0", number, "tx+rx", core,
                   per_second, per_second)  # fmt: skip


def kinds(now: NodeNow) -> list[tuple[str, str]]:
    return [(one.kind, one.subject) for one in risks_now(now)]


def test_a_quiet_node_has_no_risks() -> None:
    units = (
        UnitNow("sshd.service", "active", "running", "success", 0, "enabled"),
        UnitNow("once.service", "inactive", "dead", "success", 0, "static"),
        UnitNow("flaky.service", "active", "running", "success", 9, "enabled"),
    )
    assert risks_now(replace(CLEAN, units=units)) == ()


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        (UnitNow("a", "activating", "auto-restart", "exit-code", 3, "enabled"), "crash-loop"),
        (UnitNow("a", "active", "running", "success", 240, "enabled"), "crash-loop"),
        (UnitNow("a", "failed", "failed", "exit-code", 0, "enabled"), "failing-agent"),
        (UnitNow("a", "activating", "auto-restart", "signal", 1, "enabled"), "failing-agent"),
        (UnitNow("a", "failed", "failed", "timeout", 0, "static"), "poor-success"),
    ],
)
def test_a_unit_that_dies_is_a_risk(unit: UnitNow, kind: str) -> None:
    assert kinds(replace(CLEAN, units=(unit,))) == [(kind, "a")]


def test_ten_restarts_in_a_month_are_no_loop_and_in_an_hour_are() -> None:
    unit = UnitNow("a", "active", "running", "success", 10, "enabled")
    assert kinds(replace(CLEAN, units=(unit,), uptime_seconds=30 * DAY)) == []
    assert kinds(replace(CLEAN, units=(unit,), uptime_seconds=3600.0)) == [("crash-loop", "a")]


def test_a_name_in_a_command_is_one_word_of_the_shell() -> None:
    unit = UnitNow("a;reboot .service", "failed", "failed", "exit-code", 0, "enabled")
    (risk,) = risks_now(replace(CLEAN, units=(unit,)))
    assert risk.check == "systemctl status 'a;reboot .service'"


def test_a_container_that_restarts_is_a_risk() -> None:
    calm = Container("1" * 64, "web", "web:1", "docker", "running", 0, 2)
    loop = Container("2" * 64, "agent", "agent:1", "docker", "restarting", 0, 4)
    pod = Container("3" * 64, "sidecar", "s:1", "containerd", "running", 0, 300)
    found = risks_now(replace(CLEAN, containers=(calm, loop, pod)))
    assert [one.subject for one in found] == ["sidecar", "agent"]
    assert found[0].check == "crictl logs --tail 20 333333333333"


def test_zombies_are_a_risk_with_the_time_when_they_will_matter() -> None:
    (risk,) = risks_now(replace(CLEAN, zombies=24_000))
    assert risk.figures == {"zombies": 24_000, "growth_per_hour_of_uptime": 1000.0}
    # 71,429 of them take 5 s: 47,429 more, at 1,000 an hour.
    assert "would take 5 s in about 47.4 hours (assuming 0.07 ms a zombie" in risk.claim


def test_so_many_zombies_that_they_matter_now() -> None:
    (risk,) = risks_now(replace(CLEAN, zombies=80_000))
    assert risk.claim.endswith("would take 5 s now (assuming 0.07 ms a zombie, as on bare metal)")


@pytest.mark.parametrize(("zombies", "uptime"), [(1_500, DAY), (40, 60.0)])
def test_a_few_zombies_are_no_risk(zombies: int, uptime: float) -> None:
    assert kinds(replace(CLEAN, zombies=zombies, uptime_seconds=uptime)) == []


@pytest.mark.parametrize(("kernel", "count"), [("4.19.0", 1), ("5.4.0-1146-aws", 1), ("5.8", 0),
                                               ("6.18.44", 0), ("", 0)])  # fmt: skip
def test_only_kernels_that_walk_zombies_without_a_break_are_named(kernel: str, count: int) -> None:
    assert len(list(kernel_risks(kernel))) == count


def test_all_queues_on_one_core_are_a_risk() -> None:
    together = tuple(queue(number, 3) for number in range(4))
    assert kinds(replace(CLEAN, lines=together)) == [("interrupt-imbalance", "eth0")]
    spread = tuple(queue(number, number) for number in range(4))
    assert kinds(replace(CLEAN, lines=spread)) == []


def test_what_ends_badly_more_often_than_well_is_a_risk_unless_it_is_a_loop_already() -> None:
    poor = lifecycle("unit", "job.service", 8, "healthy", success_percent_of_known_ends=25.0)
    good = replace(poor, name="good.service", success_percent_of_known_ends=90.0)
    rare = replace(poor, name="rare.service", starts=2)
    loop = replace(poor, name="loop.service", mark="crash loop")
    (risk,) = poor_success([poor, good, rare, loop])
    assert risk.subject == "job.service"
    assert "8 times and ended well 25 % of the time" in risk.claim


def test_one_thing_is_told_once_by_who_knows_most() -> None:
    recorded = Risk("crash-loop", "started 360 times", "a", {}, "")
    seen = Risk("failing-agent", "is enabled and fails", "a", {}, "")
    other = Risk("failing-agent", "is enabled and fails", "b", {}, "")
    assert merged([recorded], [seen, other]) == (recorded, other)
    held, plain = (Risk("zombie-cgroups", "", name, {}, "") for name in ("/system.slice", ""))
    assert merged([held], [plain]) == (held,)
