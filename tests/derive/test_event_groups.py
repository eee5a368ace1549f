from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.event_groups import HARM, alike, each, folded, most_severe, severity
from exhume.derive.signatures import kernel_log
from exhume.model.answers import EventAnswer
from exhume.model.fields import EVENT_KINDS
from tests.derive.lives import NS, T0, event

RESET = {"signature": "ena.tx_paused", "class": "netdev-starve"}


def test_lines_of_one_signature_and_subject_are_one_group() -> None:
    events = [
        event("kernel-log", "eth0", 1, text="TX q 5 is paused", core=3, of=RESET),
        event("kernel-log", "eth1", 2, text="TX q 1 is paused", of=RESET),
        event("kernel-log", "eth0", 9, text="TX q 7 is paused", core=4, count=3, of=RESET),
    ]
    first, second = folded(events)
    assert (first.subject, first.count, first.text) == ("eth0", 4, "TX q 5 is paused")
    assert (first.first_wall_ns, first.last_wall_ns) == (T0 + NS, T0 + 9 * NS)
    assert (first.core, first.signature) == (None, "ena.tx_paused")
    assert second.subject == "eth1"


def test_unknown_lines_are_alike_but_for_their_numbers() -> None:
    a = event("kernel-log", "", 1, text="sd 0:0:1: sector 77128 at 0xffff12")
    b = event("kernel-log", "", 1, text="sd 0:0:2: sector 3 at 0xfffe")
    c = event("kernel-log", "", 1, text="sd 0:0:2: timeout 3 at 0xfffe")
    assert alike(a) == alike(b) != alike(c)


def test_the_same_program_under_another_parent_is_another_group() -> None:
    events = [event("exec", "sh", 1, parent="make"), event("exec", "sh", 2, parent="cron")]
    assert len(folded(events)) == 2
    assert len(each(events * 2)) == 4


def test_a_dump_of_the_kernel_is_one_line() -> None:
    dump = [event("kernel-log", "", 5 + i / 1000, text=f" frame_{chr(97 + i)}+0x1/0x2")
            for i in range(20)]  # fmt: skip
    known = event("kernel-log", "trainer", 5.0005, text="trainer invoked oom-killer",
                  of={"signature": "oom.invoked", "class": "mem"})  # fmt: skip
    later = [event("kernel-log", "", 9 + i, text=f"line {chr(97 + i)}") for i in range(3)]
    first, second, *rest = folded([dump[0], known, *dump[1:], *later])
    assert first.text == "frame_a+0x1/0x2 … and 19 more lines"
    assert second.subject == "trainer"
    assert [group.text for group in rest] == ["line a", "line b", "line c"]


def test_harm_outweighs_what_may_explain_it() -> None:
    assert severity(event("kernel-log", "eth0", 1, of=RESET)) == HARM
    assert severity(event("job-log", "trainer", 1)) == HARM
    assert 0 < severity(event("unit-failed", "a.service", 1)) < HARM
    assert (
        0
        < severity(event("kernel-log", "x", 1, of={"signature": "conntrack", "class": "limit"}))
        < HARM
    )
    assert severity(event("kernel-log", "", 1, text="just a warning")) == 0
    assert (
        severity(event("kernel-log", "", 1, of={"signature": "drop_caches", "class": "info"})) == 0
    )
    assert severity(event("exec", "sh", 1)) == 0


def test_every_class_of_the_signatures_is_judged() -> None:
    for signature in kernel_log():
        known = event("kernel-log", "x", 1, of={"signature": signature.id, "class": signature.cls})
        assert (severity(known) == 0) == (signature.cls == "info"), signature.id


def test_the_worst_come_first_and_the_earliest_of_those() -> None:
    events = [
        event("rate", "recorder", 1, text="rate"),
        event("job-log", "b", 8, text="ActorDiedError"),
        event("exec", "sh", 3),
        event("kernel-log", "eth0", 5, text="reset", of=RESET),
    ]
    assert [group.kind for group in most_severe(events)] == ["kernel-log", "job-log", "rate"]


kinds = st.sampled_from([kind.id for kind in EVENT_KINDS])
made = st.builds(
    event,
    kinds,
    st.text(max_size=3),
    st.floats(0, 99),
    count=st.integers(1, 9),
    text=st.text(max_size=9),
)


@given(st.lists(made, max_size=30))
def test_folding_loses_no_event(events: list[EventAnswer]) -> None:
    lines = re.compile(r" … and (\d+) more lines$")
    counts = [
        group.count if (dump := lines.search(group.text)) is None else int(dump[1]) + 1
        for group in folded(sorted(events, key=lambda one: one.wall_ns))
    ]
    assert len(events) <= sum(counts) <= sum(one.count for one in events)
    assert len(each(events)) == len(events)
