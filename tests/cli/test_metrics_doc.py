from __future__ import annotations

from pathlib import Path

from exhume.cli.metrics_doc import FILE, metrics_doc
from exhume.cli.written import outdated
from exhume.export.metric_list import METRICS

ROOT = Path(__file__).parents[2]


def test_docs_metrics_is_current() -> None:
    assert outdated(metrics_doc(), ROOT) == [], "python -m exhume.cli.metrics_doc writes it"


def test_every_metric_has_its_line() -> None:
    text = metrics_doc()[FILE]
    for metric in METRICS:
        assert f"| `{metric.sample}` | {metric.kind} |" in text
