from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.cli.render.core_events import in_words, marks
from exhume.cli.render.core_words import CoresAnswer
from exhume.cli.render.cores import plot_width, render
from exhume.derive.bursts import bursts
from exhume.model.answers import MAP_MODES, EventAnswer
from tests.cli.made_up import HOSTILE, VIEW, assert_harmless, core_map, drawn, look

MAP = core_map(96, 600, plot_width(120), burst=(39, 240, 6))
START = MAP.window.start_ns
NS = 1_000_000_000


def event(second: float, kind: str = "kernel-log", subject: str = "eth0", text: str = "TX q 5 is "
          "paused for too long", known: bool = True) -> EventAnswer:  # fmt: skip
    fields: dict[str, str | int | float] = {"class": "netdev-reset", "signature": "ena"}
    return EventAnswer(
        START + round(second * NS), kind, subject, text, None, None, 1,
        fields if known and kind == "kernel-log" else {},
    )  # fmt: skip


def shown(*events: EventAnswer, width: int = 120, height: int = 40) -> str:
    made = MAP if width == 120 else core_map(96, 600, plot_width(width))
    answer = CoresAnswer(made, MAP_MODES, bursts(made), events=events)
    return drawn(render(answer, VIEW, look(width, height)), width)


def test_each_event_is_marked_in_its_column() -> None:
    events = [event(0), event(300, "core-offline", "3", ""), event(599.9)]
    line = marks(events, MAP.window, 100).plain
    assert len(line) == 100
    assert (line[0], line[50], line[99]) == ("▲", "△", "▲")
    assert line.replace(" ", "") == "▲△▲"


def test_where_several_meet_the_worst_shows() -> None:
    both = [event(300, "rate", "recorder", "slower"), event(300.5)]
    assert marks(both, MAP.window, 60).plain.strip() == "▲"
    assert marks([event(-5), event(700)], MAP.window, 60).plain.strip() == ""


@pytest.mark.parametrize("width", [80, 120, 200])
def test_marks_stand_above_the_map_and_words_below(width: int) -> None:
    text = shown(event(246), event(247), event(260, "unit-failed", "a.service", "x"), width=width)
    lines = text.splitlines()
    row = next(index for index, line in enumerate(lines) if line.startswith("events "))
    assert "▲" in lines[row]
    assert lines[row].rstrip().endswith("3 events")
    assert lines[row][7:].index("▲") == 246 * plot_width(width) // 600
    said = next(line for line in lines if "▲ 03:14:06 kernel-log eth0: TX q 5 is" in line)
    assert said.rstrip().endswith("× 2")
    assert max(map(len, lines)) <= width


def test_many_kinds_of_lines_are_told_briefly() -> None:
    many = [event(second, subject=f"eth{second}") for second in range(9)]
    assert "and 6 other kinds of lines; 'exhume events' lists them" in shown(*many)


def test_without_events_there_is_no_line() -> None:
    assert "events" not in shown()


def test_words_take_their_room_from_the_rows() -> None:
    busy = core_map(96, 60, 60)
    busy.worst_percent_of_core[:] = 90
    answer = CoresAnswer(busy, MAP_MODES, bursts(busy), events=(event(100),))
    inside = replace(answer, events=(replace(event(0),
                                 wall_ns=busy.window.start_ns),))  # fmt: skip
    text = drawn(render(inside, VIEW, look(120, height=40)), 120)
    assert len(text.splitlines()) <= 40


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_words_stay_words(name: str) -> None:
    assert_harmless(shown(event(10, subject=name, text=name)))


def test_the_worst_are_told_first() -> None:
    words = in_words([event(1, "rate", "recorder", "slower"), event(9)], VIEW, 0, 100)
    assert [line.plain[0] for line in words] == ["▲", "△"]
