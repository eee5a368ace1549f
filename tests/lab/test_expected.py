from __future__ import annotations

from typing import Any

import pytest

from lab.expected import Cause, Expected, Weighed, weigh

HOG = Cause("realtime-hog", ("hogd",), ("hogd",), ("webd",), 1)
OOM = Cause("out-of-memory", ("eater", "small"))
NOBODY = {"comm": None, "unit": None, "container": None, "pod": None, "cgroup": None, "exe": None}


def said(kind: str, comm: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "culprit": {**NOBODY, "comm": comm, **more}, "details": {}}


def case(*suspects: dict[str, Any], status: str = "found") -> dict[str, Any]:
    first = suspects[0] if suspects and status in ("found", "suspected") else None
    verdict = {"status": status, "summary": "so", "confidence": "high", "root_cause": first}
    return {"verdict": verdict, "suspects": list(suspects)}


def mark(told: dict[str, Any], *causes: Cause) -> str:
    return weigh(told, Expected(causes)).mark


def test_kind_and_culprit_must_both_be_right() -> None:
    assert mark(case(said("realtime-hog", "hogd")), HOG) == "first"
    assert mark(case(said("userspace-hog", "hogd")), HOG) == "wrong"
    assert mark(case(said("realtime-hog", "trainer")), HOG) == "wrong"


def test_any_name_of_the_culprit_counts_and_so_does_a_part_of_its_cgroup() -> None:
    assert mark(case(said("out-of-memory", "other", cgroup="/small/pod")), OOM) == "first"
    assert mark(case(said("out-of-memory", "other", cgroup="/smaller")), OOM) == "wrong"


def test_the_right_one_further_down_is_in_the_top_three_and_fourth_is_not() -> None:
    others = [said("userspace-hog", name) for name in ("a", "b", "c")]
    right = said("realtime-hog", "hogd")
    assert mark(case(*others[:2], right), HOG) == "top three"
    assert mark(case(*others, right), HOG) == "wrong"


def test_no_verdict_is_a_miss_even_where_the_suspect_is_listed_below() -> None:
    assert mark(case(status="unknown"), HOG) == "missed"
    assert mark(case(status="healthy"), HOG) == "missed"
    assert mark(case(said("realtime-hog", "hogd"), status="unknown"), HOG) == "top three"


def test_the_right_kind_by_somebody_unknown_is_a_miss_that_accuses_nobody() -> None:
    unknown = {**said("realtime-hog", ""), "culprit": {**NOBODY, "core": 1}}
    assert mark(case(unknown), HOG) == "missed"
    assert mark(case({**unknown, "kind": "userspace-hog"}), HOG) == "wrong"


def test_a_fault_of_which_no_victim_complained_did_no_harm_if_nobody_is_accused_either() -> None:
    expected = Expected((HOG,))
    assert weigh(case(status="healthy"), expected, harmed=False).mark == "harmless"
    assert weigh(case(status="unknown"), expected, harmed=False).mark == "missed"
    assert weigh(case(said("realtime-hog", "x")), expected, harmed=False).mark == "wrong"


def test_of_two_faults_both_must_be_named() -> None:
    hog, oom = said("realtime-hog", "hogd"), said("out-of-memory", "eater")
    assert mark(case(hog, oom), HOG, OOM) == "first"
    assert mark(case(oom, hog), HOG, OOM) == "top three"
    assert mark(case(hog), HOG, OOM) == "first only"
    assert mark(case(oom), HOG, OOM) == "missed"


@pytest.mark.parametrize(
    ("status", "expected"),
    [("healthy", "silent"), ("unknown", "alarm"), ("found", "accused"), ("suspected", "accused")],
)
def test_on_a_healthy_run_whoever_is_blamed_is_blamed_falsely(status: str, expected: str) -> None:
    assert mark(case(said("userspace-hog", "busy"), status=status)) == expected


def test_payer_victim_and_core_are_checked_one_by_one() -> None:
    told = said("realtime-hog", "hogd", core=1)
    told["details"] = {"payer": {"comm": "hogd", "core": 1}, "victim": {"comm": "somebody"}}
    weighed: Weighed = weigh(case(told), Expected((HOG,)))
    assert weighed.details == {"payer": True, "victim": False, "core": True}
