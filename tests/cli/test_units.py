from __future__ import annotations

from pathlib import Path

import pytest

from exhume.cli.main import main
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


def test_what_the_kubelet_says_loops_is_told_of_though_nobody_counted_its_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = (
        '2345 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \\"StartContainer'
        '\\" for \\"agent\\" with CrashLoopBackOff: \\"back-off 5m0s restarting failed '
        'container=agent pod=agent-x7k2p_kube-system(8f0d)\\"" pod="kube-system/agent-x7k2p"'
    )
    times = [f"20:{second // 60:02}:{second % 60:02}" for second in range(0, 600, 20)]
    log, data = tmp_path / "kubelet.log", str(tmp_path / "data")
    log.write_text("".join(f"E1115 {time}.123456    {said}\n" for time in times))
    assert main(["import", str(log), "--into", data]) == 0
    capsys.readouterr()
    assert main(["units", "--data", data]) == 0
    told = capsys.readouterr().out
    assert "Nothing loops" not in told
    assert "Container kube-system/agent-x7k2p/agent: whoever starts it waits" in told
    assert main(["why", "--data", data]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "agent-x7k2p/agent fails again and again: CrashLoopBackOff, 5m0s" in told


def test_one_look_tells_of_who_was_restarted_a_thousand_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "show.txt").write_text(
        "Id=agent.service\nNRestarts=51234\nResult=exit-code\nActiveState=activating\n"
        "SubState=auto-restart\n\nId=docker.service\nNRestarts=0\nResult=success\n"
        "ActiveState=active\nSubState=running\n"
    )
    (tmp_path / "list.txt").write_text(
        "  UNIT             LOAD   ACTIVE     SUB          DESCRIPTION\n"
        "● gpu-mon.service  loaded failed     failed       GPU monitor\n"
        "  late.service     loaded activating auto-restart Comes late\n"
    )
    (tmp_path / "crictl.txt").write_text(
        "CONTAINER      IMAGE          CREATED         STATE    NAME   ATTEMPT  POD ID        POD\n"
        "b2e4a1c0d9f87  f6bc87c8cd6b3  12 seconds ago  Running  scan   1204     c95c4ab2f08e  n-7\n"
        "93b10093a8263  bea2d277eb715  9 days ago      Running  proxy  0        19d971fe5c47  p-d\n"
    )
    data = str(tmp_path / "data")
    assert main(["import", *map(str, tmp_path.glob("*.txt")), "--into", data]) == 0
    capsys.readouterr()
    assert main(["units", "--data", data]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Unit agent.service: restarted 51,234 times so far." in told
    assert "Container n-7/scan: restarted 1,204 times so far." in told
    assert "late.service waited for the next start when somebody looked" in told
    assert main(["check", "--data", data]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "unit agent.service was restarted 51,234 times so far (crash-loop)" in told
    assert "unit gpu-mon.service failed before somebody looked" in told
    assert "unit late.service had ended, and waited for its next start" in told
