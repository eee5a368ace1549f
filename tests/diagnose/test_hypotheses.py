"""Each cause in its plainest form, and what must not be taken for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.derive.case_words import parties
from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.scene import Scene, Usage
from exhume.model.answers import SeriesAnswer
from exhume.model.case import Case, Party, Symptom
from exhume.model.evidence import Crowd
from exhume.model.lifecycles import ProcessEvents
from exhume.model.occupancy import Occupant
from tests.diagnose.made_up import (
    event,
    hold,
    lifecycle,
    lives,
    load,
    observation,
    occupant,
    process,
    scene,
    series,
    span,
    symptom,
)

TIMES = [(60.0 * i, 4.0) for i in range(1, 9)]


def stalls(**more: Any) -> list[Symptom]:
    return [symptom(start, length, **more) for start, length in TIMES]


def ending(born: ProcessEvents, after_seconds: float) -> ProcessEvents:
    """Each of them dies so long after its birth."""
    died = born.wall_ns + round(after_seconds * 1e9)
    order = np.argsort(np.concatenate([born.wall_ns, died]), kind="stable")
    twice = {
        name: np.tile(getattr(born, name), 2)[order]
        for name in ("name", "parent", "parent_pid", "pid", "count", "lifetime_seconds")
    }
    is_exec = np.repeat([True, False], len(born))[order]
    return ProcessEvents(
        names=born.names,
        wall_ns=np.concatenate([born.wall_ns, died])[order],
        is_exec=is_exec,
        **twice,
    )


def bumps(field: str, usual: int, high: int, instance: str = "") -> SeriesAnswer:
    """A counter that gains `high` a second while somebody is harmed."""
    rates = [
        high if any(start - 1 <= second < start + length for start, length in TIMES) else usual
        for second in range(600)
    ]
    return series(field, np.cumsum(rates).tolist(), instance)


def judged(one: Scene) -> Case:
    found = [suspicion for hypothesis in HYPOTHESES for suspicion in hypothesis(one)]
    return case_of(one.seen, one, found, (), (), ())


def cause_of(one: Scene) -> tuple[str, str]:
    cause = judged(one).verdict.root_cause
    assert cause is not None, judged(one)
    return cause.kind, cause.culprit.name


def hogged(hog: Occupant, more: Sequence[SeriesAnswer] = (), **fields: Any) -> Scene:
    seen = observation(series=more, **fields)
    made = scene(seen, stalls(), [hog])
    there = tuple(span(start, start + length) for start, length in TIMES)
    return replace(made, presence={hog.comm: there})


def test_a_real_time_process_that_keeps_the_core_is_found() -> None:
    priority = series("process.rt_priority", [50] * 10, "77 spin")
    assert cause_of(hogged(occupant("spin", 0.95, user_share=1.0), [priority])) == (
        "realtime-hog", "spin",
    )  # fmt: skip


def test_without_its_number_what_to_do_goes_by_its_name() -> None:
    hog = occupant("spin", 0.95, user_share=1.0, pid=-7)
    actions = judged(hogged(hog)).actions
    told = " ".join([*actions.now, *actions.undo])
    assert "taskset -pc OTHER_CORES $(pgrep -o -x spin)" in told
    assert "None" not in told
    assert "-7" not in told


@pytest.mark.parametrize(
    ("holds", "sure"), [((50.0, 40.0), "low"), ((59.5, 5.0), "medium"), ((), "low")]
)
def test_who_is_busy_on_one_core_while_somebody_somewhere_is_late_is_no_suspect(
    holds: tuple[float, ...], sure: str
) -> None:
    """But if it is so for just as long."""
    hog = occupant("ld", 1.0, user_share=1.0, core_ns=4_000_000_000)
    made = scene(observation(timed=(span(0, 600),)), stalls()[:1], [hog], place="untested")
    there = (span(holds[0], sum(holds)),) if holds else ()
    assert judged(replace(made, presence={"ld": there})).verdict.confidence == sure


def test_its_rhythm_is_told() -> None:
    cause = judged(hogged(occupant("spin", 0.95, user_share=1.0))).verdict.root_cause
    assert cause is not None
    assert (cause.kind, cause.details["period_seconds"]) == ("userspace-hog", 60.0)


def test_a_thread_of_the_kernel_is_nobody_to_blame() -> None:
    case = judged(hogged(occupant("kworker/1:0", 0.95, is_kernel_thread=True)))
    assert case.verdict.root_cause is None


def test_a_thread_of_the_kernel_that_held_the_core_is_named_as_the_mechanism() -> None:
    work = {"kthread": 1.0, "process_one_work": 1.0, "css_release_work_fn": 1.0}
    worker = occupant("kworker/1:9", 0.95, work, is_kernel_thread=True)
    own = tuple(
        hold(start, length, "kworker/1:9", is_one_call=False, deepest="css_release_work_fn")
        for start, length in TIMES
    )
    case = judged(hogged(worker, holds=own))
    assert case.verdict.root_cause is None
    assert case.verdict.summary == (
        f"kworker/1:9 held CPU 1 in the kernel (css_release_work_fn) {len(TIMES)} of {len(TIMES)} "
        "times that victim waited; who queued that work is open"
    )
    assert [link.role for link in case.chain] == ["symptom", "mechanism"]
    assert any("workqueue_queue_work" in gap for gap in case.gaps)


def test_the_idle_task_holds_nothing() -> None:
    idle = occupant("swapper/1", 0.95, pid=0, is_kernel_thread=True)
    assert judged(hogged(idle)).suspects == ()


def test_without_names_of_kernel_functions_the_holder_may_be_a_payer() -> None:
    case = judged(hogged(occupant("reader", 0.95, unnamed_share=1.0)))
    (suspect,) = case.suspects
    assert (suspect.kind, suspect.culprit.comm, suspect.confidence) == (
        "kernel-hog", "reader", "low",
    )  # fmt: skip
    assert "kernel functions have no names" in case.verdict.summary
    assert "in functions without names" in case.chain[-1].claim
    assert case.actions.now == ()


def test_with_names_that_nobody_else_explains_the_holder_is_it() -> None:
    frames = {"ksys_ioctl": 1.0, "driver_reset": 1.0}
    assert cause_of(hogged(occupant("reader", 0.95, frames))) == ("kernel-hog", "reader")


def test_whoever_was_there_in_one_stall_of_many_is_not_it() -> None:
    seen = observation()
    made = scene(seen, stalls(), [occupant("x", 0.2)])
    assert judged(made).verdict.status == "unknown"


def test_steal_is_the_cause_where_the_hypervisor_took_the_core() -> None:
    percent = [
        80 if any(start <= second < start + length for start, length in TIMES) else 0
        for second in range(600)
    ]
    seen = observation(load=load({0: [0] * 600, 1: percent}, mode=4))
    assert cause_of(scene(seen, stalls(), core=1)) == ("cpu-steal", "CPU 1")


def test_steal_of_every_core_is_the_cause_wherever_the_victim_was() -> None:
    percent = [
        80 if any(start <= second < start + length for start, length in TIMES) else 0
        for second in range(600)
    ]
    seen = observation(load=load({0: percent, 1: [value * 3 // 4 for value in percent]}, mode=4))
    told = judged(scene(seen, stalls(), core=None, place="untested"))
    assert told.verdict.root_cause is not None
    assert told.verdict.root_cause.kind == "cpu-steal"
    assert "took at least 60 % of every core" in told.chain[-1].claim
    assert ("culprit", "the hypervisor, not this node") in list(parties(told))
    seen = observation(load=load({0: percent, 1: [0] * 600}, mode=4))
    assert judged(scene(seen, stalls(), core=None, place="untested")).suspects == ()


def test_without_steal_it_is_ruled_out_by_name() -> None:
    seen = observation(load=load({0: [0] * 600, 1: [50] * 600}))
    rejected = judged(scene(seen, stalls(), core=1)).rejected
    assert [one.kind for one in rejected] == ["cpu-steal"]


def test_a_cpu_limit_that_stops_the_victims_own_cgroup_is_the_cause() -> None:
    throttled = bumps("cgroup.cpu_throttled_ns", 0, 700_000_000, "/pod7")
    seen = observation(
        series=[throttled],
        processes=(process("victim", 1, cgroup="/pod7"), process("eater", 50, 6, "/pod7")),
    )
    kind, name = cause_of(scene(seen, stalls(), core=None, place="untested"))
    assert (kind, name) == ("cpu-throttling", "eater")


def test_a_limit_of_somebody_elses_cgroup_is_not() -> None:
    throttled = bumps("cgroup.cpu_throttled_ns", 0, 700_000_000, "/other")
    seen = observation(series=[throttled], processes=(process("victim", 1, cgroup="/pod7"),))
    case = judged(scene(seen, stalls(), core=None, place="untested"))
    assert case.verdict.root_cause is None
    assert [one.kind for one in case.rejected] == ["cpu-throttling"]


def test_a_storm_of_page_faults_is_told_by_whose_processes_make_it() -> None:
    faults = bumps("vmstat.pgfault", 2_000, 400_000)
    by = [bumps("process.faults", 10, 25_000, f"{pid} touch") for pid in range(8)]
    other = bumps("process.faults", 500, 500, "99 web")
    seen = observation(series=[faults, *by, other])
    made = scene(seen, stalls(), [occupant("touch", 0.4, {"exc_page_fault": 0.8})])
    assert cause_of(made) == ("page-fault-storm", "touch")


def test_a_cgroup_at_its_limit_is_filled_by_somebody_in_it() -> None:
    pressed = bumps("pressure.memory.some_us", 0, 600_000)
    freeing = {"__mem_cgroup_charge": 700, "main": 1000}
    seen = observation(
        series=[pressed],
        processes=(
            process("victim", 5, cgroup="/box"),
            process("filler", 50, 6, "/box"),
            process("loud", 90, 7, "/elsewhere"),
        ),
        frame_ms={"victim": freeing, "filler": freeing, "loud": freeing},
    )
    made = scene(seen, stalls(), core=None, place="untested")
    assert cause_of(made) == ("memory-reclaim", "filler")


def test_whoever_frees_memory_for_its_own_cgroup_is_told_of_though_nothing_was_counted() -> None:
    """A capture without cgroups, no copies of /proc/pressure: the victim's own stacks say it."""
    seen = observation(
        processes=(process("victim", 5),),
        frame_ms={"victim": {"__mem_cgroup_charge": 700, "main": 1000}},
    )
    told = judged(scene(seen, stalls(), core=None, place="untested"))
    assert (told.verdict.status, told.suspects[0].kind) == ("unknown", "memory-reclaim")
    assert "freeing memory below the limit of its cgroup" in told.verdict.summary
    assert any("/proc/pressure/memory" in gap for gap in told.gaps)


