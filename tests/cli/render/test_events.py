from __future__ import annotations

from msgspec.structs import replace

from exhume.cli.render.events import MOST_LINES, lines, render
from exhume.model.answers import EventAnswer
from exhume.model.evidence import EventsAnswer
from tests.cli.made_up import VIEW, drawn, look
from tests.cli.render import evidence

AT_80 = """\
03:10:00 – 03:20:00 UTC · 4 events

time      ×  kind          subject  text
03:11:00  2  kernel-log    eth0     TX q 5 is paused for too long
03:11:01     job-log       trainer  ActorDiedError
03:11:30     core-offline  3        core 3

935 execs: eth0 0 90 · eth0 1 89 · eth0 2 88 · eth0 3 87 · eth0 4 86 · eth0 5 85
· eth0 6 84 · eth0 7 83 · and 3 more names  (--kind exec lists them)
Note: a note on eth0
"""


def shown(answer: EventsAnswer, width: int = 80, *, everything: bool = False) -> str:
    text = drawn(render(answer, VIEW, look(width), everything=everything), width)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_the_answer_on_one_screen() -> None:
    assert shown(evidence.events()) == AT_80


def test_like_ones_are_folded_when_there_are_many() -> None:
    text = shown(evidence.events(many=60), 120)
    assert "like ones in 4 lines; --all lists each" in text
    assert "03:10:00  03:10:59  60  unit-failed" in text
    every = shown(evidence.events(many=60), 120, everything=True)
    assert every.count("unit-failed") == 60


def test_a_long_line_is_wrapped_and_goes_below_where_there_is_no_room() -> None:
    answer = evidence.events("a-subject-of-some-length", "word " * 30)
    wide, narrow = shown(answer, 120), shown(answer, 80)
    assert "\n" + " " * 53 + "word word" in wide
    assert "\n          word word" in narrow
    assert wide.count("word") == narrow.count("word") == 30


def test_only_so_many_lines_are_shown_and_the_rest_is_owned_up_to() -> None:
    answer = replace(
        evidence.events(),
        events=tuple(
            EventAnswer(evidence.WINDOW.start_ns + index, "gap", f"s{index}", "", None, None, 1, {})
            for index in range(MOST_LINES + 7)
        ),
    )
    assert "7 earlier lines are not shown" in shown(answer)


def test_what_is_followed_has_columns_that_stay() -> None:
    text = "\n".join(line.plain for line in lines(evidence.events().events, VIEW, look(120)))
    assert text.splitlines()[1] == "03:11:01  job-log          trainer       ActorDiedError"


def test_where_only_processes_came_and_went_it_is_not_said_that_nothing_happened() -> None:
    quiet = replace(evidence.events(), events=())
    assert "Nothing but starts and ends of processes." in shown(quiet)
    assert "Nothing happened that anybody told of." in shown(replace(quiet, counted=()))
