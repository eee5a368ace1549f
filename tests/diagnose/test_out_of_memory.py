"""Who was killed for want of memory, and who had it."""

from __future__ import annotations

from typing import Any

import pytest

from exhume.diagnose.hypotheses import out_of_memory
from exhume.diagnose.judge import case_of
from exhume.model.case import Case
from tests.diagnose.made_up import event, observation, scene, symptom


def case(**listed: Any) -> Case:
    """A cgroup of 200 MiB is full, and `store` with 60 MiB is killed for that."""
    usage = event(60, "kernel-log", "", "memory: usage", signature="oom.usage",
                  **{"class": "mem"}, usage_bytes=200 << 20,
                  limit_bytes=200 << 20)  # fmt: skip
    fields = {"signature": "oom.kill", "class": "mem", "comm": "store", "pid": 9, **listed}
    kill = event(60, "kernel-log", "store", "Killed process 9 (store)", **fields,
                 anonymous_bytes=62 << 20, scope="Memory cgroup out of memory")  # fmt: skip
    one = symptom(59, 1, "store", "out-of-memory", source="kernel log")
    made = scene(observation(events=(usage, kill)), [one], core=None)
    return case_of(made.seen, made, list(out_of_memory.suspects(made)), (), (), ())


def test_who_is_killed_for_what_another_has_is_the_victim_alone() -> None:
    told = case(own_percent=30.0, largest_comm="agent", largest_pid=12, largest_percent=69.0)
    assert told.verdict.root_cause is not None
    culprit = told.verdict.root_cause.culprit
    assert (culprit.comm, culprit.pid, told.verdict.confidence) == ("agent", 12, "medium")
    assert "agent had most of it (69 %" in told.verdict.summary
    assert not any("store" in action for action in told.actions.for_good)
    assert [link.role for link in told.chain] == ["symptom", "mechanism", "root_cause"]


@pytest.mark.parametrize(
    "listed",
    [
        {},
        {"own_percent": 60.0, "largest_comm": "store", "largest_pid": 9, "largest_percent": 60.0},
        {"own_percent": 40.0, "largest_comm": "agent", "largest_pid": 12, "largest_percent": 55.0},
        {"own_percent": 10.0, "largest_comm": "agent", "largest_pid": 12, "largest_percent": 30.0},
    ],
    ids=["no list", "itself", "nearly as much", "one of many"],
)
def test_where_no_other_clearly_has_most_who_was_killed_stays_the_suspect(
    listed: dict[str, Any],
) -> None:
    told = case(**listed)
    assert told.suspects[0].culprit.comm == "store"