FREEING = {"try_to_free_mem_cgroup_pages": 1.0, "shrink_node": 1.0}


@pytest.mark.parametrize(
    ("asked", "is_reclaim"),
    [
        ({}, True),
        ({"mem_cgroup_force_empty_write": 1.0}, False),
        ({"user_proactive_reclaim": 0.9, "memory_reclaim": 0.9}, False),
        ({"memory_max_write": 0.1}, True),
    ],
)
def test_who_frees_memory_because_a_file_was_written_to_wants_none(
    asked: dict[str, float], is_reclaim: bool
) -> None:
    told = judged(
        hogged(
            occupant("payer", 0.95, FREEING | asked), holds=[hold(at, long) for at, long in TIMES]
        )
    )
    against = [one.reason for one in told.rejected if one.kind == "memory-reclaim"]
    assert ("memory-reclaim" in {one.kind for one in told.suspects}) == is_reclaim
    assert any("because it was told to" in reason for reason in against) == (not is_reclaim)


def test_who_empties_a_cgroup_does_not_meet_its_limit() -> None:
    freeing = {"try_to_free_mem_cgroup_pages": 900, "mem_cgroup_force_empty_write": 900}
    frames = {"victim": {"main": 1000} | freeing}
    seen = observation(processes=(process("victim", 5),), frame_ms=frames)
    told = judged(scene(seen, stalls(), core=None, place="untested"))
    assert not told.suspects


