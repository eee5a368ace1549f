from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.figures import NS
from exhume.cli.times import Viewpoint, local_zone, parse_duration, parse_stretch, parse_time
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.window import Window

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    UTC,
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kolkata"),
    ZoneInfo("Australia/Lord_Howe"),  # its clock moves by half an hour
    ZoneInfo("Pacific/Apia"),
]
INSTANTS = st.integers(0, 4_000_000_000)


def ns(text: str) -> int:
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo is not None
    return round(moment.timestamp()) * NS


NOW = Viewpoint(ns("2024-05-01T12:00:00+00:00"), UTC)
IN_BERLIN = Viewpoint(NOW.now_ns, BERLIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("03:14:07", "2024-05-01T03:14:07+00:00"),
        ("3:14", "2024-05-01T03:14:00+00:00"),
        ("12:00:00", "2024-05-01T12:00:00+00:00"),
        ("12:00:01", "2024-04-30T12:00:01+00:00"),
        ("23:59", "2024-04-30T23:59:00+00:00"),
        ("03:14:07Z", "2024-05-01T03:14:07+00:00"),
        ("03:14:07+02:00", "2024-05-01T01:14:07+00:00"),
        ("13:30+02:00", "2024-05-01T11:30:00+00:00"),
        ("2024-02-29", "2024-02-29T00:00:00+00:00"),
        ("2024-02-29T03:14", "2024-02-29T03:14:00+00:00"),
        ("2024-02-29 03:14:07", "2024-02-29T03:14:07+00:00"),
        ("2024-02-29T03:14:07-0530", "2024-02-29T08:44:07+00:00"),
        ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00+00:00"),
        ("now", "2024-05-01T12:00:00+00:00"),
        ("5m ago", "2024-05-01T11:55:00+00:00"),
        ("2h30m ago", "2024-05-01T09:30:00+00:00"),
        ("2h 30m ago", "2024-05-01T09:30:00+00:00"),
        ("-5m", "2024-05-01T11:55:00+00:00"),
        ("-1d", "2024-04-30T12:00:00+00:00"),
        ("1714532047", "2024-05-01T02:54:07+00:00"),
    ],
)
def test_a_time_is_read_as_a_person_means_it(text: str, expected: str) -> None:
    assert parse_time(text, NOW) == ns(expected)


def test_fractions_are_exact_to_the_nanosecond() -> None:
    assert parse_time("03:14:07.250", NOW) % NS == 250_000_000
    assert parse_time("2024-05-01T03:14:07.123456789Z", NOW) % NS == 123_456_789
    assert parse_time("1714532047.123456789", NOW) == 1_714_532_047_123_456_789


def test_a_bare_clock_time_is_taken_in_the_chosen_zone() -> None:
    assert parse_time("03:14:07", IN_BERLIN) == ns("2024-05-01T01:14:07+00:00")


def test_the_end_of_a_window_comes_after_its_start() -> None:
    start = parse_time("23:50", NOW)
    assert parse_time("00:10", NOW, after_ns=start) - start == 20 * 60 * NS
    dated = parse_time("2024-03-01T23:50", NOW)
    assert parse_time("00:10", NOW, after_ns=dated) - dated == 20 * 60 * NS
    assert parse_time("-5m", NOW, after_ns=dated) == NOW.now_ns - 300 * NS


