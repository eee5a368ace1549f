from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.cli.figures import NS
from exhume.cli.render.core_words import CoresAnswer, summary
from exhume.cli.render.cores import plot_width, render
from exhume.cli.times import Viewpoint
from exhume.derive.bursts import bursts
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.window import Window
from tests.cli.made_up import (
    BERLIN,
    HOSTILE,
    NOW_NS,
    VIEW,
    assert_harmless,
    core_map,
    drawn,
    look,
)

BURST = (39, 240, 6)


def answer(core_map: CoreMap, fine: CoreMap | None = None) -> CoresAnswer:
    return CoresAnswer(core_map, MAP_MODES, bursts(fine or core_map))


def big(width: int) -> CoresAnswer:
    """96 cores, ten minutes; on core 39 six seconds of system time."""
    return answer(
        core_map(96, 600, plot_width(width), burst=BURST), core_map(96, 600, 600, burst=BURST)
    )


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def row(text: str, label: str) -> str:
    return next(line for line in lines(text) if re.match(rf" *{re.escape(label)} ", line))


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize(
    ("cores", "seconds"), [(2, 60), (2, 43_200), (8, 600), (96, 60), (96, 600)]
)
def test_every_line_fits_the_screen_and_the_map_fills_it(
    width: int, cores: int, seconds: int
) -> None:
    columns = min(plot_width(width), seconds)
    made = answer(core_map(cores, seconds, columns, burst=(1, 20, 6)))
    text = drawn(render(made, VIEW, look(width)), width)
    assert max(len(line) for line in text.splitlines()) <= width
    axis = next(line for line in lines(text) if "┬" in line)
    assert len(axis) == 7 + plot_width(width)
    assert width - 30 <= len(axis) <= width


@pytest.mark.parametrize("width", [80, 200])
def test_a_burst_of_six_seconds_is_seen_in_ten_minutes_of_96_cores(width: int) -> None:
    text = drawn(render(big(width), VIEW, look(width)), width)
    assert re.search(r"S+", row(text, "39"))
    assert re.search(r"100 % system  from 03:1[34]:\d\d$", row(text, "39"))
    said = " ".join(text.split())
    assert "Core 39 was ≥ 95 % busy (system) for 6 s from 03:14:00 while the node mean was" in said


def test_a_burst_of_six_seconds_is_seen_in_twelve_hours() -> None:
    night = core_map(12, 43_200, plot_width(120), burst=(9, 20_000, 6))
    text = drawn(render(answer(night), VIEW, look(120)), 120)
    assert "S" in row(text, "9")
    assert "One column is 8 m 34 s" in text


def test_the_mean_that_lies_stands_above_the_worst_core() -> None:
    text = drawn(render(big(120), VIEW, look(120)), 120)
    mean, worst = row(text, "mean"), row(text, "worst")
    assert "█" not in mean
    assert "█" in worst
    assert re.search(r"\b2\d % +at most 2\d %$", mean)
    assert worst.endswith("100 %  core 39")


def test_of_many_cores_that_were_full_once_the_one_that_was_so_often_is_the_worst() -> None:
    node = core_map(12, 60, 60, burst=(9, 20, 6))
    node.worst_percent_of_core[:, 0] = 100
    text = drawn(render(answer(node), VIEW, look(120)), 120)
    assert row(text, "worst").endswith("100 %  core 9")


def test_a_column_of_one_second_has_its_time_and_a_wider_one_only_its_start() -> None:
    burst = (1, 20, 1)
    exact = drawn(render(answer(core_map(2, 60, 60, burst=burst)), VIEW, look(120)), 120)
    assert row(exact, "1").endswith("100 % system  03:19:20")
    wide = drawn(render(answer(core_map(2, 60, 6, burst=burst)), VIEW, look(120)), 120)
    assert row(wide, "1").endswith("100 % system  from 03:19:20")
    (said,) = summary(answer(core_map(2, 60, 6)), VIEW)
    assert re.search(r"within 10 s from 03:19:\d\d;", said)


@pytest.mark.parametrize("width", [44, 60, 80])
def test_nothing_that_is_said_is_cut_where_the_screen_is_narrow(width: int) -> None:
    node = core_map(96, 600, plot_width(width), burst=BURST)
    text = drawn(render(answer(node), VIEW, look(width)), width)
    assert max(len(line) for line in text.splitlines()) <= width
    said = " ".join(text.split())
    for whole in ("all seconds of all cores.", "· not recorded", "█ user", "--all shows each"):
        assert whole in said
    assert re.search(r"from \d\d:\d\d(:\d\d)?$", row(text, "39"))


def test_quiet_cores_are_folded_into_one_row_unless_all_are_wanted() -> None:
    made = big(120)
    text = drawn(render(made, VIEW, look(120)), 120)
    assert row(text, "+88")
    assert "quieter cores, at most 6" in text
    every = drawn(render(made, VIEW, look(120), everything=True), 120)
    assert all(row(every, str(core)) for core in range(96))
    assert "+88" not in every


