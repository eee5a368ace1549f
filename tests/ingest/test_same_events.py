from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.same_events import SAME_NS, without_repeats
from exhume.model.event import Event

NS = 1_000_000_000


def paused(time_ns: int, queue: int = 5, text: str = "paused") -> Event:
    fields: dict[str, str | int | float] = {"signature": "ena.tx_paused", "queue": queue}
    return Event(time_ns, "kernel-log", "eth0", text, fields=fields)


def test_a_second_file_that_says_the_same_adds_nothing() -> None:
    first, second = paused(10 * NS), paused(10 * NS + SAME_NS, text="another wording")
    assert list(without_repeats([[first], [second]])) == [first]
    later = paused(10 * NS + SAME_NS + 1)
    assert list(without_repeats([[first], [later]])) == [first, later]


def test_one_file_may_say_the_same_again_and_again() -> None:
    group = [paused(10 * NS), paused(11 * NS)]
    assert list(without_repeats([group])) == group


def test_other_queues_other_texts_and_other_kinds_are_other_events() -> None:
    others = [
        paused(NS, queue=6),
        Event(NS, "kernel-log", "", "something else"),
        Event(NS, "job-log", "eth0", "paused"),
        Event(NS, "exec", "eth0"),
    ]
    assert list(without_repeats([[paused(NS)], others])) == [paused(NS), *others]
    twice = [[Event(NS, "exec", "a")], [Event(NS, "exec", "a")]]
    assert len(list(without_repeats(twice))) == 2, "processes are no lines of a log"


TIMES = st.lists(st.integers(0, 60 * NS), max_size=20)


@given(TIMES, TIMES)
def test_the_first_file_is_kept_whole_and_nothing_near_it_is_added(
    a: list[int], b: list[int]
) -> None:
    found = list(without_repeats([[paused(t) for t in a], [paused(t) for t in b]]))
    assert [event.time_ns for event in found[: len(a)]] == a
    rest = [event.time_ns for event in found[len(a) :]]
    assert rest == [t for t in b if all(abs(t - other) > SAME_NS for other in a)]


def test_what_the_runtime_noted_in_two_files_happened_once() -> None:
    one, late = (
        Event(at * NS, "container-exit", "a", fields={"id": "5c" * 32, "told_by": "containerd"})
        for at in (100, 101)
    )
    assert list(without_repeats([[one], [late]])) == [one]
    assert list(without_repeats([[one, late]])) == [one, late]


def of_container(kind: str, name: str, told_by: str = "", at: int = 100) -> Event:
    fields: dict[str, str | int | float] = {"id": "5c" * 32}
    return Event(
        at * NS, kind, name, fields={**fields, **({"told_by": told_by} if told_by else {})}
    )


def test_the_kubelets_word_gives_way_to_the_runtimes_however_late_it_came() -> None:
    own = of_container("container-exit", "default/web-0/web", "containerd")
    late = of_container("container-exit", "default/web-0", "kubelet", 190)
    assert list(without_repeats([[late], [own]])) == [own]


def test_who_saw_it_takes_the_name_from_who_knows_it() -> None:
    look = of_container("container-seen", "web", at=60)
    saw = of_container("container-exit", "5c5c5c5c5c5c", "dockerd")
    gone = of_container("container-exit", "web", at=110)
    found = list(without_repeats([[look, gone], [saw]]))
    assert [(event.kind, event.subject, event.time_ns // NS) for event in found] == [
        ("container-seen", "web", 60), ("container-exit", "web", 100)
    ]  # fmt: skip
