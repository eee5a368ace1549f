"""What harms somebody, and what only looks busy."""

from __future__ import annotations

import numpy as np
import pytest

from exhume.derive.log_events import LogLine, events_of
from exhume.derive.signatures import kernel_log
from exhume.diagnose.symptoms import grouped, symptoms
from exhume.model.answers import EventAnswer
from exhume.model.observation import Observation
from tests.diagnose.made_up import at, event, hold, lives, observation, series, span


def kinds(seen: Observation) -> list[str]:
    return [one.kind for one in symptoms(seen)]


def line(seconds: float, signature: str, cls: str, **fields: object) -> EventAnswer:
    return event(
        seconds, "kernel-log", "eth0", "text", signature=signature, **{"class": cls}, **fields
    )


def test_a_quiet_machine_has_none() -> None:
    assert symptoms(observation()) == ()


@pytest.mark.parametrize(
    ("signature", "cls", "kind"),
    [
        ("ena.tx_paused", "netdev-starve", "network-reset"),
        ("softlockup", "cpu", "lockup"),
        ("oom.kill", "mem", "out-of-memory"),
        ("hung_task", "io-lock", "hung-task"),
        ("nvrm_xid", "gpu", "gpu-error"),
    ],
)
def test_a_line_of_the_kernel_about_harm_is_one(signature: str, cls: str, kind: str) -> None:
    assert kinds(observation(events=(line(10, signature, cls),))) == [kind]


@pytest.mark.parametrize(
    ("name", "victim"), [("<unknown>", "PCI:0000:3b:00"), ("python3", "python3")]
)
def test_a_gpu_whose_user_is_not_known_is_the_victim_itself(name: str, victim: str) -> None:
    text = f"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name={name}, GPU has fallen off."
    (told,) = events_of([LogLine(at(10), text)], kernel_log())
    lost = EventAnswer(
        told.time_ns, told.kind, told.subject, text, None, None, 1, dict(told.fields)
    )
    (one,) = symptoms(observation(events=(lost,)))
    assert (one.kind, one.victim.name) == ("gpu-error", victim)


@pytest.mark.parametrize(
    ("signature", "cls"),
    [("rt_throttle", "cpu"), ("drop_caches", "info"), ("ena.reset_done", "netdev-reset-done")],
)
def test_a_line_about_no_harm_is_none(signature: str, cls: str) -> None:
    assert kinds(observation(events=(line(10, signature, cls),))) == []


def test_a_line_that_says_how_late_it_was_tells_when_it_began() -> None:
    told = event(
        100, "job-log", "health", "timed out after 7.5s", late_seconds=7.5, **{"class": "job"}
    )
    (one,) = symptoms(observation(events=(told,)))
    assert one.window.start_ns == at(92.5)
    assert (one.kind, one.victim.comm) == ("job-failure", "health")


def waiting(
    waits: list[int], slices: list[int], who: str = "process", name: str = "8 web"
) -> Observation:
    return observation(
        series=[
            series(f"{who}.wait_ns", np.cumsum([0, *waits]).tolist(), name),
            series(f"{who}.slices", np.cumsum([0, *slices]).tolist(), name),
            series("process.core", [1] * (len(waits) + 1), name),
        ]
    )


def test_a_thread_that_was_ready_and_not_run_is_one() -> None:
    (one,) = symptoms(waiting([1_000, 3_000_000_000, 1_000], [50, 3, 50]))
    assert (one.kind, one.victim.comm, one.victim.pid, one.victim.core) == (
        "starved-thread",
        "web",
        8,
        1,
    )
    assert one.window == span(-1, 2)


def test_sharing_a_core_fairly_is_none() -> None:
    # Half of each second waiting, in turns of 3 ms.
    assert symptoms(waiting([600_000_000] * 20, [170] * 20)) == ()