def test_several_waits_in_one_hold_are_one_dose() -> None:
    """A real-time hog leaves a twentieth of each second, and whoever runs then is late anew: each
    wait is of a second, however long the hold."""
    late = [[0.7], [1.0], [0.9], [0.9], [1.0], [0.8], [1.0], [0.9, 0.7, 0.8, 0.9, 0.7]]
    late.append([1.0, 1.0, 0.8, 0.8, 0.8, 0.8])
    lengths = [0.7, 1.2, 0.9, 1.6, 1.8, 2.9, 3.7, 5.6, 6.7]
    holds = [hold(60.0 * at, length) for at, length in enumerate(lengths, 1)]
    waits = [
        symptom(60 * at + turn, long)
        for at, each in enumerate(late, 1)
        for turn, long in enumerate(each)
    ]
    seen = observation(holds=holds)
    hog = occupant("payer", 0.95, user_share=0.0, core_ns=900_000_000)
    told = judged(scene(seen, waits, [hog]))
    assert (told.verdict.status, told.suspects[0].kind) == ("found", "kernel-hog")
    assert told.chain[1].tests.dose == "passed"


def flooded(*senders: Usage) -> Scene:
    seen = observation(series=[bumps("softnet.processed", 100, 90_000, "1")])
    made = scene(seen, stalls(), [occupant("ksoftirqd/1", 0.5, is_kernel_thread=True)], softirq=0.8)
    return replace(made, senders=senders)


