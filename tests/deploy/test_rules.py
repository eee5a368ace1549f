"""The files of deploy/: what they ask for is there, and promtool agrees with the rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exhume.cli.main import COMMANDS
from exhume.derive import signatures
from exhume.export.metric_list import METRICS

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "exhume.rules.yml"
RULE_TESTS = DEPLOY / "prometheus" / "exhume.rules.test.yml"
DASHBOARD = DEPLOY / "grafana" / "exhume.json"
SAMPLES = {metric.sample: metric for metric in METRICS}
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="needs promtool (package prometheus)"
)


def promtool(*arguments: str) -> None:
    ran = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False,
                         timeout=60)  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_promtool
def test_the_rules_are_valid() -> None:
    promtool("check", "rules", str(RULES))


@needs_promtool
def test_the_rules_fire_for_the_ill_and_not_for_the_well() -> None:
    promtool("test", "rules", str(RULE_TESTS))


def check_names(text: str) -> None:
    """Every metric that is named exists, with the labels that are chosen by."""
    found = re.findall(r"\b(exhume_\w+)(?:\{([^}]*)\})?", text)
    assert found
    for name, chosen in found:
        assert name in SAMPLES, f"there is no metric {name}"
        labels = {*SAMPLES[name].labels, "instance", "kind", "name"}
        assert set(re.findall(r"(\w+)(?:=~|!=|!~|=)", chosen)) <= labels, (name, chosen)


def test_the_rules_ask_for_metrics_that_there_are() -> None:
    check_names(RULES.read_text(encoding="utf-8"))


def test_the_classes_of_the_rules_are_those_of_signatures() -> None:
    known = {one.cls for one in (*signatures.kernel_log(), *signatures.job_log())}
    named = re.findall(r'class=~"([^"]+)"', RULES.read_text(encoding="utf-8"))
    assert named
    assert {one for choice in named for one in choice.split("|")} <= known


def test_every_alert_has_a_runbook_that_names_a_command_there_is() -> None:
    alerts = RULES.read_text(encoding="utf-8").split("- alert: ")[1:]
    assert len(alerts) >= 10
    for alert in alerts:
        runbook = alert.partition("runbook:")[2]
        commands = re.findall(r"exhume (\w+)", runbook)
        assert set(commands) & {name for name, _ in COMMANDS}, alert.splitlines()[0]


def test_the_dashboard_asks_for_metrics_that_there_are_and_leaves_none_out() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for expression in asked:
        check_names(expression)
    shown = " ".join([*asked, json.dumps(dashboard["templating"])])
    beside = {"exhume_node_info", "exhume_scrape_duration_seconds",
              "exhume_diagnosis_cpu_seconds_total",
              "exhume_recorder_lost_records_total",
              "exhume_recorder_last_second_timestamp_seconds", "exhume_core_utilisation_worst_core",
              "exhume_network_thread_run_delay_seconds_total",
              "exhume_recorder_sampling_rate_hertz"}  # fmt: skip
    assert {name for name in SAMPLES if name not in shown} == beside


def test_panels_have_places_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    cells = [
        (place["x"] + column, place["y"] + row)
        for place in (panel["gridPos"] for panel in panels)
        for column in range(place["w"])
        for row in range(place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
