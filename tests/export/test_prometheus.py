"""What is written is what Prometheus' own client library reads back."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as read_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as read_plain

from exhume.export.prometheus import MAX_VALUE, Family, Kind, Metric, clean, text, wants_openmetrics

HOSTILE = ('"', "\\", "\n", '\\n"', "}", "# EOF", "a\r\nb", "\x00", "\x1b[31m", "\u2028", "\ud800")
VALUES = st.text(max_size=40) | st.sampled_from((*HOSTILE, "é" * 300))
NUMBERS = st.floats(0, 1e300) | st.integers(0, 1 << 62)
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8)


@st.composite
def families(draw: st.DrawFn) -> list[Family]:
    found = []
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        kind: Kind = "counter" if draw(st.booleans()) else "gauge"
        labels = tuple(draw(st.lists(st.sampled_from(("name", "mode", "kind")), unique=True)))
        unit = draw(st.sampled_from(("", "seconds")))
        full = f"exhume_{name}_{unit}" if unit else f"exhume_{name}_x"
        keys = st.tuples(*(VALUES.map(clean) for _ in labels))
        values = draw(st.dictionaries(keys, NUMBERS, max_size=4))
        help_ = draw(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"))))
        found.append(Family(Metric(full, kind, help_, labels, unit), values))
    return found


def read(written: str, *, openmetrics: bool) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    parse = read_openmetrics if openmetrics else read_plain
    for family in parse(written):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            known = found.setdefault(sample.name, {})
            assert labels not in known
            known[labels] = float(sample.value)
    return found


@settings(deadline=None, max_examples=80)
@given(families(), st.dictionaries(st.sampled_from(("zone", "pool")), VALUES), st.booleans())
def test_every_sample_is_read_back_as_it_was(
    made: list[Family], labels: dict[str, str], openmetrics: bool
) -> None:
    added = {name: clean(value) for name, value in labels.items()}
    wanted = {
        family.metric.sample: {
            tuple(sorted({**dict(zip(family.metric.labels, key, strict=True)), **added}.items())):
                float(value)
            for key, value in family.values.items()
        }
        for family in made
        if family.values
    }  # fmt: skip
    assert read(text(made, labels, openmetrics=openmetrics), openmetrics=openmetrics) == wanted


@given(VALUES)
def test_a_cleaned_name_is_short_and_plain_and_stays_as_it_is(value: str) -> None:
    cleaned = clean(value)
    assert len(cleaned) <= MAX_VALUE
    assert clean(cleaned) == cleaned
    assert not any(ord(letter) < 32 and letter != "\n" for letter in cleaned)
    cleaned.encode("utf-8")


def test_openmetrics_has_units_and_an_end_and_names_the_family_without_its_suffix() -> None:
    metric = Metric("exhume_cpu_seconds", "counter", 'Of "one"\ncore.', (), "seconds")
    made = [Family(metric, {(): 1.5})]
    assert text(made, {}, openmetrics=True) == (
        '# HELP exhume_cpu_seconds Of \\"one\\"\\ncore.\n'
        "# TYPE exhume_cpu_seconds counter\n"
        "# UNIT exhume_cpu_seconds seconds\n"
        "exhume_cpu_seconds_total 1.5\n"
        "# EOF\n"
    )
    assert text(made, {}, openmetrics=False) == (
        '# HELP exhume_cpu_seconds_total Of "one"\\ncore.\n'
        "# TYPE exhume_cpu_seconds_total counter\n"
        "exhume_cpu_seconds_total 1.5\n"
    )


def test_what_is_no_number_is_written_as_prometheus_wants_it() -> None:
    metric = Metric("x", "gauge", "x", ("n",))
    values: dict[tuple[str, ...], float] = {
        ("a",): math.inf,
        ("b",): -math.inf,
        ("c",): math.nan,
        ("d",): 1e20,
    }
    lines = text([Family(metric, values)], {}, openmetrics=False).splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["+Inf", "-Inf", "NaN", "1e+20"]


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
         "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
        ("text/plain, application/openmetrics-text;q=0.5", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=nonsense", False),
        ("," * 5000, False),
    ],
)  # fmt: skip
def test_openmetrics_is_for_those_who_ask_for_it(accept: str, wanted: bool) -> None:
    assert wants_openmetrics(accept) is wanted
