"""Metrics as text: the Prometheus exposition format 0.0.4, and OpenMetrics 1.0.

The two differ in what a counter's family is called (with `_total`, without), in units, in `info`,
and in the end mark. Label values are whatever the machine's names are: escaped here, and only here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["counter", "gauge", "info"]
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
MAX_VALUE = 200
"""Characters of a label value."""
LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_SUFFIX = {"counter": "_total", "gauge": "", "info": "_info"}


class Metric(Struct, frozen=True):
    """A family: what OpenMetrics calls it, without the suffix of its kind."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    """The last word of the name, where it is a unit."""
    source: str = ""
    """The field of the catalogue it is made from; empty where it is made from several."""

    @property
    def sample(self) -> str:
        """What a query asks for."""
        return self.name + _SUFFIX[self.kind]


class Family(Struct, frozen=True):
    metric: Metric
    values: Mapping[tuple[str, ...], float]
    """By the values of the metric's labels."""


def text(families: Iterable[Family], labels: Mapping[str, str], *, openmetrics: bool) -> str:
    """`labels` are added to every sample. A family without samples is left out."""
    lines: list[str] = []
    for family in families:
        if family.values:
            lines += _head(family.metric, openmetrics)
            lines += _samples(family, labels)
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n" if lines else ""


def clean(value: str) -> str:
    """A name as a label value: no control characters, not endless. Idempotent."""
    shown = _CONTROL.sub("\ufffd", value)
    return shown if len(shown) <= MAX_VALUE else shown[: MAX_VALUE - 1] + "…"


def wants_openmetrics(accept: str) -> bool:
    """By an Accept header: is it asked for, and no less than plain text is?"""
    weights = {"application/openmetrics-text": 0.0, "text/plain": 0.0}
    for part in accept[:2000].split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        if kind in weights:
            weights[kind] = max(weights[kind], _weight(parameters))
    asked = weights["application/openmetrics-text"]
    return asked > 0 and asked >= weights["text/plain"]


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                weight = float(parameter[2:])
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0


def _head(metric: Metric, openmetrics: bool) -> list[str]:
    name = metric.name if openmetrics else metric.sample
    kind = "gauge" if metric.kind == "info" and not openmetrics else metric.kind
    about = metric.help.replace("\\", "\\\\").replace("\n", "\\n")
    if openmetrics:
        about = about.replace('"', '\\"')
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    if openmetrics and metric.unit:
        lines.append(f"# UNIT {name} {metric.unit}")
    return lines


def _samples(family: Family, labels: Mapping[str, str]) -> list[str]:
    metric = family.metric
    added = [_pair(name, value) for name, value in labels.items()]
    lines = []
    for values, number in family.values.items():
        own = [_pair(name, value) for name, value in zip(metric.labels, values, strict=True)]
        pairs = ",".join([*own, *added])
        lines.append(f"{metric.sample}{{{pairs}}} {_number(number)}" if pairs
                     else f"{metric.sample} {_number(number)}")  # fmt: skip
    return lines


def _pair(name: str, value: str) -> str:
    escaped = clean(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'{name}="{escaped}"'


def _number(value: float) -> str:
    if isinstance(value, int) or (
        math.isfinite(value) and value == int(value) and abs(value) < 1e15
    ):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
