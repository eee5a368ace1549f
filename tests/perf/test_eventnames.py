from __future__ import annotations

import pytest

from exhume.perf import eventnames
from exhume.perf.attr import Attr, Flag


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("cycles", "cycles"), ("cycles:ppp", "cycles"), ("cpu-clock:uhH", "cpu-clock"),
        ("cycles:Pu", "cycles"), ("instructions:upppGH", "instructions"),
        ("kmem:kfree", "kmem:kfree"), ("kmem:kmalloc", "kmem:kmalloc"),
        ("probe:bubu", "probe:bubu"),
        ("cpu_core/cycles/P", "cycles"), ("cpu/cpu-cycles,period=100/", "cpu-cycles"),
        ("cpu-clock/freq=97/", "cpu-clock"), ("cycles/period=2000000/u", "cycles"),
        ("task-clock/call-graph=no,time=0/", "task-clock"), ("cycles//", "cycles"),
        ("sched:sched_switch/call-graph=no/", "sched:sched_switch"),
        ("cpu/event=0x3c,umask=0/u", "cpu/event=0x3c,umask=0/"), ("intel_pt//u", "intel_pt//"),
        ("sched:sched_switch", "sched:sched_switch"), ("page-faults", "page-faults"),
        ("armv8_pmuv3_0/cpu_cycles/", "cycles"), ("armv8_cortex_a55/cycles/P", "cycles"),
        ("cpu_clk_unhalted.thread:uP", "cycles"), ("cpu/CPU_CLK_UNHALTED.THREAD/", "cycles"),
        ("ibs_op//", "cycles"), ("ibs_op/cnt_ctl=1/", "ibs_op/cnt_ctl=1/"),
        ("syscalls:sys_enter_read", "syscalls:sys_enter_read"),
    ],
)  # fmt: skip
def test_modifiers_and_units_do_not_make_another_event(name: str, plain: str) -> None:
    assert eventnames.plain(name) == plain


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sched:sched_switch", True), ("raw_syscalls:sys_enter/call-graph=no/", True),
        ("probe:tcp_sendmsg", True), ("probe_libc:malloc", False), ("sdt_qemu:start", False),
        ("mem:0x7f00:rw", False), ("cycles:k", False), ("page-faults", False), ("", False),
    ],
)  # fmt: skip
def test_tracepoints_are_hit_in_the_kernel(name: str, expected: bool) -> None:
    assert eventnames.is_in_kernel(name) == expected


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["cycles:u", "cycles"], {"cycles"}), (["cycles:u", "cycles:k"], {"cycles:u", "cycles:k"}),
        (["cpu-clock:k", "cpu-clock/period=1/u", "cpu-clock:uk"], {"cpu-clock:uk"}),
        (["cpu_core/cycles/", "cpu_atom/cycles/u"], {"cpu_core/cycles/", "cpu_atom/cycles/u"}),
        (["cycles:ppp", "cycles:P"], {"cycles:ppp"}), ([], set()),
    ],
)  # fmt: skip
def test_no_time_is_counted_twice(names: list[str], kept: set[str]) -> None:
    assert eventnames.without_overlaps(names) == kept


def test_a_name_of_ones_own_does_not_hide_what_is_measured() -> None:
    clock = Attr(type=1, config=0)
    assert eventnames.measure("mine", clock) == "cpu-clock"
    assert eventnames.measure("cpu-cycles:u", Attr(type=0, config=0)) == "cpu-cycles"
    assert eventnames.measure("sched:sched_switch", Attr(type=2, config=0)) == "sched:sched_switch"


def test_what_measures_time_comes_first() -> None:
    names = ["page-faults", "instructions:u", "cycles:ppp", "cpu-clock"]
    assert sorted(names, key=eventnames.preference) == names[::-1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cycles:ppp", True), ("cpu_atom/cycles/P", True), ("instructions", True), ("", True),
     (eventnames.UNKNOWN, True), ("page-faults", False), ("sched:sched_switch", False)],
)  # fmt: skip
def test_some_events_are_time_on_a_core(name: str, expected: bool) -> None:
    assert eventnames.is_time_like(name) is expected


@pytest.mark.parametrize(
    ("measure", "watched", "name"),
    [
        ("cycles", ["u"], "cycles:u"), ("cycles", ["uh", "k"], "cycles"),
        ("cpu-clock", ["ukh"], "cpu-clock"), ("cpu-clock", ["k", "k"], "cpu-clock:k"),
        ("page-faults", ["u"], "page-faults"), ("", ["u"], ""), ("cycles", [], "cycles"),
    ],
)  # fmt: skip
def test_time_of_one_mode_alone_says_so(measure: str, watched: list[str], name: str) -> None:
    assert eventnames.in_modes(measure, iter(watched)) == name
    assert eventnames.is_of_a_part(name) is (name != measure)


def test_modes_are_those_that_the_attribute_does_not_leave_out() -> None:
    """perf calls events of --all-kernel as those of both."""
    assert eventnames.modes(Attr()) == "uk"
    assert eventnames.modes(Attr(flags=Flag.EXCLUDE_KERNEL)) == "u"
    assert eventnames.modes(Attr(flags=Flag.EXCLUDE_USER)) == "k"
    assert "time in user mode is missing" in eventnames.of_a_part("cycles:k")


@pytest.mark.parametrize(
    ("kind", "config", "name"),
    [(0, 0, "cycles"), (0, 1 << 33, "cycles"), (1, 0, "cpu-clock"), (1, 9, "dummy"),
     (2, 17, "tracepoint 17"), (4, 0x1A8, "raw 0x1a8"), (8, 3, "event 8/0x3")],
)  # fmt: skip
def test_without_a_name_type_and_number_give_one(kind: int, config: int, name: str) -> None:
    assert eventnames.attr_name(Attr(type=kind, config=config)) == name


def test_the_rate_is_the_frequency_or_a_clocks_period() -> None:
    assert eventnames.attr_rate("cycles", Attr(sample_period=97, flags=Flag.FREQ)) == 97
    assert eventnames.attr_rate("cpu-clock", Attr(sample_period=10_000_000)) == 100
    assert eventnames.attr_rate("cycles", Attr(sample_period=10_000_000)) is None
    # Of clocks the kernel allows 10 µs at least.
    assert eventnames.attr_rate("cpu-clock", Attr(sample_period=1000)) == 100_000
    assert eventnames.attr_rate("task-clock", Attr(sample_period=250_000, flags=Flag.FREQ)) == 1e5