def test_more_hot_cores_than_lines_are_folded_too() -> None:
    busy = core_map(96, 60, 60)
    busy.worst_percent_of_core[:] = 90
    text = drawn(render(answer(busy), VIEW, look(120, height=40)), 120)
    assert len(lines(text)) <= 40
    assert "+74: quieter cores, at most 90 %" in text


def test_rows_can_be_sorted_by_heat() -> None:
    text = drawn(render(big(120), VIEW, look(120), sort="heat"), 120)
    labels = [int(m[1]) for line in lines(text) if (m := re.match(r" {3,5}(\d+) \S", line))]
    assert labels[0] == 39
    numbered = drawn(render(big(120), VIEW, look(120)), 120)
    labels = [int(m[1]) for line in lines(numbered) if (m := re.match(r" {3,5}(\d+) \S", line))]
    assert labels == sorted(labels)


def test_what_was_not_recorded_is_a_dot_and_never_zero() -> None:
    made = answer(core_map(12, 60, 60, gap=(10, 20)))
    text = drawn(render(made, VIEW, look(120)), 120)
    assert "·····" in row(text, "mean")
    first = next(line for line in lines(text) if re.match(r" +\d+ [░▒▓█ ]", line))
    assert first.count("·") == pytest.approx(plot_width(120) / 3, abs=1)


def test_a_core_never_recorded_says_so() -> None:
    part = core_map(2, 60, 60)
    part.worst_percent_of_core[1] = np.nan
    assert row(drawn(render(answer(part), VIEW, look(120)), 120), "1").endswith("not recorded")


def test_nothing_recorded_at_all_is_said_in_words() -> None:
    nothing = core_map(2, 60, 60, gap=(0, 60))
    assert "No core was recorded" in drawn(render(answer(nothing), VIEW, look(80)), 80)


def test_two_cores_get_two_lines_each() -> None:
    text = drawn(render(answer(core_map(2, 60, 60, burst=(1, 20, 6))), VIEW, look(120)), 120)
    with_letters = [line for line in lines(text) if "SSSSSS" in line]
    assert len(with_letters) == 2


def test_a_calm_node_is_told_as_such() -> None:
    words = summary(answer(core_map(4, 60, 60)), VIEW)
    assert len(words) == 1
    assert words[0].startswith("No core reached 95 % in any second. The busiest was core ")


def test_many_bursts_are_told_briefly() -> None:
    busy = core_map(96, 60, 60)
    busy.worst_percent_of_core[:] = 100
    words = summary(answer(busy), VIEW)
    assert len(words) == 5
    assert words[-1].startswith("And 92 more bursts on 92 cores")


def test_coarse_columns_do_not_claim_whole_minutes() -> None:
    coarse = core_map(4, 3600, 30, burst=(1, 240, 6))
    (sentence,) = summary(answer(coarse), VIEW)
    assert "in some seconds between 02:24:00 and 02:26:00" in sentence


def test_the_axis_has_round_times_of_the_zone() -> None:
    made = answer(core_map(2, 600, 89))
    text = drawn(render(made, Viewpoint(NOW_NS, BERLIN), look(120)), 120)
    assert "05:10" in text
    assert "CEST" in text
    night = drawn(render(answer(core_map(2, 43_200, 89)), VIEW, look(120)), 120)
    assert re.search(r"16:00 +18:00 +20:00", night)


@pytest.mark.parametrize(("days", "when"), [(3, "04-28 09:05"), (400, "2023-04-29")])
def test_where_a_window_is_longer_than_a_day_the_worst_second_has_its_date(
    days: int, when: str
) -> None:
    short = core_map(2, 600, 600, burst=(1, 48, 6))
    made = replace(short, window=Window(NOW_NS - days * 86_400 * NS, NOW_NS))
    text = drawn(render(answer(made), VIEW, look(80)), 80)
    assert row(text, "1").endswith(when)
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_core_that_did_nothing_idled() -> None:
    quiet = core_map(2, 60, 30, level=0.01)
    quiet.worst_percent_of_core[1], quiet.worst_mode[1] = 0.0, -1
    text = drawn(render(answer(quiet), VIEW, look(80)), 80)
    assert "  0 % idle    from" in row(text, "1")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_notes_stay_notes(name: str) -> None:
    made = replace(answer(core_map(2, 60, 60)), notes=(name,))
    assert_harmless(drawn(render(made, VIEW, look(80)), 80))


def test_colour_changes_no_letter() -> None:
    made = big(120)
    plain = drawn(render(made, VIEW, look(120)), 120)
    coloured = drawn(render(made, VIEW, look(120, colour=True)), 120, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert coloured.count("48;2;") > 50