def test_packets_that_take_a_core_are_told_by_who_sends_them() -> None:
    made = flooded(Usage("blaster", 0.05, 0.0), Usage("web", 0.2, 0.19))
    assert cause_of(made) == ("softirq-flood", "blaster")


@pytest.mark.parametrize(
    "senders",
    [
        (),
        (Usage("web", 0.2, 0.19),),  # as ever
        (Usage("one", 0.05, 0.0), Usage("other", 0.04, 0.0)),  # it may be either
        (Usage("beat", 0.005, 0.0),),  # next to nothing
    ],
)
def test_where_no_sender_stands_out_nobody_is_named(senders: tuple[Usage, ...]) -> None:
    assert cause_of(flooded(*senders)) == ("softirq-flood", "CPU 1")


def test_queues_that_meet_on_that_core_are_named_beside_it() -> None:
    seen = observation(crowds=(Crowd("eth0", 1, 8, 8, 100.0),))
    made = scene(seen, stalls(), softirq=0.8)
    kinds = {one.kind for one in judged(made).suspects}
    assert "interrupt-imbalance" in kinds


def test_an_oom_kill_names_the_process_and_the_cgroup_that_was_full() -> None:
    fields = {"signature": "oom.kill", "class": "mem", "comm": "eater", "pid": 9}
    kill = event(60, "kernel-log", "eater", "Killed process 9 (eater)", **fields,
                 anonymous_bytes=5 << 20, scope="Memory cgroup out of memory")  # fmt: skip
    detail = event(60, "kernel-log", "eater", "oom-kill:", pid=9, signature="oom.detail",
                   **{"class": "mem"}, oom_cgroup="/box")  # fmt: skip
    counter = series("vmstat.oom_kill", [0] * 60 + [1] * 20)
    seen = observation(events=(detail, kill), series=[counter])
    one = symptom(59, 1, "eater", "out-of-memory")
    case = judged(scene(seen, [one], core=None))
    cause = case.verdict.root_cause
    assert cause is not None
    assert (cause.kind, cause.culprit.comm, cause.details["oom_cgroup"]) == (
        "out-of-memory", "eater", "/box",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "where"),
    [
        ("Memory cgroup out of memory", "its cgroup reached its limit"),
        ("Out of memory", "the node ran out of memory"),
        ("", "which of them is not said"),
    ],
)
def test_kernels_that_say_whose_memory_ran_out_in_a_line_of_its_own_are_understood(
    scope: str, where: str
) -> None:
    # Up to 4.20: `Memory cgroup out of memory: Kill process 8 …`, then `Killed process 9 …`.
    chosen = event(59.5, "kernel-log", "parent", f"{scope}: Kill process 8 (parent)", pid=8,
                   signature="oom.chosen", **{"class": "mem"}, scope=scope)  # fmt: skip
    kill = event(60, "kernel-log", "eater", "Killed process 9 (eater)", pid=9,
                 signature="oom.kill", **{"class": "mem"}, comm="eater",
                 anonymous_bytes=5 << 20)  # fmt: skip
    seen = observation(events=(chosen, kill) if scope else (kill,))
    one = symptom(59, 1, "eater", "out-of-memory", source="kernel log")
    assert where in judged(scene(seen, [one], core=None)).suspects[0].summary


