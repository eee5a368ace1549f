"""/metrics over a recording that grows: who may ask, in which format, and that it stays right."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from exhume.config import labels_of, parse_labels
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export.metric_list import METRICS, check_labels
from exhume.model.reading import Reading
from exhume.web.app import make_app
from exhume.web.metrics import FRESH_SECONDS
from tests.store.live import SECOND, Live, event

OPENMETRICS = {"accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """Whose next second ends now, by the wall clock."""
    live = Live(tmp_path / "data", wall_ns=time.time_ns() - 100 * SECOND)
    live.second(*readings(1))
    return live


def readings(value: int) -> tuple[Reading, ...]:
    return (
        Reading.of_each("softnet.dropped", ("0", "1"), [value, 0]),
        Reading.of_node("memcg.zombies", 3),
        Reading.of_each("memcg.held", ('/a"b\\c\n{x="y"}',), [3]),
    )


def client(live: Live, token: str | None = None, **labels: str) -> TestClient:
    app = make_app(live.data, token=token, labels=labels)
    return TestClient(app, base_url="http://127.0.0.1:7471")


def value(text: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    assert found, f"{sample} is not in\n{text}"
    return float(found[1])


def test_counters_go_on_over_scrapes_rotations_and_closed_segments(live: Live) -> None:
    asker = client(live)
    asker.get("/metrics")
    for step in range(3):
        time.sleep(FRESH_SECONDS + 0.05)
        live.second(*readings(11 + 10 * step))
        live.rotate()
        live.close_old_logs()
        text = asker.get("/metrics").text
        assert value(text, "exhume_softnet_dropped_packets_total") == 10 + 10 * step
    assert value(text, "exhume_recorder_up") == 1
    assert value(text, "exhume_memory_cgroups_zombies") == 3
    assert value(text, "exhume_scrape_duration_seconds") > 0


def test_the_format_is_the_one_that_was_asked_for_and_the_time_is_told(live: Live) -> None:
    asker = client(live, zone="a")
    plain = asker.get("/metrics")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert plain.headers["server-timing"].startswith("metrics;dur=")
    assert "# EOF" not in plain.text
    opened = asker.get("/metrics", headers=OPENMETRICS)
    assert opened.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0;")
    families = list(text_string_to_metric_families(opened.text))  # type: ignore[no-untyped-call]
    samples = [sample for family in families for sample in family.samples]
    assert all(sample.labels["zone"] == "a" for sample in samples)
    held = [one.labels["parent"] for one in samples if one.name == "exhume_memory_cgroups_held"]
    assert '/a"b\\c\n{x="y"}' in held
    assert {family.name for family in families} <= {metric.name for metric in METRICS}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (package prometheus)")
def test_promtool_has_nothing_to_complain_of(live: Live) -> None:
    text = client(live, zone="a").get("/metrics").text
    ran = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                         capture_output=True, check=False, timeout=30)  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


def test_who_has_no_token_gets_no_metrics_where_one_is_set(live: Live) -> None:
    asker = client(live, token="secret")
    assert asker.get("/metrics").status_code == 401
    allowed = asker.get("/metrics", headers={"authorization": "Bearer secret"})
    assert allowed.status_code == 200
    assert client(live).get("/metrics", headers={"host": "evil.example"}).status_code == 421
    assert client(live).post("/metrics").status_code == 405


def test_without_a_recording_the_server_says_that_none_is_written(tmp_path: Path) -> None:
    text = TestClient(make_app(tmp_path), base_url="http://127.0.0.1").get("/metrics").text
    assert value(text, "exhume_recorder_up") == 0
    assert "exhume_memory_cgroups_zombies" not in text


@pytest.mark.parametrize("given", ["zone", "=a", ""])
def test_a_label_without_name_or_value_is_a_usage_error(given: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        parse_labels([given])
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize("name", ["__zone", "0zone", "zo ne", "zöne", "mode", "instance", 'a"'])
def test_a_label_that_no_metric_can_have_is_a_usage_error(name: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        check_labels({name: "a"})
    assert caught.value.exit_code == EXIT_USAGE


def test_labels_come_from_the_environment_too() -> None:
    assert labels_of({"EXHUME_LABELS": "zone=a, pool=gpu,"}) == {"zone": "a", "pool": "gpu"}
    assert labels_of({}) == {}
    with pytest.raises(ExhumeError, match="twice"):
        parse_labels(["zone=a", "zone=b"])


def test_an_event_is_counted_with_the_second_that_told_of_it(live: Live) -> None:
    asker = client(live)
    asker.get("/metrics")
    time.sleep(FRESH_SECONDS + 0.05)
    oom = event(live.now_ns, "kernel-log", "java", signature="oom.kill", **{"class": "mem"})
    live.second(events=[oom])
    text = asker.get("/metrics").text
    assert value(text, 'exhume_kernel_events_total{signature="oom.kill",class="mem"}') == 1