def test_a_wait_while_the_core_was_held_is_one() -> None:
    seen = waiting([900_000_000], [40])
    assert symptoms(seen) == ()
    held = observation(
        series=[s for v in seen.series.values() for s in v], holds=(hold(0.05, 0.9, "hog"),)
    )
    assert [one.kind for one in symptoms(held)] == ["starved-thread"]


def test_a_thread_that_serves_the_network_is_told_by_its_core() -> None:
    (one,) = symptoms(waiting([2_000_000_000], [1], "netthread", "ksoftirqd/39"))
    assert one.victim.core == 39


def test_a_daemon_held_inside_one_call_is_one() -> None:
    (one,) = symptoms(observation(holds=(hold(100, 3, "daemon"),)))
    assert (one.kind, one.victim.comm) == ("held-thread", "daemon")


@pytest.mark.parametrize(
    "holds",
    [
        (hold(100, 1.5),),  # too short
        (hold(100, 9, is_one_call=False),),  # many calls: it is at work
        (hold(3, 9),),  # it was not there before
        tuple(hold(40 + 10 * i, 9.9) for i in range(9)),  # it does nothing else, like a copy
    ],
)
def test_work_in_the_kernel_is_none(holds: tuple[object, ...]) -> None:
    seen = observation(holds=holds)
    late = [one for one in symptoms(seen) if one.window.start_ns > at(105)]
    assert late == []


def test_a_job_that_was_started_just_before_is_none() -> None:
    seen = observation(holds=(hold(100, 5, "copy", pid=1000),), lives=lives([(90, "copy", "sh")]))
    assert symptoms(seen) == ()


def test_the_same_harm_to_the_same_victim_is_one_group_the_longest_first() -> None:
    events = tuple(
        event(100 * i, "job-log", "health", "late", late_seconds=float(i), **{"class": "job"})
        for i in range(1, 5)
    )
    (group,) = grouped(symptoms(observation(events=events)))
    assert [round(one.window.seconds) for one in group] == [4, 3, 2, 1]
    assert {one.count for one in group} == {4}


def test_a_reset_of_the_network_is_worse_than_a_held_daemon() -> None:
    seen = observation(
        holds=(hold(100, 30, "daemon"),), events=(line(300, "ena.tx_paused", "netdev-starve"),)
    )
    assert [group[0].kind for group in grouped(symptoms(seen))] == ["network-reset", "held-thread"]


def test_several_lines_of_one_harm_count_once_and_each_time_it_was_done() -> None:
    def reset(second: float) -> list[EventAnswer]:
        return [
            event(second, "kernel-log", signature="netdev.watchdog", interface="ens3", queue=3,
                  **{"class": "netdev-starve"}),
            event(second, "kernel-log", signature="virtio_tx", interface="ens3", queue=3,
                  stalled_seconds=5.8, **{"class": "netdev-starve"}),
        ]  # fmt: skip

    told = (event for second in (100, 220, 221.5, 400) for event in reset(second))
    (group,) = grouped(symptoms(observation(events=tuple(told))))
    assert [one.count for one in group] == [4] * 4
    assert {round(one.window.seconds, 1) for one in group} == {5.8}, "by the line that says most"


def test_a_kill_that_the_kernel_tells_twice_is_one() -> None:
    lines = [
        LogLine(at(50), text)
        for text in (
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
            "global_oom,task_memcg=/system.slice/etl.service,task=etl,pid=5001,uid=110",
            "Out of memory: Killed process 5001 (etl) total-vm:61203456kB, anon-rss:58912340kB, "
            "file-rss:0kB, shmem-rss:0kB, UID:110 pgtables:116000kB oom_score_adj:0",
        )
    ]
    answers = tuple(
        EventAnswer(e.time_ns, e.kind, e.subject, e.text, e.core, e.pid, e.count, dict(e.fields))
        for e in events_of(lines, kernel_log())
    )
    (group,) = grouped(symptoms(observation(events=answers)))
    assert [one.count for one in group] == [1]


