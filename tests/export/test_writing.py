from __future__ import annotations

import json
from pathlib import Path

import pytest

from exhume import export
from exhume.errors import ExhumeError
from exhume.export import firefox, pprof
from exhume.export.holding import held
from exhume.export.words import described, window_text
from exhume.export.writing import Options
from exhume.model.answers import Filter
from exhume.model.window import Window
from exhume.store import queries
from tests.export.made import WINDOW, event, recording, segment
from tests.store.make import SECOND, T0, at, by_hand

SAMPLED = [name for name in export.FORMATS if name != "csv"]


@pytest.mark.parametrize("format_", export.FORMATS)
def test_every_format_can_be_made_of_any_window(format_: str, tmp_path: Path) -> None:
    found = recording(tmp_path)
    made = export.make(format_, found, WINDOW)
    assert made.count == (40 if format_ == "csv" else 310)
    assert b"".join(made.pieces)
    empty = export.make(format_, found, at(20, 5))
    assert empty.count == 0 or format_ == "csv"
    b"".join(empty.pieces)


@pytest.mark.parametrize("format_", SAMPLED)
@pytest.mark.parametrize(
    ("wanted", "samples"),
    [
        (Filter(comms=("kubelet",)), 210),
        (Filter(comms=("worker",)), 10),
        (Filter(units=("kubelet.service",)), 210),
        (Filter(cores=(0, 3)), 110),
        (Filter(modes=("system",), tids=(10,)), 200),
    ],
)
def test_filters_choose_the_same_samples_in_every_format(
    format_: str, wanted: Filter, samples: int, tmp_path: Path
) -> None:
    assert export.make(format_, recording(tmp_path), WINDOW, wanted).count == samples


def test_shares_of_one_core_are_of_the_time_that_was_sampled(tmp_path: Path) -> None:
    found, asked = recording(tmp_path), at(-10, 30)
    seconds = queries.seconds_sampled(found, asked)
    assert seconds == queries.top(found, asked).seconds_recorded == 10
    assert b"3.10 s of core time, 31.0 % of one core" in export.write("svg", found, asked)


@pytest.mark.parametrize("format_", ["speedscope", "firefox"])
def test_what_is_longer_than_the_recording_is_no_month_of_nothing(
    format_: str, tmp_path: Path
) -> None:
    found = recording(tmp_path)
    made = export.make(format_, found, at(-30 * 86_400, 60 * 86_400), Filter(), Options(by="core"))
    assert made.window == at(0, 10)
    text = b"".join(made.pieces)
    assert text == export.write(format_, found, at(0, 10), options=Options(by="core"))


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ExhumeError, match="there is no format 'xml'") as error:
        export.write("xml", None, WINDOW)  # type: ignore[arg-type]
    assert "speedscope" in error.value.todo


def test_a_window_with_too_many_samples_says_how_much_would_fit(tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match="more than 100 samples in 2026-11-15") as error:
        held(recording(tmp_path), WINDOW, Filter(), "firefox", 100)
    assert "about 3 s fit" in error.value.todo
    assert "folded and svg windows of any length" in error.value.todo


def test_more_stacks_than_pprof_can_hold_lose_detail_before_they_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = (("app", "main"),)
    threads = ((10, 10, "app", ""), (10, 11, "app", ""), (20, 20, "app", ""))
    samples = [(core, 1 + core / 10 + thread, thread, 0) for core in (0, 1) for thread in range(3)]
    found = recording(tmp_path, by_hand(samples, stacks=stacks, threads=threads))
    for most, note in ((6, ""), (3, "no labels for cores"), (2, "no labels for cores and threads")):
        monkeypatch.setattr(pprof, "MAX_ROWS", most)
        made = export.make("pprof", found, WINDOW)
        assert (made.count, "".join(made.notes)[-len(note) or 99 :]) == (6, note)
    monkeypatch.setattr(pprof, "MAX_ROWS", 1)
    with pytest.raises(ExhumeError, match="more than 1 stacks, by process"):
        export.make("pprof", found, WINDOW)


def test_exec_and_exit_go_first_where_events_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tuple(event(n / 10, "exec", f"p{n}") for n in range(50))
    events += tuple(event(5 + n, "unit-start", f"u{n}") for n in range(4))
    found = recording(tmp_path, segment(events))
    assert len(queries.events(found, WINDOW)) == 54
    for most, kinds in ((60, 54), (10, 4), (3, 3)):
        monkeypatch.setattr(firefox, "MAX_EVENTS", most)
        made = export.make("firefox", found, WINDOW)
        file = json.loads(b"".join(made.pieces))
        assert file["threads"][0]["markers"]["length"] == kinds
        assert bool(made.notes) == (most < 54)


def test_windows_and_filters_are_told_in_words() -> None:
    assert window_text(Window(T0, T0 + 5 * SECOND)) == "2026-11-15 20:10:00 – 20:10:05 UTC"
    over_night = Window(T0, T0 + 6 * 3600 * SECOND + SECOND // 2)
    assert window_text(over_night) == "2026-11-15 20:10:00.000 – 2026-11-16 02:10:00.500 UTC"
    wanted = Filter(cores=(3, 39), comms=("a\x1bb",))
    assert described(wanted) == "core 3 or 39, comm a\\x1bb"
    assert described(Filter()) == ""
