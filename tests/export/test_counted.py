"""Samples of events that are no time on a core (faults, switches): no file may call them that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exhume import export
from exhume.model.sample import Stretch
from exhume.store.recording import Recording
from tests.export.firefox_format import check as check_firefox
from tests.export.made import WINDOW, recording
from tests.export.test_pprof import check as check_pprof
from tests.export.test_pprof import read
from tests.export.test_speedscope import check as check_speedscope
from tests.store.make import START, by_hand


@pytest.fixture
def faults(tmp_path: Path) -> Recording:
    samples = [(0, 1 + n / 100, 0, 0) for n in range(250)] + [(1, 2 + n, 0, 1) for n in range(5)]
    data = by_hand(
        samples,
        stacks=(("app", "main"), ("app", "k_read")),
        stretches=(Stretch(START, "page-faults", 1000.0),),
    )
    return recording(tmp_path, data)


@pytest.mark.parametrize("name", [name for name in export.FORMATS if name != "csv"])
def test_it_is_said_of_every_format(faults: Recording, name: str) -> None:
    made = export.make(name, faults, WINDOW)
    assert made.count == 255
    assert [note for note in made.notes if note.startswith("page-faults is no measure of time")]


def test_pprof_has_their_number_only(faults: Recording) -> None:
    found = read(export.write("pprof", faults, WINDOW))
    check_pprof(found)
    text = found.string_table
    assert [(text[one.type], text[one.unit]) for one in found.sample_type] == [("samples", "count")]
    assert text[found.default_sample_type] == "samples"
    assert found.period == 0
    assert sorted(tuple(one.value) for one in found.sample) == [(5,), (250,)]


@pytest.mark.parametrize("by", ["process", "thread", "core"])
def test_speedscope_counts_them(faults: Recording, by: str) -> None:
    file = json.loads(export.write("speedscope", faults, WINDOW, options=export.Options(by=by)))
    check_speedscope(file)
    assert {one["unit"] for one in file["profiles"]} == {"none"}
    assert sum(one["endValue"] for one in file["profiles"]) == 255
    assert all(stack for one in file["profiles"] for stack in one["samples"])


def test_firefox_counts_them_and_shows_no_cpu_use(faults: Recording) -> None:
    file = json.loads(export.write("firefox", faults, WINDOW))
    check_firefox(file)
    tables = [one["samples"] for one in file["threads"]]
    assert {table["weightType"] for table in tables} == {"samples"}
    assert [sum(table["weight"]) for table in tables] == [0, 250, 5, 255]
    assert not any("threadCPUDelta" in table for table in tables)


def test_the_svg_tells_no_seconds(faults: Recording) -> None:
    text = export.write("svg", faults, WINDOW).decode()
    assert "255 samples of page-faults<" in text
    assert "98.04 %, 250 samples" in text
    assert " s, " not in text
    assert "core time" not in text