def test_of_a_kill_that_does_not_tell_how_much_was_held_nothing_is_made_up() -> None:
    kill = event(60, "kernel-log", "eater", "Out of Memory: Killed process 9 (eater).", pid=9,
                 signature="oom.kill", **{"class": "mem"}, comm="eater",
                 scope="Out of Memory")  # fmt: skip
    one = symptom(59, 1, "eater", "out-of-memory", source="kernel log")
    case = judged(scene(observation(events=(kill,)), [one], core=None))
    assert case.suspects[0].summary == "eater was killed: the node ran out of memory"
    assert "MiB" not in case.chain[-1].claim


RAN_OUT = [900] * 50 + [20] * 10 + [700] * 20


@pytest.mark.parametrize(
    ("available", "total_gib", "confidence"),
    [
        (RAN_OUT, 8, "high"),
        ([900] * 80, 8, "low"),
        (RAN_OUT, 64, "low"),  # who is killed need not be at fault
    ],
)
def test_that_memory_ran_out_is_told_by_how_little_there_was(
    available: list[int], total_gib: int, confidence: str
) -> None:
    fields = {"signature": "oom.kill", "class": "mem", "comm": "eater", "pid": 9}
    kill = event(60, "kernel-log", "eater", "Out of memory: Killed process 9 (eater)", **fields,
                 anonymous_bytes=5 << 30, scope="Out of memory")  # fmt: skip
    free = series("memory.available_bytes", [mib << 20 for mib in available])
    total = series("memory.total_bytes", [total_gib << 30] * 80)
    seen = observation(events=(kill,), series=[free, total])
    one = symptom(59, 1, "eater", "out-of-memory", source="kernel log")
    told = judged(scene(seen, [one], core=None))
    assert told.verdict.confidence == confidence


@pytest.mark.parametrize(
    ("used_mib", "held_mib", "confidence"),
    [(200, 190, "medium"), (200, 90, "low"), (200, 20, "low"), (100, 90, "low")],
)
def test_a_log_alone_tells_of_a_full_cgroup_by_what_it_used_of_its_limit(
    used_mib: int, held_mib: int, confidence: str
) -> None:
    usage = event(60, "kernel-log", "", "memory: usage", signature="oom.usage",
                  **{"class": "mem"}, usage_bytes=used_mib << 20,
                  limit_bytes=200 << 20)  # fmt: skip
    fields = {"signature": "oom.kill", "class": "mem", "comm": "eater", "pid": 9}
    kill = event(60, "kernel-log", "eater", "Killed process 9 (eater)", **fields,
                 anonymous_bytes=held_mib << 20, scope="Memory cgroup out of memory")  # fmt: skip
    one = symptom(59, 1, "eater", "out-of-memory", source="kernel log")
    told = judged(scene(observation(events=(usage, kill)), [one], core=None))
    assert told.verdict.confidence == confidence


