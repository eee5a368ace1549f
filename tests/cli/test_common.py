from __future__ import annotations

import argparse

import pytest
from msgspec.structs import replace

from exhume.cli import common
from exhume.cli.figures import NS
from exhume.cli.main import with_negative_values
from exhume.errors import EXIT_DATA, EXIT_USAGE, ExhumeError
from exhume.model.answers import Filter, Span
from exhume.model.window import Ended, Window
from tests.cli.made_up import NOW_NS, VIEW


def parsed(line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    common.add_data(parser)
    common.add_window(parser, default="10m")
    common.add_filter(parser)
    common.add_output(parser)
    words = [word.replace("_", " ") for word in line.split()]
    return parser.parse_args(with_negative_values(words))


def window(line: str) -> tuple[float, float]:
    """Seconds before now."""
    found = common.window_of(parsed(line), VIEW)
    return (NOW_NS - found.start_ns) / NS, (NOW_NS - found.end_ns) / NS


def test_without_options_the_window_is_the_last_few_minutes() -> None:
    assert window("") == (600, 0)


def test_the_ways_to_name_a_window() -> None:
    # Now is 03:20:00.
    assert window("--last 90s") == (90, 0)
    assert window("--at 03:14:02 --for 5s") == (358, 353)
    assert window("--at 03:14:02") == (358, 353)
    assert window("--at 5m_ago --for 1m") == (300, 240)
    assert window("--from 03:10") == (600, 0)
    assert window("--from -5m --to -1m") == (300, 60)
    assert window("--from 03:10 --to 03:11:30") == (600, 510)


def test_of_an_imported_recording_the_end_is_now_and_all_of_it_is_meant() -> None:
    whole = Window(NOW_NS - 7 * 86_400 * NS, NOW_NS - 86_400 * NS)
    measured = Window(whole.end_ns - 3_600 * NS, whole.end_ns - 60 * NS)
    view = replace(VIEW, ended=Ended(whole, measured))
    args = parsed("")
    assert common.window_of(args, view) == measured
    args.default_whole = True
    assert common.window_of(args, view) == whole
    last = common.window_of(parsed("--last 90s"), view)
    assert last == Window(whole.end_ns - 90 * NS, whole.end_ns)
    at = common.window_of(parsed("--at 03:14:02"), view)
    assert at.start_ns == whole.end_ns - 358 * NS
    assert common.window_of(parsed("--from 03:10"), view).end_ns == whole.end_ns
    assert view.show(whole.end_ns).startswith("2024-04-30 ")  # which is not today


@pytest.mark.parametrize("line", ["--from 03:19 --to 03:18:30", "--from 03:19:59 --to 00:00",
                                  "--from 22:00 --to 20:00"])  # fmt: skip
def test_clock_times_the_wrong_way_round_are_no_window_of_a_day(line: str) -> None:
    with pytest.raises(ExhumeError, match=r"--to [\d:]+ is before --from") as caught:
        common.window_of(parsed(line), VIEW)
    assert caught.value.exit_code == EXIT_USAGE


def test_a_window_across_midnight_may_end_after_what_was_recorded() -> None:
    # Now is 03:20:00.
    assert window("--from 22:00 --to 03:00") == (19_200, 1_200)
    assert window("--from 22:00 --to 04:00") == (19_200, -2_400)
    assert window("--from 03:00 --to 22:00") == (1_200, -67_200)
    assert window("--from 03:19 --to 2024-05-02T03:18") == (60, -86_280)
    view = replace(VIEW, ended=Ended(Window(0, NOW_NS - 12_100 * NS), Window(0, 1)))
    found = common.window_of(parsed("--from 23:50 --to 00:10"), view)  # it ended at 23:58:20
    assert found.seconds == 1_200


@pytest.mark.parametrize(
    "line",
    ["--last 10m --at 03:14", "--at 03:14 --from 03:10", "--for 5s", "--to 03:14",
     "--from 03:14 --to -30m", "--last 0s", "--last soon", "--at never"],
)  # fmt: skip
def test_a_window_that_makes_no_sense_is_a_usage_error(line: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        common.window_of(parsed(line), VIEW)
    assert caught.value.exit_code == EXIT_USAGE
    assert caught.value.todo


def test_filters_add_up() -> None:
    args = parsed("--core 39 --core 0-3,7 --comm a;b --comm c --pid 1 --tid 2 --mode softirq")
    assert common.filter_of(args) == Filter(
        cores=(0, 1, 2, 3, 7, 39), comms=("a;b", "c"), pids=(1,), tids=(2,), modes=("softirq",)
    )
    assert common.filter_of(parsed("")) == Filter()


@pytest.mark.parametrize("text", ["", "x", "3-1", "-1", "1-", "1,,2", "70000", "0" * 5000, "²"])
def test_what_is_not_a_core_is_a_usage_error(text: str) -> None:
    with pytest.raises(ExhumeError, match="not a core") as caught:
        common.parse_cores([text])
    assert caught.value.exit_code == EXIT_USAGE


def span(start_s: int, end_s: int) -> Span:
    return Span(Window(NOW_NS + start_s * NS, NOW_NS + end_s * NS), "segment", 1, 1, False, "")


LAST_MINUTE = Window(NOW_NS - 60 * NS, NOW_NS)


def test_a_window_with_anything_recorded_is_accepted() -> None:
    common.need_recorded([span(-3600, -3000), span(-59, -58)], LAST_MINUTE, VIEW)


def test_a_window_without_data_says_what_is_recorded_instead() -> None:
    spans = [span(-3000, -2400), span(-3600, -3000), span(-100_000, -90_000)]
    with pytest.raises(ExhumeError) as caught:
        common.need_recorded(spans, LAST_MINUTE, VIEW)
    assert caught.value.exit_code == EXIT_DATA
    assert caught.value.what == (
        "nothing recorded between 03:19:00 and 03:20:00; recorded are: "
        "2024-04-29 23:33:20 – 2024-04-30 02:20:00; 02:20:00 – 02:40:00"
    )


def test_a_damaged_stretch_answers_in_part_or_says_what_is_wrong() -> None:
    part = Span(LAST_MINUTE, "damaged", 1, 500, False, "bad checksum")
    common.need_recorded([part], LAST_MINUTE, VIEW)
    lost = Span(LAST_MINUTE, "damaged", 1, 0, False, "no \x1b[31mmeta data")
    with pytest.raises(ExhumeError, match=r"is damaged .*meta data") as caught:
        common.need_recorded([lost, span(-100, -90)], LAST_MINUTE, VIEW)
    assert caught.value.exit_code == EXIT_DATA


def test_many_stretches_are_told_briefly() -> None:
    spans = [span(-10_000 - 100 * n, -10_050 - 100 * n + 60) for n in range(50)]
    with pytest.raises(ExhumeError) as caught:
        common.need_recorded(spans, LAST_MINUTE, VIEW)
    assert "45 earlier ones; " in caught.value.what
    assert len(caught.value.what) < 400


def test_an_empty_recording_says_so() -> None:
    with pytest.raises(ExhumeError, match="nor at any other time"):
        common.need_recorded([], LAST_MINUTE, VIEW)
