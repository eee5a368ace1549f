"""Patterns that can't take long."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from exhume.derive import signatures
from exhume.derive.safe_patterns import MAX_LINE, problem_of


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a+)+b", "repeats a group"),
        (r"(?:a|aa)*b", "repeats a group"),
        (r"(\w+\s?)*x", "repeats a group"),
        (r"\d+\d+\d+x", "too many ways"),
        (r".*a.*b.*c", "too many ways"),
        (r"\S+\w+\s*.*z", "too many ways"),
        (r"a?" * 30 + "a" * 30, "too many ways"),
        (r"(a)\1", "reference back"),
        (r"(?=a)b", "looking ahead"),
        (r"(?<!a)b", "looking ahead"),
        (r"(", "no regular expression"),
        (r"a{99999999999999999999}", "no regular expression"),
        ("a" * 2000, "characters"),
    ],
)
def test_what_could_run_for_ever_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    assert reason in (problem_of(pattern) or "")


@pytest.mark.parametrize(
    "pattern",
    [
        r"qid (?P<queue>\d+), index (?P<index>\d+)\.",
        r"task (?P<comm>\S+):(?P<pid>\d+) blocked",
        r"a=[^,]*,b=[^,]*,c=[^,]*,d=(?P<d>[^,]*),",
        r"(?:one|two|three) .*",
        r"(?P<unit>\S{1,200}): failed after \d+ tries",
        r"(?:optional (?P<x>\d+))?end",
        r"\w+ \w+ \w+ \w+",
        r"(?i:deadline[ _]?exceeded)",
    ],
)
def test_what_logs_need_is_accepted(pattern: str) -> None:
    assert problem_of(pattern) is None


@pytest.mark.parametrize(
    "signature", [*signatures.kernel_log(), *signatures.job_log()], ids=lambda one: one.id
)
def test_the_built_in_ones_keep_the_rules(signature: signatures.Signature) -> None:
    assert problem_of(signature.pattern.pattern) is None


ATOMS = st.sampled_from([r"\d", r"\w", r"\s", r"\S", ".", "a", " ", "[^,]", "[a-f0-9]", ":", "ab"])
PIECES = st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{0,40}"])).map("".join)
PATTERNS = st.lists(
    st.one_of(PIECES, st.lists(PIECES, max_size=3).map(lambda x: f"({''.join(x)})?")), max_size=8
).map("".join)


MOST_TIMES_A_PLAIN_ONE = 100
"""Every way is counted, but not what each costs: a group costs more than a character. One way too
many to be counted at all is a thousand times as long."""


def seconds_of(pattern: str, line: str) -> float:
    compiled = re.compile(pattern)
    start = time.process_time()
    compiled.search(line)
    return time.process_time() - start


@settings(deadline=None, max_examples=150)
@given(PATTERNS, st.text("a 1:,b", min_size=1, max_size=6))
def test_an_accepted_pattern_is_quick_on_the_worst_lines(pattern: str, unit: str) -> None:
    hopeless = pattern + "~"  # which no line has: every way is tried
    assume(problem_of(hopeless) is None)
    seconds = seconds_of(hopeless, (unit * MAX_LINE)[:MAX_LINE])
    if seconds > 0.5:  # only then is it worth a look at how quick this machine is just now
        plain = seconds_of(r"\w*\w{0,9}~", "a" * MAX_LINE)
        assert seconds < MOST_TIMES_A_PLAIN_ONE * plain, pattern


@given(st.text(max_size=60))
@example("[[")
@example("[[a]")
def test_any_text_is_a_pattern_or_has_a_problem(pattern: str) -> None:
    if problem_of(pattern) is None:
        re.compile(pattern)
