"""What the kernel's own lines tell of who held a core: no more than they say."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from exhume.diagnose.hypotheses import devices, hogs
from exhume.diagnose.judge import case_of
from exhume.diagnose.symptoms import symptoms
from exhume.diagnose.told import told_holds, told_occupant, with_told
from exhume.model.answers import EventAnswer
from exhume.model.case import Case
from exhume.model.observation import CoreLoad
from exhume.model.occupancy import Occupancy, Occupant
from tests.diagnose.made_up import event, load, observation, occupant, scene, span

WALK = "cpumask_next;memcg_numa_stat_show;ksys_read"
TRACE = {"comm": "payer", "pid": 77, "stalled_seconds": 10.0, "frames": WALK}


def stuck(signature: str, subject: str, **fields: Any) -> EventAnswer:
    return event(
        60, "kernel-log", subject, "the line", core=7, signature=signature,
        **{"class": "cpu"}, **fields,
    )  # fmt: skip


def told(one: EventAnswer, cores: CoreLoad | None = None) -> Case:
    seen = observation(events=(one,), holds=told_holds((one,), ()), load=cores)
    like = tuple(one for one in symptoms(seen) if one.kind == "lockup")
    occupant = told_occupant(seen.events, 7, like[0].window)
    assert occupant is not None
    made = scene(seen, like, [occupant], core=7)
    suspicions = [*hogs.suspects(made), *devices.lock_contention(made)]
    return case_of(seen, made, suspicions, (), (), ())


@pytest.mark.parametrize("signature", ["hardlockup", "rcu.self", "rcu.core"])
def test_where_the_line_names_nobody_nobody_is_named(signature: str) -> None:
    case = told(stuck(signature, signature))
    assert case.verdict.root_cause is None
    assert case.verdict.summary == (
        "somebody keeps CPU 7 to itself inside the kernel, and nobody else runs there meanwhile; "
        "who it is is not said"
    )
    assert case.suspects[0].culprit.comm is None
    assert [link.role for link in case.chain] == ["symptom", "mechanism"]
    assert signature not in " ".join(link.claim for link in case.chain)


def test_whom_it_names_is_named() -> None:
    case = told(stuck("hardlockup", "stress", comm="stress", pid=1234))
    assert case.suspects[0].culprit == replace(case.suspects[0].culprit, comm="stress", pid=1234)
    assert case.verdict.summary.startswith("stress keeps CPU 7 to itself")
    step = case.chain[-1]
    assert step.claim.endswith("doing what is not said"), "there is no trace"
    (proof,) = (one for one in case.evidence if one.claim == step.claim)
    assert proof.check.startswith("exhume events "), "there are no samples to look at"


@pytest.mark.parametrize(("seconds", "is_told"), [(1, True), (600, False)])
def test_a_mean_over_minutes_is_no_second_of_a_stall(seconds: int, is_told: bool) -> None:
    one = stuck("softlockup", "stress", comm="stress", pid=1234, stalled_seconds=22.0)
    busy = load({7: [40] * 80})
    ends = busy.start_ns + seconds * 1_000_000_000
    case = told(one, replace(busy, end_ns=ends))
    found = [proof.claim for proof in case.evidence if "worst second" in proof.claim]
    assert bool(found) == is_told


def test_of_a_trace_the_call_is_told_and_not_how_it_was_entered() -> None:
    frames = "shrink_node;vfs_write;__x64_sys_write;do_syscall_64;entry_SYSCALL_64_after_hwframe"
    line = stuck("softlockup", "tar", comm="tar", pid=9, stalled_seconds=22.0, frames=frames)
    (hold,) = told_holds((line,), ())
    assert (hold.call, hold.deepest) == ("__x64_sys_write", "shrink_node")


def test_a_thread_of_the_kernel_is_held_in_no_call() -> None:
    frames = "raid5_get_active_stripe;raid5d;md_thread;kthread;ret_from_fork"
    one = stuck("softlockup", "md0_raid5", comm="md0_raid5", pid=9, stalled_seconds=26.0,
                frames=frames)  # fmt: skip
    (found,) = told_holds((one,), ())
    assert (found.call, found.deepest) == ("", "raid5_get_active_stripe")
    assert {symptom.kind for symptom in symptoms(observation(events=(one,), holds=(found,)))} == {
        "lockup"
    }


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ("smp_call_function_many_cond;flush_tlb_mm_range", "other cores"),
        ("native_queued_spin_lock_slowpath;__wake_up_common_lock", "a lock"),
    ],
)
def test_who_spun_for_others_when_the_kernel_looked_is_not_at_fault(frames: str, said: str) -> None:
    line = stuck("hardlockup", "job", comm="job", pid=9, stalled_seconds=22.0, frames=frames)
    case = told(line)
    assert case.verdict.root_cause is None
    assert case.verdict.status == "unknown"
    assert f"waiting for {said}" in case.verdict.summary
    assert "is open" in case.verdict.summary
    assert case.actions.now == ()
    assert {link.role for link in case.chain} == {"symptom", "mechanism"}


def sampled(*there: Occupant) -> tuple[Occupant, ...]:
    """With what a soft lockup of `payer` tells besides."""
    during = Occupancy(7, span(50, 60), 100, there, 0.0)
    told = told_occupant([stuck("softlockup", "payer", **TRACE)], 7, during.window)
    return with_told(during, told).occupants


def test_a_trace_names_the_functions_of_samples_that_have_no_names() -> None:
    (one,) = sampled(occupant("payer", 0.9, unnamed_share=1.0))
    assert one.frames == dict.fromkeys(WALK.split(";"), 1.0)
    assert (one.share_of_window, one.samples, one.is_told, one.is_unnamed) == (
        0.9,
        100,
        True,
        False,
    )


@pytest.mark.parametrize(
    "there",
    [
        occupant("payer", 0.9, {"do_idle": 1.0}),
        occupant("other", 0.9, pid=5, unnamed_share=1.0),
    ],
    ids=["its samples say it", "somebody else's samples"],
)
def test_a_trace_changes_nobody_elses_samples_and_none_that_have_names(there: Occupant) -> None:
    assert sampled(there) == (there,)