def test_a_count_of_kills_that_is_read_every_ten_seconds_counts_too() -> None:
    fields = {"signature": "oom.kill", "class": "mem", "comm": "eater", "pid": 9}
    kill = event(65, "kernel-log", "eater", "Killed process 9 (eater)", **fields,
                 anonymous_bytes=5 << 20)  # fmt: skip
    counter = series("vmstat.oom_kill", [0] * 7 + [1] * 20, every=10.0)
    seen = observation(events=(kill,), series=[counter])
    one = symptom(64, 1, "eater", "out-of-memory", source="kernel log")
    assert judged(scene(seen, [one], core=None)).verdict.confidence == "high"


def test_a_service_that_dies_again_and_again_is_why_its_clients_fail() -> None:
    rows = [(second * 2.0, "backend", "superv") for second in range(290)]
    seen = observation(
        lives=lives(rows), lifecycles=(lifecycle("process", "backend", 290, "loop", "superv"),)
    )
    like = [replace(one, text="connection to backend refused") for one in stalls()]
    case = judged(scene(seen, like, core=None, place="untested"))
    assert case.suspects[0].kind == "crash-loop"
    assert case.suspects[0].culprit.comm == "backend"


@pytest.mark.parametrize(
    ("name", "text", "is_named"),
    [
        ("ecs.service", "TX q 5 is paused for too long. usecs since napi 6328000", False),
        ("ecs.service", "ecs-agent refused", False),
        ("ecs.service", "no answer of ecs@2.service", False),
        ("ecs.service", "no answer of old.ecs", False),
        ("ecs.service", "no route to ecs.example.com", False),
        ("ecs.service", "ecs.service: refused", True),
        ("ecs.service", "no answer of /usr/bin/ecs.", True),
        ("ecs@2.service", "ecs@2: refused", True),
        ("3f4e5d6c7b8a", "docker://3f4e5d6c7b8a90b1c2d3e4f5 is unhealthy", True),
        ("k8s.io/agent", "k8s.io/agent is unhealthy", True),
    ],
)
def test_a_symptom_names_whom_it_has_as_a_word_of_its_own(
    name: str, text: str, is_named: bool
) -> None:
    starts = tuple(event(second, "unit-start", name) for second in range(0, 600, 10))
    seen = observation(events=starts, lifecycles=(lifecycle("unit", name, 60),))
    like = [replace(one, text=text, is_late=False) for one in stalls()]
    case = judged(scene(seen, like, core=None, place="untested"))
    assert any("the symptom names it" in one.claim for one in case.evidence) == is_named


def test_a_service_that_is_up_and_still_starting_does_not_answer_either() -> None:
    """Its clients fail while it lives, before it listens: but only since it loops."""
    begin, end = 300, 420
    rows = [(second, "backend", "superv") for second in np.arange(begin, end, 2.0).tolist()]
    seen = observation(
        lives=ending(lives(rows), after_seconds=1.0),
        lifecycles=(lifecycle("process", "backend", len(rows), "loop", "superv"),),
    )
    like = [
        replace(symptom(second + 0.1, 0.8, kind="job-failure"), text="refused", is_late=False)
        for second in range(begin, end - 2, 2)
    ]
    case = judged(scene(seen, like, core=None, place="untested"))
    assert (case.suspects[0].kind, case.suspects[0].culprit.comm) == ("crash-loop", "backend")
    assert case.chain[-1].tests.counterfactual == "passed"


def test_hardware_that_the_kernel_complains_about_is_hardware() -> None:
    xids = tuple(
        event(start - 1, "kernel-log", "GPU 3b:00", "NVRM: Xid 79", signature="nvrm_xid",
              **{"class": "gpu"})
        for start, _ in TIMES
    )  # fmt: skip
    kind, _ = cause_of(scene(observation(events=xids), stalls(), core=None, place="untested"))
    assert kind == "hardware"


@pytest.mark.parametrize("core", [None, 1])
def test_with_nothing_to_see_nobody_is_accused(core: int | None) -> None:
    case = judged(scene(observation(), stalls(), core=core, place="untested"))
    assert case.verdict.status == "unknown"
    assert case.suspects == ()


def test_the_victim_is_never_its_own_hog() -> None:
    made = hogged(occupant("victim", 0.95, user_share=1.0))
    assert judged(made).suspects == ()
    assert made.symptom.victim == Party(comm="victim")