def told_by_kernel(*texts: tuple[float, str]) -> tuple[EventAnswer, ...]:
    lines = [LogLine(at(second), text) for second, text in texts]
    return tuple(
        EventAnswer(e.time_ns, e.kind, e.subject, e.text, e.core, e.pid, e.count, dict(e.fields))
        for e in events_of(lines, kernel_log())
    )


INVOKED = "etl invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0"
CHOSEN = "Memory cgroup out of memory: Kill process 51 (etl) score 990 or sacrifice child"
TASK_IN = "Task in /box killed as a result of limit of /box"
KILLED = "Killed process 52 (etl-worker) total-vm:61204kB, anon-rss:58912kB, file-rss:0kB"


@pytest.mark.parametrize(
    ("lines", "victims"),
    [
        ([(50, INVOKED), (51, CHOSEN), (51, KILLED)], ["etl-worker"]),
        ([(50, CHOSEN)], ["etl"]),  # what `grep "ut of memory"` leaves
        ([(50, INVOKED)], ["somebody unknown"]),  # cut off below: who was killed is not said
        ([(50, INVOKED), (50.5, CHOSEN)], ["etl"]),
        ([(50, TASK_IN), (50, CHOSEN), (50, KILLED)], ["etl-worker"]),
        ([(50, TASK_IN)], ["/box"]),
        ([(50, INVOKED), (50, CHOSEN), (50, KILLED), (90, CHOSEN)], ["etl", "etl-worker"]),
    ],
)
def test_a_kill_whose_own_line_is_missing_is_told_by_those_before_it(
    lines: list[tuple[float, str]], victims: list[str]
) -> None:
    found = symptoms(observation(events=told_by_kernel(*lines)))
    assert sorted(one.victim.name for one in found) == victims
    assert {one.kind for one in found} == {"out-of-memory"}


def slurm(seconds: float) -> EventAnswer:
    return event(seconds, "job-log", "slurm", "oom_kill", signature="slurm.oom", **{"class": "mem"})


def unit_killed(seconds: float) -> EventAnswer:
    return event(seconds, "unit-failed", "etl.service", "failed", result="oom-kill")


def test_a_kill_is_harm_where_only_who_looks_after_the_process_tells_of_it() -> None:
    box = event(50, "job-log", "box", "oom", signature="container.oom", **{"class": "mem"})
    each = ((slurm(50), "slurm"), (unit_killed(50), "etl.service"), (box, "box"))
    for told, victim in each:
        (one,) = symptoms(observation(events=(told,)))
        assert (one.kind, one.victim.name) == ("out-of-memory", victim)
    killed = told_by_kernel((50, KILLED))
    (one,) = symptoms(observation(events=(*killed, box, unit_killed(51), slurm(900))))
    assert one.victim.name == "etl-worker"
    failed = event(50, "unit-failed", "etl.service", "failed", result="exit-code")
    assert symptoms(observation(events=(failed,))) == ()


def test_a_kill_by_a_daemon_that_watches_memory_is_harm() -> None:
    told = event(50, "job-log", "python3", "killed", signature="oomd.kill", **{"class": "mem"})
    assert kinds(observation(events=(told,))) == ["out-of-memory"]


def test_a_lockup_is_of_a_held_thread_only_where_its_trace_says_what_it_did() -> None:
    traced = hold(100, 23, "worker", core=6, call="read", deepest="walk", is_told=True)
    told = hold(150, 23, "worker", core=6, call="", deepest="", is_told=True)
    nobody = hold(200, 21, "", core=6, pid=-1, call="", deepest="", is_told=True)
    (one,) = symptoms(observation(holds=(traced, told, nobody)))
    assert one.text == "worker was inside one read for 23.0 s or longer"
    assert one.source == "kernel log", "there are no samples of it"


def test_a_panic_that_names_nobody_is_of_the_kernel() -> None:
    fields = {"class": "kernel", "signature": "panic"}
    (found,) = symptoms(observation(events=(event(60, "kernel-log", "panic", "line", **fields),)))
    assert (found.kind, found.victim.comm) == ("kernel-crash", "kernel")
