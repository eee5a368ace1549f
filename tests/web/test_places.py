from __future__ import annotations

import pytest

from exhume.model.answers import Filter
from exhume.model.case import Evidence
from exhume.model.window import Window
from exhume.web.places import place_of


def evidence(check: str) -> Evidence:
    return Evidence("e1", "claim", {}, Window(5, 9), check)


@pytest.mark.parametrize(
    ("check", "tab", "filter_"),
    [
        ("exhume top --at 03:14:02 --for 5s --core 39", "who", Filter(cores=(39,))),
        ("exhume flame --core 1,2 --comm 'a b'", "flame", Filter(cores=(1, 2), comms=("a b",))),
        (
            "exhume top --cgroup '/a b' --tid 7 --mode system",
            "who",
            Filter(cgroups=("/a b",), tids=(7,), modes=("system",)),
        ),
        ("exhume units --last 1h", "units", Filter()),
        ("grep x /var/log/y --core 39x", "timeline", Filter()),
        ("exhume top --comm 'unbalanced", "timeline", Filter()),
    ],
)
def test_evidence_is_shown_where_its_command_would_show_it(
    check: str, tab: str, filter_: Filter
) -> None:
    place = place_of(evidence(check))
    assert (place.window, place.tab, place.filter) == (Window(5, 9), tab, filter_)


def test_a_series_names_the_field_to_draw() -> None:
    assert place_of(evidence("exhume series memcg.zombies --last 1h")).field == "memcg.zombies"