@pytest.mark.parametrize(
    "text",
    ["", " ", "5", "0314", "25:00", "12:60", "12:00:60", "24:00", "2024-13-01", "2024-02-30",
     "tomorrow", "5m from now", "5 minutes ago", "-5", "ago", "1714532047000", "20240501",
     "١٢:٠٠", "12:00+99:00",
     "9999999d ago", "99999-01-01", "--5m", "12:00\n13:00", "1e9", "0001-01-01T00:00+10:00"],
)  # fmt: skip
def test_what_is_not_a_time_is_a_usage_error_that_shows_the_forms(text: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        parse_time(text, NOW)
    assert caught.value.exit_code == EXIT_USAGE
    assert "5m ago" in caught.value.todo or "1m30s" in caught.value.todo


def test_a_time_that_comes_twice_is_the_later_one_unless_that_is_still_to_come() -> None:
    # 2024-10-27: the clock in Berlin goes back from 03:00 to 02:00.
    first, second = ns("2024-10-27T00:30:00+00:00"), ns("2024-10-27T01:30:00+00:00")
    for text in ("02:30", "2024-10-27T02:30"):
        assert parse_time(text, Viewpoint(second + 1, BERLIN)) == second
        assert parse_time(text, Viewpoint(second - 1, BERLIN)) == first
        assert parse_time(text + "+02:00", Viewpoint(second + 1, BERLIN)) == first


def test_a_time_that_was_skipped_lies_that_far_behind_the_jump() -> None:
    # 2024-03-31: from 02:00 to 03:00.
    view = Viewpoint(ns("2024-03-31T12:00:00+00:00"), BERLIN)
    assert parse_time("02:30", view) == ns("2024-03-31T03:30:00+02:00")
    assert parse_time("2024-03-31T02:30", view) == ns("2024-03-31T03:30:00+02:00")


@given(INSTANTS, st.integers(0, 86_399), st.sampled_from(ZONES))
def test_a_bare_clock_time_is_never_in_the_future_and_at_most_a_day_old(
    now: int, second: int, zone: ZoneInfo
) -> None:
    view = Viewpoint((now + 3 * 86_400) * NS, zone)
    text = str(timedelta(seconds=second))
    found = parse_time(text, view)
    assert found <= view.now_ns
    # The longest day: Samoa left out the 30th of December 2011.
    assert view.now_ns - found < 49 * 3_600 * NS


@given(INSTANTS, st.sampled_from(ZONES), st.integers(0, 3 * 86_400))
def test_what_is_shown_is_read_back_as_the_same_time(
    second: int, zone: ZoneInfo, later: int
) -> None:
    view = Viewpoint((second + later) * NS, zone)
    shown = view.show(second * NS)
    found = parse_time(shown, view)
    # Where the clock shows it twice the later one is found; it is shown the same.
    assert view.show(found) == shown
    assert abs(found - second * NS) <= 3_600 * NS


@given(st.integers(0, 4_000_000_000 * NS))
def test_epoch_seconds_with_a_fraction_are_exact(wall_ns: int) -> None:
    wall_ns += 10**8 * NS
    assert parse_time(f"{wall_ns // NS}.{wall_ns % NS:09d}", NOW) == wall_ns


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_a_usage_error(text: str) -> None:
    for parse in (partial(parse_time, view=IN_BERLIN), parse_duration):
        try:
            parse(text)
        except ExhumeError as error:
            if error.exit_code != EXIT_USAGE:
                raise


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("250ms", 250), ("5s", 5_000), ("1m30s", 90_000), ("12h", 43_200_000), ("1d", 86_400_000),
     ("1.1000000000000001s", 1_100), ("1.5s", 1_500), ("1m 30s", 90_000), ("1w", 604_800_000),
     ("500us", 0.5), ("500µs", 0.5)],
)  # fmt: skip
def test_a_duration_is_the_sum_of_its_parts(text: str, milliseconds: float) -> None:
    assert parse_duration(text) == milliseconds * 1_000_000


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "5 seconds", "0s", "1m-30s", "5M", "1e3s"])
def test_what_is_not_a_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(ExhumeError, match="duration") as caught:
        parse_duration(text)
    assert caught.value.exit_code == EXIT_USAGE


def test_a_date_is_shown_only_when_it_is_not_today() -> None:
    assert NOW.show(ns("2024-05-01T03:14:07+00:00")) == "03:14:07"
    assert NOW.show(ns("2024-04-30T23:59:59+00:00")) == "2024-04-30 23:59:59"
    assert IN_BERLIN.show(ns("2024-04-30T22:00:00+00:00")) == "00:00:00"
    assert NOW.show(ns("2024-05-01T03:14:07+00:00") + 250_999_999, 3) == "03:14:07.250"


def test_a_window_is_shown_with_dates_and_fractions_only_where_needed() -> None:
    start = ns("2024-05-01T03:14:02+00:00")
    assert NOW.show_window(Window(start, start + 5 * NS)) == "03:14:02 – 03:14:07"
    fine = Window(start, start + NS // 4)
    assert NOW.show_window(fine) == "03:14:02.000 – 03:14:02.250"
    night = Window(ns("2024-04-30T23:50:00+00:00"), ns("2024-05-01T00:10:00+00:00"))
    assert NOW.show_window(night) == "2024-04-30 23:50:00 – 2024-05-01 00:10:00"
    other = Window(ns("2024-04-29T03:00:00+00:00"), ns("2024-04-29T04:00:00+00:00"))
    assert NOW.show_window(other) == "2024-04-29 03:00:00 – 04:00:00"


def test_the_local_zone_comes_from_tz_and_survives_nonsense() -> None:
    assert local_zone({"TZ": "Europe/Berlin"}) == BERLIN
    assert local_zone({"TZ": ":Europe/Berlin"}) == BERLIN
    assert local_zone({"TZ": ""}) == ZoneInfo("UTC")
    assert local_zone({"TZ": "../../etc/passwd"}) is UTC
    assert local_zone({"TZ": "Nowhere/Atall"}) is not None
    assert local_zone({}) is not None


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2024-05-01", 86_400 * NS),
        ("03:14", 60 * NS),
        ("03:14:07", NS),
        ("03:14:07.25", NS // 100),
        ("1714532047", NS),
        ("1714532047.250", NS // 1000),
        ("5m ago", NS),
        ("now", NS),
    ],
)
def test_a_time_stands_for_as_much_as_it_leaves_open(text: str, nanoseconds: int) -> None:
    stretch = parse_stretch(text, NOW)
    assert stretch.start_ns == parse_time(text, NOW)
    assert stretch.end_ns - stretch.start_ns == nanoseconds


@pytest.mark.parametrize("text", ["-1", "5 ago", "-5x"])
def test_what_is_no_time_is_told_as_it_was_written(text: str) -> None:
    with pytest.raises(ExhumeError, match=f"'{text}' is not a time") as error:
        parse_time(text, NOW)
    assert error.value.exit_code == EXIT_USAGE
