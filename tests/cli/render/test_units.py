from __future__ import annotations

from msgspec.structs import replace

from exhume.cli.render.units import render
from exhume.model.lifecycles import UnitsAnswer
from tests.cli.made_up import VIEW, drawn, look
from tests.cli.render import evidence

AT_80 = """\
who keeps dying · 03:10:00 – 03:20:00 UTC · 10 m recorded

crash loops · no room for last start, memory, CPU, by
starts  an hour  lives  succeeds  zombies  restarts  what       name
    60      360  1.2 s       0 %        1        59  unit       ecs.service
    60      360    8 s         –    ≤ 0.5         0  container  ecs-agent

many short jobs: scripts, builds, probes
starts  an hour   lives  what     name  by
   300    1,800  300 ms  process  cc0   gcc
   300    1,800  300 ms  process  cc1   gcc
   300    1,800  300 ms  process  cc2   gcc
   300    1,800  300 ms  process  cc3   gcc
   300    1,800  300 ms  process  cc4   gcc
   300    1,800  300 ms  process  cc5   gcc
   300    1,800  300 ms  process  cc6   gcc
   300    1,800  300 ms  process  cc7   gcc
   300    1,800  300 ms  process  cc8   gcc
   300    1,800  300 ms  process  cc9   gcc
   300    1,800  300 ms  process  cc10  gcc
   300    1,800  300 ms  process  cc11  gcc
And 2 more with 600 starts; --all lists them.

Unit ecs.service: every 10 s, 60 starts within 10 minutes, lives 1.2 s in the
median. Each start leaves 1 zombie cgroup: 360 an hour.
Container ecs-agent: 60 starts within 10 minutes, lives 8 s in the median, 60
ids under one name, so nobody counts restarts. Each start leaves at most 0.5
zombie cgroups: 180 an hour.
Healthy: 1 unit with 1 start; --all lists them.
Note: a note on ecs.service
"""


def shown(answer: UnitsAnswer, width: int = 80, *, everything: bool = False) -> str:
    text = drawn(render(answer, VIEW, look(width), everything=everything), width)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_the_answer_on_one_screen() -> None:
    assert shown(evidence.units()) == AT_80


def test_a_wide_screen_has_room_for_what_each_start_costs() -> None:
    text = shown(evidence.units(), 200)
    heading = "zombies  restarts  last start   memory     CPU  what       name         by"
    assert heading in text
    assert "≤ 0.5         0    03:19:55" in text
    assert "ecs.service · 60 ids" in text


def test_large_numbers_are_written_alike_in_the_table_and_in_words() -> None:
    answer = evidence.units()
    many = replace(answer.lifecycles[0], starts=22_055, most_starts_in_10_minutes=22_055)
    text = shown(replace(answer, lifecycles=(many,)))
    assert text.count("22,055") == 2
    assert "22055" not in text


def test_nothing_that_loops_is_said_as_well() -> None:
    calm = replace(evidence.units(), lifecycles=evidence.units().lifecycles[-1:], notes=())
    assert shown(calm).endswith("Nothing loops.\nHealthy: 1 unit with 1 start; --all lists them.\n")
    assert "sshd.service" in shown(calm, everything=True)


def test_what_looks_saw_is_said_to_be_a_bound() -> None:
    answer = evidence.units()
    _, container = answer.lifecycles[:2]
    bound = replace(
        container, pace_seconds=10.0, looked_every_seconds=10.0, starts_at_least=True,
        lifetime_at_most=True,
    )  # fmt: skip
    text = " ".join(shown(replace(answer, lifecycles=(bound,))).split())
    assert "≥ 60 ≥ 360 ≤ 8 s" in text
    assert "at least every 10 s, at least 60 starts within 10 minutes" in text
    assert "lives at most 8 s in the median" in text
    assert "Known by looks 10 s apart, which miss what starts and ends in between." in text


def test_a_pace_that_looks_saw_now_and_then_is_not_told() -> None:
    answer = evidence.units()
    unit = replace(
        answer.lifecycles[0], pace_seconds=600.0, looked_every_seconds=120.0, starts_at_least=True
    )
    assert "every" not in shown(replace(answer, lifecycles=(unit,)))


def test_runs_of_a_pods_container_have_an_id_each_and_are_counted() -> None:
    answer = evidence.units()
    (one,) = (one for one in answer.lifecycles if one.name == "ecs-agent")
    of_pod = replace(answer, lifecycles=(replace(one, name="ns/pod-1"),))
    text = " ".join(shown(of_pod).split())
    assert "60 ids under one name. Each start" in text
